// train/scalar_results.cc

#include "catamaran/train/scalar_results.h"

#include <fmt/format.h>

#include <cstring>

#include "catamaran/tensor/cast.h"

namespace catamaran {

ScalarResults::ScalarResults(const Executable& executable) : buffers_(executable.num_outputs()) {
  for (size_t i = 0; i < executable.num_outputs(); ++i) {
    if (!executable.output_type(i).is_scalar()) continue;
    scalars_.push_back({i, executable.output_type(i).dtype()});
    const std::string& name = executable.output_name(i);
    names_.push_back(!name.empty() ? name : i == 0 ? "loss" : fmt::format("out{}", i));
  }
  memory_.resize(scalars_.size());
}

std::span<FetchBuffer> ScalarResults::buffers() {
  for (size_t k = 0; k < scalars_.size(); ++k) {
    buffers_[scalars_[k].result] = {&memory_[k], sizeof(uint64_t), {}, nullptr, nullptr};
  }
  return buffers_;
}

void ScalarResults::Take(const std::vector<Tensor>& outputs) {
  for (size_t k = 0; k < scalars_.size(); ++k) {
    const Tensor& output = outputs[scalars_[k].result];
    std::memcpy(&memory_[k], output.raw_data(), output.num_bytes());
  }
}

double ScalarResults::value(size_t k) const {
  double value = 0;
  const TensorView from{const_cast<uint64_t*>(&memory_[k]), scalars_[k].dtype, {}};
  CastInto(from, {&value, DType::kF64, {}});
  return value;
}

}  // namespace catamaran
