// table/files/all_rows.h
//
// All rows of a saved table: those in a chain of files and, where it has some, the cold rows that
// lie beneath (cold_rows.h). What the chain says of a key counts; a key of which it has nothing, or
// says that it is deleted, has the row that is beneath, if there is one.

#pragma once

#include <cstdint>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/cold_rows.h"
#include "catamaran/table/files/row_chain.h"

namespace catamaran {

// Visits every record with a hash in [first, last], those of a class by ascending hash. With cold
// rows (null: there are none) all records of the range are in memory at once: take slices.
void ScanAllRows(const RowChain& chain, const SavedColdRows* cold, uint64_t first, uint64_t last,
                 FunctionRef<void(RowClass c, const uint32_t* record)> visit);

// All hashes, in ascending slices of some thousand rows each.
class HashSlices {
 public:
  struct Slice {
    uint64_t first, last;
  };
  // Of a table with about so many rows.
  explicit HashSlices(int64_t rows);
  uint64_t size() const { return uint64_t{1} << bits_; }
  Slice operator[](uint64_t i) const;

 private:
  int bits_;
};

}  // namespace catamaran
