// data/features/feature_value.h
//
// What an expression of a features file gives for a block of rows, column by column:
//
//                    numbers  ints  weights  texts  offsets
//   number [shape]     x                                     f64, row after row; NaN is missing
//   integer [shape]             x                            i64; there is no missing one
//   ids                         x                      x     as in a RowBlock; none is missing
//   weighted ids                x      x               x
//   text                                      x              one a row; an empty one is missing
//   texts                                     x        x     a list a row
//
// Texts are views: of the block that came in, of the texts of arguments, or of `arena`; all of them
// stay until the block is done.
//
// Thread safety: as for a std::vector.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/buffer.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {

enum class ValueKind : uint8_t { kNumber, kInteger, kIds, kWeightedIds, kText, kTexts };

struct ValueType {
  ValueKind kind = ValueKind::kNumber;
  Shape shape;  // of one row's numbers or integers

  bool is_dense() const { return kind == ValueKind::kNumber || kind == ValueKind::kInteger; }
  // Rows differ in length: there are offsets.
  bool is_list() const {
    return kind == ValueKind::kIds || kind == ValueKind::kWeightedIds || kind == ValueKind::kTexts;
  }
  bool is_single() const { return !is_list() && shape.rank() == 0; }
  // In one row. REQUIRES: not a list.
  int64_t elements() const { return shape.num_elements(); }

  // "number", "integer[26]", "ids", "weighted ids", "text", "texts".
  std::string ToString() const;

  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// Memory for texts: what was given out does not move until Clear, which keeps the memory.
class TextArena {
 public:
  // Room for `size` bytes.
  char* Allocate(size_t size);
  std::string_view Copy(std::string_view text);
  // Takes the last bytes of the last Allocate back.
  void GiveBack(size_t size) { used_ -= size; }
  void Clear() { chunk_ = used_ = 0; }

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;  // the one in use
  size_t used_ = 0;   // of it
};

struct FeatureValues {
  Buffer<double> numbers;
  Buffer<int64_t> ints;
  Buffer<float> weights;
  Buffer<int32_t> offsets;
  Buffer<std::string_view> texts;
  TextArena arena;

  // Empty, for values of that type; the memory stays.
  void Clear(const ValueType& type) {
    numbers.clear();
    ints.clear();
    weights.clear();
    offsets.clear();
    texts.clear();
    arena.Clear();
    if (type.is_list()) offsets.push_back(0);
  }

  // What was appended to `ints` or `texts` since the last time is one row's list. An Error if the
  // lists of a block become longer than a block can hold.
  void EndList();
};

}  // namespace catamaran
