// tensor/named_tensor.h: a tensor and what it is called, in a file or a request.

#pragma once

#include <string>

#include "catamaran/tensor/tensor.h"

namespace catamaran {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace catamaran
