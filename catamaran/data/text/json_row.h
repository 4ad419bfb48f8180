// data/text/json_row.h
//
// Puts JSON objects into rows: a column takes the member of its name, or, for a name with dots, the
// member of a nested object ("user.age"). Members that no column takes are not looked at. It is
// what the reader of JSON lines and others that get rows as JSON share.
//
//   f32, i64, u8      a number; true is 1 and false 0; i64 and u8 take whole numbers only
//   f32[shape], …     an array of as many numbers, nested as the shape says or flat
//   ids               an array of whole numbers, or one
//   weighted_ids      an array of [id, weight] or ids, or an object {"id": weight}
//   string            a string's characters; anything else as it is written
//
// A member that is not there, or null, is missing: NaN, an empty list, an empty string. For i64 and
// u8 that makes a bad row unless TextOptions::missing_integer is set; for a dense column of several
// values all are missing.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/data/schema.h"
#include "catamaran/data/text/json.h"

namespace catamaran {

class JsonRow {
 public:
  JsonRow(Schema schema, std::optional<int64_t> missing_integer);

  // Appends one row to every column of `block`, which is one of the schema, and returns "". Else
  // says what is wrong; then parts of the row may have been appended: drop it.
  std::string Append(std::string_view text, RowBlock& block);
  // The same for the value at that node of a document that was parsed.
  std::string Append(const JsonDocument& document, size_t object, RowBlock& block);

 private:
  // A name's part between dots, with those that follow it.
  struct Name {
    std::string part;
    int column = -1;
    std::vector<size_t> inner;  // in names_
  };
  void AddName(int column);
  const Name* Find(const Name& outer, std::string_view part) const;
  bool AppendObject(size_t object, const Name& outer, RowBlock& block);
  bool AppendValue(size_t value, int column, ColumnBlock& block);
  bool AppendDense(size_t value, const Column& column, int axis, ColumnBlock& block);
  bool AppendNumber(size_t value, const Column& column, ColumnBlock& block);
  bool AppendIds(size_t value, const Column& column, ColumnBlock& block);
  bool AppendWeightedIds(size_t value, const Column& column, ColumnBlock& block);
  bool AppendMissing(const Column& column, ColumnBlock& block);
  bool Bad(const Column& column, size_t value, std::string_view wanted);
  bool Id(size_t value, int64_t* id) const;

  const Schema schema_;
  const std::optional<int64_t> missing_integer_;
  std::vector<Name> names_;                 // names_[0] is the row itself
  std::vector<char> seen_;                  // of columns, in the row at hand
  JsonDocument own_;                        // of a row that came as text
  const JsonDocument* document_ = nullptr;  // of the row at hand
  std::string problem_;
};

}  // namespace catamaran
