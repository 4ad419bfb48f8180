// serve/model/signature.cc

#include "catamaran/serve/model/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catamaran/base/suggest.h"

namespace catamaran {
namespace {

Status Invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

std::string Found(const Tensor& tensor) {
  return fmt::format("{}{}", Name(tensor.dtype()), tensor.shape().ToString());
}

Status Wrong(const Signature::Input& input, const std::string& problem) {
  return Invalid(fmt::format("input {} : {}: {}", input.name, input.type.ToString(), problem));
}

std::string Unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string close = Suggest(name, candidates);
  return fmt::format("there is no {} {}{}", what, name,
                     close.empty() ? fmt::format("; there are: {}", fmt::join(known, ", "))
                                   : fmt::format("; did you mean {}?", close));
}

TensorInfo InfoOf(const std::string& name, const Type& type) {
  TensorInfo info{name, type.dtype(), {}, type.is_ragged()};
  for (const Dim& dim : type.StorageDims()) {
    info.shape.push_back(dim.is_constant() ? dim.constant() : -1);
  }
  return info;
}

void AppendInfo(const std::string& name, const Type& type, std::vector<TensorInfo>& all) {
  all.push_back(InfoOf(name, type));
  if (type.is_ragged()) {
    all.push_back({name + std::string(kOffsetsSuffix), DType::kI64, {-1}, false});
  }
}

}  // namespace

Signature::Signature(const Executable& function)
    : independence_(FindRowIndependence(*function.plan().function)) {
  std::map<std::string, int> by_ragged_name;
  for (size_t i = 0; i < function.num_inputs(); ++i) {
    const Type& type = function.input_type(i);
    Input input{function.input_name(i), type, type.StorageDims()};
    if (type.is_ragged()) {
      const auto [same, first] = by_ragged_name.emplace(type.ragged_name(), static_cast<int>(i));
      if (!first) input.same_offsets = same->second;
    }
    for (size_t axis = 1; axis < input.dims.size(); ++axis) {
      const Dim& dim = input.dims[axis];
      fixed_ = fixed_ && dim.is_constant();
    }
    if (!batches()) fixed_ = false;
    inputs_.push_back(std::move(input));
  }
  for (size_t i = 0; i < function.num_outputs(); ++i) {
    const std::string& name = function.output_name(i);
    output_names_.push_back(name.empty() ? "out" + std::to_string(i) : name);
    output_types_.push_back(function.output_type(i));
  }
}

std::vector<TensorInfo> Signature::InputInfo() const {
  std::vector<TensorInfo> all;
  for (const Input& input : inputs_) AppendInfo(input.name, input.type, all);
  return all;
}

std::vector<TensorInfo> Signature::OutputInfo() const {
  std::vector<TensorInfo> all;
  for (size_t i = 0; i < output_names_.size(); ++i) {
    AppendInfo(output_names_[i], output_types_[i], all);
  }
  return all;
}

Status Signature::Bind(const InferRequest& request, BoundInputs& bound) const {
  if (Status status = FindInputs(request, bound); !status.ok()) return status;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (Status status = CheckShape(inputs_[i], bound.arguments[i]); !status.ok()) return status;
    if (!inputs_[i].type.is_ragged()) continue;
    BoundInput& argument = bound.arguments[i];
    if (argument.offsets.num_elements() == 0 && inputs_[i].same_offsets >= 0) {
      argument.offsets = bound.arguments[static_cast<size_t>(inputs_[i].same_offsets)].offsets;
    }
    if (Status status = CheckOffsets(inputs_[i], argument); !status.ok()) return status;
  }
  if (Status status = AgreeOnRows(bound); !status.ok()) return status;
  return AgreeOnSizes(bound);
}

Status Signature::FindInputs(const InferRequest& request, BoundInputs& bound) const {
  bound.arguments.assign(inputs_.size(), {});
  std::vector<bool> values(inputs_.size()), offsets(inputs_.size());
  for (const NamedTensor& given : request.inputs) {
    size_t i = 0;
    bool is_offsets = false;
    for (; i < inputs_.size(); ++i) {
      if (given.name == inputs_[i].name) break;
      is_offsets = inputs_[i].type.is_ragged() && given.name.ends_with(kOffsetsSuffix) &&
                   given.name.size() == inputs_[i].name.size() + kOffsetsSuffix.size() &&
                   given.name.starts_with(inputs_[i].name);
      if (is_offsets) break;
    }
    if (i == inputs_.size()) {
      std::vector<std::string> names;
      for (const Input& input : inputs_) names.push_back(input.name);
      return Invalid(Unknown("input", given.name, names));
    }
    std::vector<bool>& seen = is_offsets ? offsets : values;
    if (seen[i]) return Invalid(fmt::format("input {} is there twice", given.name));
    seen[i] = true;
    (is_offsets ? bound.arguments[i].offsets : bound.arguments[i].values) = given.tensor;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!values[i]) return Wrong(inputs_[i], "it is missing");
  }
  return {};
}

Status Signature::CheckShape(const Input& input, BoundInput& found) const {
  const Tensor& tensor = found.values;
  const bool ragged = input.type.is_ragged();
  bool fits =
      tensor.dtype() == input.type.dtype() && tensor.rank() == static_cast<int>(input.dims.size());
  for (size_t axis = 0; fits && axis < input.dims.size(); ++axis) {
    const Dim& dim = input.dims[axis];
    fits = !dim.is_constant() || dim.constant() == tensor.shape()[static_cast<int>(axis)];
  }
  if (!fits) {
    return Wrong(input, fmt::format("found {}{}", Found(tensor),
                                    ragged ? ", wanted the values of all sequences, one after "
                                             "another"
                                           : ""));
  }
  if (tensor.dtype() == DType::kBool) {
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      if (bytes[i] > 1) return Wrong(input, fmt::format("element {} is neither 0 nor 1", i));
    }
  }
  return {};
}

Status Signature::CheckOffsets(const Input& input, BoundInput& found) const {
  const Tensor& offsets = found.offsets;
  const std::string name = input.name + std::string(kOffsetsSuffix);
  if (offsets.dtype() != DType::kI64 || offsets.rank() != 1 || offsets.num_elements() == 0) {
    return Wrong(input,
                 offsets.num_elements() == 0
                     ? fmt::format("it is ragged and needs an input {}", name)
                     : fmt::format("found {} as {}, wanted i64[rows + 1]", Found(offsets), name));
  }
  const auto ends = offsets.data<int64_t>();
  const int64_t total = found.values.shape()[0];
  if (ends.front() != 0 || ends.back() != total || !std::is_sorted(ends.begin(), ends.end())) {
    return Wrong(input,
                 fmt::format("{} must rise from 0 to {}, the number of values", name, total));
  }
  return {};
}

Status Signature::AgreeOnRows(BoundInputs& bound) const {
  if (!batches()) return {};
  const auto rows_of = [&](size_t i) {
    const BoundInput& argument = bound.arguments[i];
    return inputs_[i].type.is_ragged() ? argument.offsets.num_elements() - 1
                                       : argument.values.shape()[0];
  };
  // One row belongs to all, unless there is only one.
  size_t decides = 0;
  for (size_t i = 1; i < inputs_.size(); ++i) {
    if (rows_of(decides) == 1 && rows_of(i) != 1) decides = i;
  }
  bound.rows = rows_of(decides);
  if (bound.rows == 0) return Wrong(inputs_[decides], "it has no rows");
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const int64_t rows = rows_of(i);
    bound.arguments[i].repeat = rows == 1 && bound.rows != 1;
    if (bound.arguments[i].repeat && i < 64) bound.repeated |= uint64_t{1} << i;
    if (rows != bound.rows && rows != 1) {
      return Wrong(inputs_[i], fmt::format("it has {} rows, and {} has {}", rows,
                                           inputs_[decides].name, bound.rows));
    }
  }
  return {};
}

Status Signature::AgreeOnSizes(BoundInputs& bound) const {
  bound.sizes.clear();
  if (fixed_ || !batches()) return {};  // nothing is open, or the run itself looks
  std::map<std::string, std::pair<int64_t, size_t>> known;  // a size, and who said it first
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    for (size_t axis = 1; axis < input.dims.size(); ++axis) {
      const int64_t size = bound.arguments[i].values.shape()[static_cast<int>(axis)];
      bound.sizes.push_back(size);
      const std::string* name = input.dims[axis].name();
      if (name == nullptr) continue;
      const auto [at, first] = known.emplace(*name, std::pair(size, i));
      if (!first && at->second.first != size) {
        return Wrong(input, fmt::format("{} is {} here and {} in {}", *name, size, at->second.first,
                                        inputs_[at->second.second].name));
      }
    }
  }
  return {};
}

Status Signature::BindOutputs(const std::vector<std::string>& names,
                              std::vector<size_t>& outputs) const {
  outputs.clear();
  for (const std::string& name : names) {
    std::string_view value = name;
    if (value.ends_with(kOffsetsSuffix)) value.remove_suffix(kOffsetsSuffix.size());
    size_t i = 0;
    while (i < output_names_.size() && output_names_[i] != name &&
           !(output_types_[i].is_ragged() && output_names_[i] == value)) {
      ++i;
    }
    if (i == output_names_.size()) return Invalid(Unknown("output", name, output_names_));
    if (std::find(outputs.begin(), outputs.end(), i) == outputs.end()) outputs.push_back(i);
  }
  if (names.empty()) {
    for (size_t i = 0; i < output_names_.size(); ++i) outputs.push_back(i);
  }
  return {};
}

BoundInputs Signature::MakeUp(int64_t rows) const {
  BoundInputs bound;
  bound.rows = rows;
  for (const Input& input : inputs_) {
    Shape shape;
    shape.Append(rows);
    for (size_t axis = 1; axis < input.dims.size(); ++axis) {
      shape.Append(input.dims[axis].constant());
    }
    BoundInput argument{Tensor::Zeros(input.type.dtype(), shape), {}, false};
    if (input.type.is_ragged()) {
      argument.offsets = Tensor::Allocate(DType::kI64, {rows + 1});
      for (int64_t r = 0; r <= rows; ++r) {
        argument.offsets.mutable_data<int64_t>()[static_cast<size_t>(r)] = r;
      }
    }
    bound.arguments.push_back(std::move(argument));
  }
  return bound;
}

}  // namespace catamaran
