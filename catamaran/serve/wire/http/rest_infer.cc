#include "catamaran/serve/wire/http/rest_infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/json.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/http/json_view.h"
#include "catamaran/serve/wire/json_text.h"
#include "catamaran/serve/wire/request_inputs.h"
#include "catamaran/serve/wire/request_parameters.h"

namespace catamaran {
namespace {

// Of a request's JSON whose memory is kept for the next; it takes some ten times as much.
constexpr size_t kKeptJsonBytes = 16 << 10;

// The leaves of `data`, in order: a flat array, or arrays within arrays as the shape says.
template <class Visit>
void VisitLeaves(const JsonView& data, const std::string& what, const Shape& shape, int axis,
                 const Visit& visit) {
  data.Elements(what, [&](const JsonView& element) {
    if (element.kind() != JsonKind::kArray) {
      if (axis != 0 && axis + 1 != shape.rank()) Fail("{}: its arrays do not fit the shape", what);
      visit(element);
      return;
    }
    if (axis + 1 >= shape.rank() || data.node().count != shape[axis] ||
        element.node().count != shape[axis + 1]) {
      Fail("{}: its arrays do not fit the shape {}", what, shape.ToString());
    }
    VisitLeaves(element, what, shape, axis + 1, visit);
  });
}

template <class T>
T ReadElement(const JsonView& element, const std::string& what) {
  if constexpr (std::is_same_v<T, bool>) {
    if (element.kind() != JsonKind::kNumber) return element.Bool(what);
    const int value = element.Number<int>(what);
    if (value != 0 && value != 1) Fail("{}: {} is no BOOL", what, value);
    return value == 1;
  } else if constexpr (std::is_integral_v<T>) {
    return element.Number<T>(what);
  } else if (element.kind() == JsonKind::kString) {
    // As numbers that JSON lacks are written here.
    if (element.text() == "NaN") return static_cast<T>(NAN);
    if (element.text() == "Infinity") return static_cast<T>(INFINITY);
    if (element.text() == "-Infinity") return static_cast<T>(-INFINITY);
    Fail("{}: wanted a number, found a text", what);
  } else if constexpr (std::is_same_v<T, double>) {
    return element.Number<double>(what);
  } else {
    return static_cast<T>(element.Number<float>(what));
  }
}

void ReadData(const JsonView& data, const std::string& name, const std::string& datatype,
              const std::vector<int64_t>& dims, RequestInputs& inputs) {
  const std::string what = fmt::format("input '{}'", name);
  const Shape shape = InputShape(name, dims);
  // No shape that the text is too short for takes memory.
  const uint64_t most = data.node().end;
  if (static_cast<uint64_t>(shape.num_elements()) > most) {
    Fail("{}: too few elements for the shape {}", what, shape.ToString());
  }
  uint64_t count = 0;
  const uint64_t wanted = static_cast<uint64_t>(shape.num_elements());
  if (datatype == kBytesDatatype) {
    std::vector<std::string> texts;
    VisitLeaves(data, what, shape, 0,
                [&](const JsonView& leaf) { texts.push_back(leaf.Text(what)); });
    inputs.AddTexts(name, dims, std::move(texts));
    return;
  }
  const DType dtype = ParseDatatype(datatype, name);
  Tensor tensor = Tensor::Allocate(dtype, shape);
  DispatchAll(dtype, [&]<class T>(T) {
    T* const out = tensor.mutable_data<T>().data();
    VisitLeaves(data, what, shape, 0, [&](const JsonView& leaf) {
      const T value = ReadElement<T>(leaf, what);
      if (count < wanted) out[count] = value;
      ++count;
    });
  });
  CheckElementCount(name, shape, count);
  inputs.AddTensor(name, std::move(tensor));
}

// One of "inputs"; takes its bytes off `binary`.
void ReadInput(const JsonView& input, std::string_view& binary, RequestInputs& inputs) {
  std::string name, datatype;
  std::vector<int64_t> dims;
  std::optional<JsonView> data;
  std::optional<uint64_t> size;
  input.Members("inputs", [&](std::string_view key, const JsonView& value) {
    if (key == "name") name = value.Text("inputs: name");
    if (key == "datatype") datatype = value.Text("inputs: datatype");
    if (key == "data") data = value;
    if (key == "shape") {
      value.Elements("inputs: shape", [&](const JsonView& dim) {
        if (dims.size() > static_cast<size_t>(kMaxRank)) Fail("inputs: shape: too long");
        dims.push_back(dim.Number<int64_t>("inputs: shape"));
      });
    }
    if (key == "parameters") {
      value.Members("inputs: parameters", [&](std::string_view parameter, const JsonView& is) {
        if (parameter == "binary_data_size") size = is.Number<uint64_t>("binary_data_size");
        if (parameter == "shared_memory_region") {
          Fail("inputs: shared memory is not supported here");
        }
      });
    }
  });
  if (name.empty()) Fail("inputs: an input has no name");
  if (size && data) Fail("input '{}' has data and binary_data_size", name);
  if (data) {
    ReadData(*data, name, datatype, dims, inputs);
  } else if (size) {
    if (*size > binary.size()) {
      Fail("input '{}': binary_data_size is {}, but only {} bytes are left", name, *size,
           binary.size());
    }
    inputs.AddRaw(name, datatype, dims, binary.substr(0, *size));
    binary.remove_prefix(*size);
  } else {
    Fail("input '{}' has neither data nor binary_data_size", name);
  }
}

// What infer and train have in common; false for other keys.
bool ReadInputsOrRows(std::string_view key, const JsonView& value, std::string_view& binary,
                      RequestInputs& inputs) {
  if (key == "inputs") {
    value.Elements("inputs", [&](const JsonView& input) { ReadInput(input, binary, inputs); });
  } else if (key == "rows") {
    if (value.kind() == JsonKind::kArray) inputs.BeginRows(value.node().count);
    value.Elements("rows", [&](const JsonView& row) {
      if (row.kind() != JsonKind::kObject) {
        Fail("rows: wanted objects, found {}", Describe(row.kind()));
      }
      inputs.AddRow(std::string(row.text()));
    });
  } else {
    return false;
  }
  return true;
}

void CheckAllRead(std::string_view binary) {
  if (!binary.empty()) Fail("{} bytes behind the JSON belong to no input", binary.size());
}

Parameter ReadParameter(const JsonView& value, std::string_view name) {
  switch (value.kind()) {
    case JsonKind::kTrue:
    case JsonKind::kFalse:
      return value.Bool(name);
    case JsonKind::kString:
      return value.Text(name);
    case JsonKind::kNumber:
      if (!value.node().integer) return value.Number<double>(name);
      return value.Number<int64_t>(name);
    default:
      Fail("parameter '{}' must be a text, a number, true or false", name);
  }
}

void ReadOutput(const JsonView& output, InferRequest& request, OutputForms& forms) {
  std::string name;
  std::optional<bool> binary;
  output.Members("outputs", [&](std::string_view key, const JsonView& value) {
    if (key == "name") name = value.Text("outputs: name");
    if (key != "parameters") return;
    value.Members("outputs: parameters", [&](std::string_view parameter, const JsonView& is) {
      if (parameter == "binary_data") binary = is.Bool("binary_data");
      if (parameter == "classification" || parameter == "shared_memory_region") {
        Fail("outputs: '{}' is not supported here", parameter);
      }
    });
  });
  if (name.empty()) Fail("outputs: an output has no name");
  if (binary) forms.by_name[name] = *binary;
  request.outputs.push_back(std::move(name));
}

void AppendInteger(std::string& out, int64_t value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

// Of a body with these outputs as bytes.
size_t ExpectedSize(const InferResponse& response) {
  size_t bytes = 192 + response.model.size() + response.version.size() + response.id.size();
  for (const auto& [name, tensor] : response.outputs) {
    bytes += 128 + name.size() + tensor.num_bytes();
  }
  return bytes;
}

}  // namespace

bool OutputForms::IsBinary(std::string_view output) const {
  const auto form = by_name.find(output);
  return form == by_name.end() ? binary : form->second;
}

SplitBody Split(std::string_view body, std::string_view header_length, size_t max_json_bytes) {
  uint64_t length = body.size();
  if (!header_length.empty()) {
    const char* const end = header_length.data() + header_length.size();
    const auto [last, error] = std::from_chars(header_length.data(), end, length);
    if (error != std::errc() || last != end || length > body.size()) {
      Fail("Inference-Header-Content-Length is '{}', the body has {} bytes",
           header_length.substr(0, 40), body.size());
    }
  }
  if (length > max_json_bytes) {
    Fail("{} bytes of JSON; {} at most are taken: send large tensors as bytes behind it", length,
         max_json_bytes);
  }
  return {body.substr(0, length), body.substr(length)};
}

InferRequest ReadInferBody(const SplitBody& body, OutputForms& forms, int64_t max_rows) {
  // Mostly small, and one after another on the same thread: memory for it stays.
  thread_local JsonDocument kept;
  JsonDocument large;
  JsonDocument& document = body.json.size() <= kKeptJsonBytes ? kept : large;
  ParseJson(document, body.json);
  InferRequest request;
  RequestInputs inputs(max_rows);
  std::string_view binary = body.binary;
  JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
    if (ReadInputsOrRows(key, value, binary, inputs)) return;
    if (key == "id") request.id = value.Text("id");
    if (key == "outputs") {
      value.Elements("outputs",
                     [&](const JsonView& output) { ReadOutput(output, request, forms); });
    }
    if (key == "parameters") {
      value.Members("parameters", [&](std::string_view name, const JsonView& is) {
        if (name == "binary_data_output") {
          forms.binary = is.Bool(name);
        } else {
          ApplyParameter(request, name, ReadParameter(is, name));
        }
      });
    }
  });
  CheckAllRead(binary);
  inputs.MoveTo(request.inputs, request.rows);
  return request;
}

HttpResponse WriteInferBody(const InferResponse& response, const OutputForms& forms) {
  HttpResponse http;
  std::string& json = http.body;
  json.reserve(ExpectedSize(response));
  json = "{\"model_name\":";
  AppendJsonMessage(json, response.model);
  json += ",\"model_version\":";
  AppendJsonMessage(json, response.version);
  json += ",\"id\":";
  AppendJsonMessage(json, response.id);
  json += ",\"parameters\":{\"step\":";
  AppendInteger(json, response.step);
  json += "},\"outputs\":[";
  bool first = true, any_binary = false;
  for (const auto& [name, tensor] : response.outputs) {
    if (!first) json += ',';
    first = false;
    json += "{\"name\":";
    AppendJsonMessage(json, name);
    json += ",\"datatype\":\"";
    json += DatatypeName(tensor.dtype());
    json += "\",\"shape\":[";
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      if (axis > 0) json += ',';
      AppendInteger(json, tensor.dim(axis));
    }
    if (forms.IsBinary(name)) {
      any_binary = true;
      json += "],\"parameters\":{\"binary_data_size\":";
      AppendInteger(json, static_cast<int64_t>(tensor.num_bytes()));
      json += "}}";
    } else {
      json += "],\"data\":[";
      AppendJsonElements(json, tensor);
      json += "]}";
    }
  }
  json += "]}";
  if (!any_binary) return http;
  http.content_type = "application/octet-stream";
  http.headers.emplace_back("Inference-Header-Content-Length", std::to_string(json.size()));
  for (const auto& [name, tensor] : response.outputs) {
    if (!forms.IsBinary(name) || tensor.num_bytes() == 0) continue;
    json.append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  }
  return http;
}

TrainRequest ReadTrainBody(const SplitBody& body, int64_t max_rows) {
  JsonDocument document;
  ParseJson(document, body.json);
  TrainRequest request;
  RequestInputs inputs(max_rows);
  std::string_view binary = body.binary;
  JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
    if (ReadInputsOrRows(key, value, binary, inputs)) return;
    if (key == "event_time_ns") request.event_time_ns = value.Number<int64_t>(key);
    if (key == "idempotency_key") request.idempotency_key = value.Text(key);
  });
  CheckAllRead(binary);
  inputs.CheckTensorRows();
  inputs.MoveTo(request.inputs, request.rows);
  return request;
}

}  // namespace catamaran
