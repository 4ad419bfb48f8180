// data/files/stored_array.h
//
// An array in a file, whose first axis goes over rows: IDX, .npy and the arrays of .npz all come to
// this. Elements become what columns hold: f64 and f16 become f32, smaller integers and u64 i64 (an
// Error for a number beyond 63 bits), bool u8.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catamaran/data/files/byte_stream.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/schema.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {

enum class StoredType : uint8_t { kU8, kBool, kI8, kI16, kI32, kI64, kU64, kF16, kF32, kF64 };

struct StoredArray {
  std::unique_ptr<ByteStream> stream;
  std::string name;  // of the column
  StoredType type = StoredType::kU8;
  bool big_endian = false;
  int64_t rows = 0;
  Shape row_shape;
  uint64_t data_offset = 0;  // in the stream

  Column column() const;
  uint64_t row_bytes() const;  // in the stream
};

// Appends the next `count` rows of the array to `block`, where the stream is at their beginning. An
// Error that begins with the stream's name if it ends before, at row `row` or later.
void AppendRows(StoredArray& array, int64_t row, int64_t count, ColumnBlock& block);

}  // namespace catamaran
