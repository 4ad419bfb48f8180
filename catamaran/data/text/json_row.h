// data/text/json_row.h
//
// Puts JSON objects into rows: a column takes the member of its name, or, for a name with dots, the
// member of a nested object ("user.age"). The reader of JSON lines and services that get rows as
// JSON share it; JsonRowRules says what is refused.
//
//   f32, i64, u8      a number; true is 1 and false 0; i64 and u8 take whole numbers only
//   f32[shape], …     an array of as many numbers, nested as the shape says or flat
//   ids               an array of whole numbers, or one
//   weighted_ids      an array of [id, weight] or ids, or an object {"id": weight}
//   string            a string's characters; anything else as it is written
//
// A member that is null is missing: NaN, an empty list, an empty string. For i64 and u8 that makes
// a bad row unless TextOptions::missing_integer is set; for a dense column of several values all
// are missing. A member that is not there has its default, or is refused, or is missing too.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/column_default.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/schema.h"
#include "catamaran/data/text/json.h"

namespace catamaran {

// Which members a row must have, and may have.
struct JsonRowRules {
  bool need_columns = false;    // a column without a default that a row lacks is an error
  bool refuse_unknown = false;  // so is a member that no column takes and `known` does not name
  // Rows are taken all the same; incomplete() and unknown() say what was wrong with the last one.
  bool lenient = false;
  std::vector<std::string> known = {};
  std::vector<ColumnDefault> defaults = {};
};

class JsonRow {
 public:
  JsonRow(Schema schema, std::optional<int64_t> missing_integer, JsonRowRules rules = {});

  // Appends one row to every column of `block`, which is one of the schema, and returns "". Else
  // says what is wrong; then parts of the row may have been appended: drop it.
  std::string Append(std::string_view text, RowBlock& block);
  // The same for the value at that node of a document that was parsed.
  std::string Append(const JsonDocument& document, size_t object, RowBlock& block);

  // Of the last row, with rules that need columns or refuse unknown ones.
  bool incomplete() const { return incomplete_; }
  bool unknown() const { return !unknown_.empty(); }

 private:
  // A name's part between dots, with those that follow it.
  struct Name {
    std::string part;
    int column = -1;
    bool known = false;         // and no column
    std::vector<size_t> inner;  // in names_
  };
  Name& AddName(std::string_view name);
  const Name* Find(const Name& outer, std::string_view part) const;
  // `prefix` is the path of the object: "" or "user.".
  bool AppendObject(size_t object, const Name& outer, const std::string& prefix, RowBlock& block);
  bool AppendValue(size_t value, int column, ColumnBlock& block);
  bool AppendDense(size_t value, const Column& column, int axis, ColumnBlock& block);
  bool AppendNumber(size_t value, const Column& column, ColumnBlock& block);
  bool AppendIds(size_t value, const Column& column, ColumnBlock& block);
  bool AppendWeightedIds(size_t value, const Column& column, ColumnBlock& block);
  bool AppendMissing(const Column& column, ColumnBlock& block);
  bool AppendDefault(int column, ColumnBlock& block);
  bool CheckMember(std::string_view outer, std::string_view key);
  bool Bad(const Column& column, size_t value, std::string_view wanted);
  bool Id(size_t value, int64_t* id) const;

  const Schema schema_;
  const std::optional<int64_t> missing_integer_;
  const JsonRowRules rules_;
  std::vector<int> defaults_;               // by column, in rules_; -1: none
  std::vector<Name> names_;                 // names_[0] is the row itself
  std::vector<char> seen_;                  // of columns, in the row at hand
  JsonDocument own_;                        // of a row that came as text
  const JsonDocument* document_ = nullptr;  // of the row at hand
  std::string problem_;
  bool incomplete_ = false;           // the row at hand
  std::vector<std::string> unknown_;  // its members that no column takes
};

}  // namespace catamaran
