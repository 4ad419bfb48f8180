// table/memory/rows_elsewhere.h
//
// What a memory table has to know when it holds a part of a table only, and the other rows lie
// elsewhere (table/cold/). Rows are brought into memory before a step that touches them, so steps
// need nothing; but expiry is about all rows of a table: its slices, its sums and what it removes
// must not depend on where a row lies.
//
// Thread safety: called by whoever writes the table, inside Apply and Expire.

#pragma once

#include <cstdint>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

class RowsElsewhere {
 public:
  virtual ~RowsElsewhere() = default;

  // Records that are not in memory.
  virtual int64_t num_rows(RowClass c) const = 0;

  // Calls goes(class, record) for each record that is not in memory and whose hash is in
  // [first, last], in ascending order, and removes those for which it returns true: gone(class,
  // record) is called for each when nothing can go wrong any more, and must not throw. An Error if
  // the records cannot be read: what was gone until then stays gone, and the caller may try again.
  virtual void Sweep(uint64_t first, uint64_t last,
                     FunctionRef<bool(RowClass c, const uint32_t* record)> goes,
                     FunctionRef<void(RowClass c, const uint32_t* record)> gone) = 0;

  // Expiry has removed, or is about to remove, this key's record from memory: what may lie
  // elsewhere under the key is gone too. Called before a reader can miss the row in memory; the
  // record may stay in memory all the same, and is the one that counts then.
  virtual void Forget(uint64_t key) = 0;
};

}  // namespace catamaran
