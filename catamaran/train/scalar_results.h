// train/scalar_results.h
//
// The results of a function that are single numbers, fetched without allocating; others are not
// fetched. They are called as the program calls them; those without a name `loss` (the first) and
// `out1`, `out2`, ….
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catamaran/exec/executable.h"

namespace catamaran {

class ScalarResults {
 public:
  explicit ScalarResults(const Executable& executable);

  const std::vector<std::string>& names() const { return names_; }
  // For Run; after it value(k) is what names()[k] was.
  std::span<FetchBuffer> buffers();
  double value(size_t k) const;
  // In place of a Run with buffers(): all results of one.
  void Take(const std::vector<Tensor>& outputs);

 private:
  struct Scalar {
    size_t result = 0;
    DType dtype = DType::kF32;
  };
  std::vector<std::string> names_;
  std::vector<Scalar> scalars_;
  std::vector<uint64_t> memory_;
  std::vector<FetchBuffer> buffers_;
};

}  // namespace catamaran
