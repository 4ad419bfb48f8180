// cli/cost.h
//
// What the ops of a typed function cost: operations and bytes, by each op's own estimate, with
// its dimensions bound to numbers.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran::cli {

using DimBinding = std::map<std::string, int64_t>;

// NAME=SIZE of `--dim`, each; throws a usage error.
DimBinding ParseDims(const std::vector<std::string>& texts);

struct CostTable {
  std::unordered_map<const Op*, OpCost> ops;  // of one run of the op
  // How often an op runs; in loops whose bounds are not known, once an iteration.
  std::unordered_map<const Op*, double> runs;
  OpCost total;
  bool unknown_loops = false;
};

// Throws a usage error that lists the dimensions without a size.
CostTable CostOf(const Function& function, const DimBinding& dims);

// "1.31 M": three digits and a power of a thousand.
std::string Amount(double value);

}  // namespace catamaran::cli
