// cli/made_up_values.h
//
// Arguments of a function, made up from their types: for whoever wants to see it run without having
// data. Floats lie in [0, 1), so that they do as features and as labels; integers that choose a
// class or a row stay below how many there are, others are 0 or 1; ids are drawn from many with few
// of them frequent.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/exec/executable.h"
#include "cli/cost.h"
#include "cli/npy_values.h"

namespace catamaran::cli {

struct MadeUpOptions {
  DimBinding dims;             // sizes by name; of a ragged dimension the mean length
  int64_t default_size = 32;   // of a dimension that nobody named
  int64_t default_length = 8;  // of a ragged one
  int64_t ids = 100'000;       // how many different ids there are
  uint64_t seed = 1;
};

// Fills those of `values` (by argument) that are not `given`. Dimensions take the sizes that given
// arguments have; `options.dims` gets those that were chosen here.
void MakeUpValues(const Executable& executable, MadeUpOptions& options,
                  const std::vector<bool>& given, std::vector<FedValue>& values);

}  // namespace catamaran::cli
