#include "catamaran/ops/samples.h"

#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/random.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {

Tensor Uniform(const Shape& shape, double low, double high, uint64_t seed) {
  Tensor tensor = Tensor::Allocate(DType::kF32, shape);
  uint64_t i = 0;
  for (float& value : tensor.mutable_data<float>()) {
    const PhiloxBlock block = Philox(seed, i++);
    value = static_cast<float>(low + (high - low) * UniformDouble(block.words[0], block.words[1]));
  }
  return tensor;
}

Tensor RandomInts(const Shape& shape, int64_t low, int64_t high, DType dtype, uint64_t seed) {
  CATAMARAN_CHECK(low < high, "RandomInts from {} to {}", low, high);
  Tensor tensor = Tensor::Allocate(DType::kI64, shape);
  uint64_t i = 0;
  for (int64_t& value : tensor.mutable_data<int64_t>()) {
    const PhiloxBlock block = Philox(seed, i++);
    const uint64_t word = uint64_t{block.words[0]} << 32 | block.words[1];
    value = low + static_cast<int64_t>(word % static_cast<uint64_t>(high - low));
  }
  return Cast(tensor, dtype);
}

Tensor Empty(const Shape& shape, DType dtype) {
  CATAMARAN_CHECK(shape.num_elements() == 0, "Empty of the shape {}", shape.ToString());
  return Tensor::Allocate(dtype, shape);
}

Tensor Floats(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  return Cast(Tensor::From<double>(shape, values), dtype);
}

Tensor Ints(const Shape& shape, std::initializer_list<int64_t> values, DType dtype) {
  return Cast(Tensor::From<int64_t>(shape, values), dtype);
}

Tensor Bools(const Shape& shape, std::initializer_list<bool> values) {
  return Tensor::From<bool>(shape, values);
}

}  // namespace catamaran
