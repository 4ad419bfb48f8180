// table/memory/pull_rows_simd.h
//
// The most common look-up, in few instructions: f32 rows of the full width that are found at first
// sight (row_finder.h). As with pushes (rowwise_push_simd.h) what counts is how many instructions
// lie between the requests for memory of one key and those of the next (stages.h), so the stages
// are short loops, built for every instruction set.

#pragma once

#include <cstddef>
#include <cstdint>

#include "catamaran/base/cpu.h"
#include "catamaran/table/memory/row_finder.h"

namespace catamaran {

// All that the keys of a look-up have in common.
struct PullContext {
  RowFinder finder;
  uint64_t mixed_seed = 0;  // Mix64 of the table's
  int embedding = 0;        // its first word
  int width = 0;
};

// Writes the embeddings of `keys`, one after another, to `out`, and returns how many were not
// found: `late` gets their places among the keys, and `out` holds anything there. REQUIRES: the
// caller has a guard of the table's Epochs; at most 65,536 keys.
using PullRowsFn = size_t (*)(const PullContext& pull, const uint64_t* keys, size_t num_keys,
                              float* out, uint16_t* late);

// Of the code built for `isa`, or the nearest below it that was built.
PullRowsFn PullRowsFor(Isa isa);

namespace plain {
PullRowsFn GetPullRows();
}
namespace avx2 {
PullRowsFn GetPullRows();
}
namespace avx512 {
PullRowsFn GetPullRows();
}

}  // namespace catamaran
