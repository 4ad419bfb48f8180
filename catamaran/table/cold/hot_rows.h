// table/cold/hot_rows.h
//
// The part of a tiered table that is in memory. Saved rows beneath it, after a restart, count as
// being in memory. Beside what a memory table does, it tells the writer which keys it knows, and
// lets it walk over its records.
//
// Thread safety: what it adds is the writer's, between two steps.

#pragma once

#include <cstdint>
#include <span>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/memory/memory_rows.h"

namespace catamaran {

class HotRows : public MemoryRows {
 public:
  using MemoryRows::MemoryRows;

  // Calls visit(i, class, record) for each key, in order; record is null if it has none here.
  void Find(std::span<const uint64_t> keys,
            FunctionRef<void(size_t i, RowClass c, const uint32_t* record)> visit) const;
  bool Contains(uint64_t key) const;
  // Visits every record whose hash is in [first, last], in no order; what is beneath there moves
  // into memory first.
  void Walk(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit);
};

}  // namespace catamaran
