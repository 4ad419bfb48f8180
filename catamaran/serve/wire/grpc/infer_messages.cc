#include "catamaran/serve/wire/grpc/infer_messages.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/large_requests.h"
#include "catamaran/serve/wire/request_parameters.h"

namespace catamaran {
namespace {

using google::protobuf::RepeatedField;
using inference::InferTensorContents;
using InputMessage = inference::ModelInferRequest::InferInputTensor;

// Elements of a field that may be wider than the dtype.
template <class T, class Field>
Tensor FromField(const std::string& name, const Shape& shape, const RepeatedField<Field>& field) {
  CheckElementCount(name, shape, static_cast<uint64_t>(field.size()));
  Tensor tensor = Tensor::Allocate(DTypeOf<T>, shape);
  T* out = tensor.mutable_data<T>().data();
  for (const Field value : field) {
    if constexpr (sizeof(T) < sizeof(Field)) {
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
        Fail("input '{}': {} does not fit in {}", name, value, DatatypeName(DTypeOf<T>));
      }
    }
    *out++ = static_cast<T>(value);
  }
  return tensor;
}

Tensor FromContents(const InputMessage& input, const Shape& shape) {
  const InferTensorContents& contents = input.contents();
  switch (const DType dtype = ParseDatatype(input.datatype(), input.name())) {
    case DType::kBool:
      return FromField<bool>(input.name(), shape, contents.bool_contents());
    case DType::kI8:
      return FromField<int8_t>(input.name(), shape, contents.int_contents());
    case DType::kI32:
      return FromField<int32_t>(input.name(), shape, contents.int_contents());
    case DType::kI64:
      return FromField<int64_t>(input.name(), shape, contents.int64_contents());
    case DType::kU8:
      return FromField<uint8_t>(input.name(), shape, contents.uint_contents());
    case DType::kU64:
      return FromField<uint64_t>(input.name(), shape, contents.uint64_contents());
    case DType::kF32:
      return FromField<float>(input.name(), shape, contents.fp32_contents());
    case DType::kF64:
      return FromField<double>(input.name(), shape, contents.fp64_contents());
    case DType::kF16:
    case DType::kBF16:
      Fail("input '{}': elements of {} come as raw_input_contents only", input.name(),
           DatatypeName(dtype));
  }
  Fail("input '{}': datatype {} is not known", input.name(), input.datatype());
}

void ReadInput(const InputMessage& input, RequestInputs& into) {
  const std::span dims(input.shape().data(), static_cast<size_t>(input.shape_size()));
  if (input.datatype() == kBytesDatatype) {
    const auto& texts = input.contents().bytes_contents();
    into.AddTexts(input.name(), dims, {texts.begin(), texts.end()});
  } else {
    into.AddTensor(input.name(), FromContents(input, InputShape(input.name(), dims)));
  }
}

Parameter ReadParameter(const inference::InferParameter& message, const std::string& name) {
  using Choice = inference::InferParameter::ParameterChoiceCase;
  switch (message.parameter_choice_case()) {
    case Choice::kBoolParam:
      return message.bool_param();
    case Choice::kInt64Param:
      return message.int64_param();
    case Choice::kStringParam:
      return message.string_param();
    case Choice::kDoubleParam:
      return message.double_param();
    case Choice::kUint64Param:
      if (message.uint64_param() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<int64_t>(message.uint64_param());
      }
      return std::to_string(message.uint64_param());
    case Choice::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  Fail("parameter '{}' has no value", name);
}

bool HasField(DType dtype) { return !IsHalf(dtype); }

template <class T, class Field>
void ToField(const Tensor& tensor, RepeatedField<Field>& field) {
  const std::span<const T> elements = tensor.data<T>();
  field.Reserve(static_cast<int>(elements.size()));
  for (const T element : elements) field.AddAlreadyReserved(element);
}

void ToContents(const Tensor& tensor, InferTensorContents& contents) {
  switch (tensor.dtype()) {
    case DType::kBool:
      return ToField<bool>(tensor, *contents.mutable_bool_contents());
    case DType::kI8:
      return ToField<int8_t>(tensor, *contents.mutable_int_contents());
    case DType::kI32:
      return ToField<int32_t>(tensor, *contents.mutable_int_contents());
    case DType::kI64:
      return ToField<int64_t>(tensor, *contents.mutable_int64_contents());
    case DType::kU8:
      return ToField<uint8_t>(tensor, *contents.mutable_uint_contents());
    case DType::kU64:
      return ToField<uint64_t>(tensor, *contents.mutable_uint64_contents());
    case DType::kF32:
      return ToField<float>(tensor, *contents.mutable_fp32_contents());
    case DType::kF64:
      return ToField<double>(tensor, *contents.mutable_fp64_contents());
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  CATAMARAN_CHECK(false, "{} has no field", Name(tensor.dtype()));
}

void WriteTensorInfo(const TensorInfo& info,
                     inference::ModelMetadataResponse::TensorMetadata& message) {
  message.set_name(info.name);
  message.set_datatype(std::string(DatatypeName(info.dtype)));
  for (const int64_t dim : info.shape) message.add_shape(dim);
}

}  // namespace

void ReadInputs(const InputMessages& inputs, const RawContents& raw, RequestInputs& into) {
  if (raw.empty()) {
    for (const InputMessage& input : inputs) ReadInput(input, into);
    return;
  }
  if (raw.size() != inputs.size()) {
    Fail("raw_input_contents has {} entries for {} inputs: all inputs come raw or none", raw.size(),
         inputs.size());
  }
  for (int i = 0; i < inputs.size(); ++i) {
    const InputMessage& input = inputs[i];
    if (input.has_contents()) {
      Fail("input '{}' has contents and raw contents: all inputs come raw or none", input.name());
    }
    into.AddRaw(input.name(), input.datatype(),
                std::span(input.shape().data(), static_cast<size_t>(input.shape_size())), raw[i]);
  }
}

bool IsLarge(const inference::ModelInferRequest& message) {
  size_t bytes = 0, raw_bytes = 0;
  for (const std::string& raw : message.raw_input_contents()) raw_bytes += raw.size();
  for (const InputMessage& input : message.inputs()) {
    // As texts they are large, whichever way they come.
    if (input.datatype() == kBytesDatatype) {
      bytes += raw_bytes;
      for (const std::string& text : input.contents().bytes_contents()) bytes += text.size() + 16;
    } else if (input.has_contents()) {
      raw_bytes += input.contents().ByteSizeLong();
    }
  }
  return LargeRequests::IsLarge(bytes, raw_bytes);
}

InferRequest ReadInferRequest(const inference::ModelInferRequest& message, int64_t max_rows) {
  InferRequest request;
  request.model = message.model_name();
  request.version = message.model_version();
  request.id = message.id();
  RequestInputs inputs(max_rows);
  ReadInputs(message.inputs(), message.raw_input_contents(), inputs);
  inputs.MoveTo(request.inputs, request.rows);
  for (const auto& output : message.outputs()) request.outputs.push_back(output.name());
  for (const auto& [name, value] : message.parameters()) {
    ApplyParameter(request, name, ReadParameter(value, name));
  }
  return request;
}

void WriteInferResponse(const InferResponse& response, bool raw,
                        inference::ModelInferResponse& message) {
  message.set_model_name(response.model);
  message.set_model_version(response.version);
  message.set_id(response.id);
  (*message.mutable_parameters())["step"].set_int64_param(response.step);
  raw = raw || std::any_of(response.outputs.begin(), response.outputs.end(),
                           [](const NamedTensor& out) { return !HasField(out.tensor.dtype()); });
  for (const auto& [name, tensor] : response.outputs) {
    auto& output = *message.add_outputs();
    output.set_name(name);
    output.set_datatype(std::string(DatatypeName(tensor.dtype())));
    for (const int64_t dim : tensor.shape()) output.add_shape(dim);
    if (raw) {
      message.add_raw_output_contents(static_cast<const char*>(tensor.raw_data()),
                                      tensor.num_bytes());
    } else {
      ToContents(tensor, *output.mutable_contents());
    }
  }
}

void WriteModelMetadata(const ModelMetadata& metadata, inference::ModelMetadataResponse& message) {
  message.set_name(metadata.name);
  message.set_platform(metadata.platform);
  for (const std::string& version : metadata.versions) message.add_versions(version);
  for (const TensorInfo& input : metadata.inputs) WriteTensorInfo(input, *message.add_inputs());
  for (const TensorInfo& output : metadata.outputs) WriteTensorInfo(output, *message.add_outputs());
}

}  // namespace catamaran
