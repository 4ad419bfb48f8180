// table/memory/rowwise_push_simd.h
//
// The most common push, in few instructions: row-wise adagrad (IsPlainRowwise) on f32 rows of the
// full width. What counts is how many instructions lie between the requests for memory of one key
// and those of the next (stages.h), so the stages are short loops, built for every instruction set.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "catamaran/table/memory/row_changes.h"
#include "catamaran/table/memory/row_finder.h"
#include "catamaran/table/memory/step_batch.h"

namespace catamaran {

// All that the keys of a push have in common.
struct RowwisePush {
  RowFinder finder;
  const std::unique_ptr<RowChanges>* changes = nullptr;  // of each shard; null: not followed
  RowwiseStep step;
  int row_words = 0;
  int embedding = 0;             // its first word; its slot lies right behind it
  uint32_t last_seen = 0;        // of rows that were not seen later
  int64_t* unwritten = nullptr;  // counts rows that keep a number, as the next one is not finite
};

// Writes the rows of `keys`, each of which has a gradient, adds and moves none, and returns how
// many it did not find: `lost` gets their places among the keys, in no order. Those have no row, or
// not one of the full width, or were too many.
// REQUIRES: one thread writes; words of rows are no atomics (row_access.h).
using RowwisePushFn = size_t (*)(const RowwisePush& push, const StepKey* keys, size_t num_keys,
                                 uint32_t* lost);

// Of the code built for `isa`, or the nearest below it that was built.
RowwisePushFn RowwisePushFor(Isa isa);

namespace plain {
RowwisePushFn GetRowwisePush();
}
namespace avx2 {
RowwisePushFn GetRowwisePush();
}
namespace avx512 {
RowwisePushFn GetRowwisePush();
}

}  // namespace catamaran
