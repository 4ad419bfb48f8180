// table/memory/pull_rows_simd.h
//
// Look-ups of rows of the full width, in few instructions. As with pushes (rowwise_push_simd.h)
// what counts is how many instructions lie between the requests for memory of one key and those of
// the next (stages.h), so the stages are short loops, built for every instruction set.

#pragma once

#include <cstddef>
#include <cstdint>

#include "catamaran/base/cpu.h"
#include "catamaran/table/memory/row_finder.h"
#include "catamaran/table/row_kernels_simd.h"

namespace catamaran {

// All that the keys of a look-up have in common.
struct PullContext {
  RowFinder finder;
  uint64_t mixed_seed = 0;  // Mix64 of the table's
  int embedding = 0;        // its first word
  int embedding_words = 0;
  int width = 0;
  DecodeRowFn decode = nullptr;  // null: the words are the numbers
};

inline constexpr size_t kMostPullKeys = 8192;

// Writes the embeddings of `keys`, one after another, to `out`, and returns how many it did not
// find: `lost` gets their places among the keys, in no order, and `out` holds anything there. Those
// have no row, or not one of the full width, or it was written or moved meanwhile, or they were too
// many. Equal keys may get the words of one reading.
// REQUIRES: the caller has a guard of the table's Epochs; at most kMostPullKeys keys.
using PullRowsFn = size_t (*)(const PullContext& pull, const uint64_t* keys, size_t num_keys,
                              float* out, uint16_t* lost);

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
