// commit/foreign_weights.h
//
// Weights that another system saved, as a safetensors file, become values of a State. What its
// tensors are called here is said by NameRules; without rules they must be called by our paths.
//
// Nothing is set unless everything fits.

#pragma once

#include <string>
#include <vector>

#include "catamaran/commit/name_rules.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/exec/state.h"

namespace catamaran {

struct ImportOptions {
  bool allow_new = false;  // params that the file lacks keep their initial value
  bool allow_missing =
      false;  // tensors that no rule fits, or that have no state here, are left out
};

struct ImportSummary {
  size_t loaded = 0;
  std::vector<std::string> initialised;  // params that the file lacks
  std::vector<std::string> left_out;     // tensors: by `none`, or because that is allowed
  std::vector<size_t> unused;            // rules that fit nothing
};

// Floats of another width are converted. Vars that the file lacks keep their value: optimizers'
// slots and counters are not in such files. Throws an Error that begins with `source` and lists all
// that does not fit. `rules` may be null.
ImportSummary ImportWeights(State& state, const SafetensorsFile& file, const std::string& source,
                            const NameRules* rules, const ImportOptions& options = {});

}  // namespace catamaran
