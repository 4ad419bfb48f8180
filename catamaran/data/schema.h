// data/schema.h
//
// What a row has: a list of columns, each with a name and a kind. A kind says what one row holds:
//
//   f32, i64, u8 [shape]  dense numbers, as many in every row as the shape says; a scalar without
//   ids                   a list of 64-bit ids, of any length (none: missing)
//   weighted_ids          the same with an f32 for each id
//   string                bytes, of any length and any value (none: missing)
//
// In a dense f32 a NaN means missing; i64 and u8 have no value for that.
//
// A Schema prints as one line a column, "name: kind", and parses back; its hash is that of this
// text, so it is the same on every machine and may be stored.
//
// Thread safety: immutable; copies share their columns and are cheap.

#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/tensor/dtype.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {

enum class ColumnKind : uint8_t { kDense, kIds, kWeightedIds, kString };

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kDense;
  DType dtype = DType::kF32;  // dense: f32, i64 or u8; ids: i64; strings: u8
  Shape shape;                // dense: of one row; else empty

  static Column Dense(std::string name, DType dtype = DType::kF32, Shape shape = {});
  static Column Ids(std::string name);
  static Column WeightedIds(std::string name);
  static Column String(std::string name);

  // Rows differ in length: the column has offsets.
  bool has_offsets() const { return kind != ColumnKind::kDense; }

  // Elements in one row. REQUIRES: dense.
  int64_t width() const { return shape.num_elements(); }

  // "f32", "u8[28, 28]", "ids", "weighted_ids", "string".
  std::string KindText() const;

  friend bool operator==(const Column&, const Column&) = default;
};

class Schema {
 public:
  static constexpr size_t kMaxColumns = 65536;
  static constexpr size_t kMaxNameBytes = 1024;
  static constexpr int64_t kMaxWidth = int64_t{1} << 28;

  Schema();  // no columns

  // An Error if two names are equal; a name is empty, longer than kMaxNameBytes or has control
  // characters; a dense dtype is none of f32, i64, u8; a row would have no element or more than
  // kMaxWidth; there are more than kMaxColumns.
  explicit Schema(std::vector<Column> columns);

  // The inverse of ToString; empty lines and spaces around lines do not count. An Error that names
  // the line, with `what` before it (the file that the text came from).
  static Schema Parse(std::string_view text, std::string_view what = "schema");

  int size() const { return static_cast<int>(columns().size()); }
  const Column& operator[](int column) const { return columns()[static_cast<size_t>(column)]; }
  const std::vector<Column>& columns() const;
  auto begin() const { return columns().begin(); }
  auto end() const { return columns().end(); }

  // The column of that name, or -1.
  int Find(std::string_view name) const;
  // The same; an Error that offers similar names if there is none. It begins with `what`.
  int Index(std::string_view name, std::string_view what) const;

  // The named columns, in that order. An Error, beginning with `what`, if one is missing or named
  // twice.
  Schema Select(std::span<const std::string> names, std::string_view what) const;

  uint64_t hash() const;
  std::string ToString() const;

  friend bool operator==(const Schema& a, const Schema& b);

 private:
  struct Columns;
  std::shared_ptr<const Columns> columns_;
};

// One line that says where two schemas differ; "" where they are equal.
std::string Difference(const Schema& wanted, const Schema& found);

// Prints ToString(); GoogleTest uses it.
std::ostream& operator<<(std::ostream& out, const Schema& schema);

}  // namespace catamaran
