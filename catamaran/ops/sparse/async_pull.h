// ops/sparse/async_pull.h
//
// A kernel that pulls rows of a table and then works on them, wherever the rows are: it finishes
// in place when the table answers at once, and later, on the table's thread, otherwise.

#pragma once

#include <span>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/table/table.h"

namespace catamaran {

// What stands at the beginning of the scratch memory of such a kernel.
inline constexpr size_t kPullHeader = 64;

// Pulls `keys` of table states[0] into `out`, then calls `finish`; returns what the kernel
// returns. REQUIRES: c.scratch has kPullHeader bytes; keys and out live as long as the context.
KernelStatus PullThen(KernelContext& c, std::span<const uint64_t> keys, std::span<float> out,
                      void (*finish)(KernelContext&));

// The ids of a slot as keys: u64, or i64 with the same bits.
inline std::span<const uint64_t> KeysOf(const Slot& ids) {
  return {static_cast<const uint64_t*>(ids.tensor.data), static_cast<size_t>(ids.size())};
}

}  // namespace catamaran
