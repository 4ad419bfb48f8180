// serve/batch/assemble.h
//
// Requests of some rows each as the arguments of one run, and its results as the requests' own.
// Padding repeats the last row: it is valid where that row is, and its results are left out.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catamaran/exec/executable.h"
#include "catamaran/serve/infer.h"
#include "catamaran/serve/model/signature.h"

namespace catamaran {

// Arguments of one run, and the memory that they are in.
struct AssembledBatch {
  std::vector<FeedValue> feeds;
  std::vector<Tensor> memory;
};

// `rows` >= the rows of all `inputs` together: the rest is padding. One request that needs no
// padding and repeats nothing is fed from its own memory: `inputs` outlive the run.
// REQUIRES: the inputs were bound by `signature`, with equal sizes.
void Assemble(const Signature& signature, std::span<const BoundInputs* const> inputs, int64_t rows,
              AssembledBatch& batch);

// The results of rows [begin, end) of a run, in memory that is shared with it: one output, or two
// where it is ragged.
void AppendOutput(const std::string& name, const RunResult& result, size_t output, int64_t begin,
                  int64_t end, std::vector<NamedTensor>& outputs);
// The results as they are.
void AppendWholeOutput(const std::string& name, const RunResult& result, size_t output,
                       std::vector<NamedTensor>& outputs);

}  // namespace catamaran
