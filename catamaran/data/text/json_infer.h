// data/text/json_infer.h
//
// What columns JSON objects have, found from some of them.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catamaran/data/schema.h"
#include "catamaran/data/text/json.h"

namespace catamaran {

// Members become columns in the order of their first appearance, those of nested objects under
// their names with dots between:
//
//   whole numbers, true and false    i64, or f32 if a row has none
//   numbers                          f32
//   arrays of whole numbers          ids
//   arrays of numbers, also nested   f32[shape], if every row has one, of the same shape
//   arrays of [id, weight]           weighted_ids, if their shape differs
//   strings, and everything else     string: as it is written
class JsonColumns {
 public:
  // REQUIRES: an object.
  void Add(const JsonDocument& row);

  // The columns of all rows so far.
  std::vector<Column> Columns() const;
  // Those that one of the rows so far does not name, not even as null.
  std::vector<std::string> Optional() const;

 private:
  struct Seen {
    int64_t rows = 0;   // with a value other than null
    int64_t last = -1;  // the last of them
    int64_t named = 0;  // rows that name it, also as null
    int64_t last_named = -1;
    bool fraction = false, whole = false, text = false;
    bool array = false, not_ids = false, not_numbers = false, not_pairs = false, ragged = false;
    std::vector<int64_t> shape;
  };
  void AddObject(const JsonDocument& row, size_t object, const std::string& prefix);
  void AddValue(const JsonDocument& row, size_t value, Seen& seen);
  static bool ShapeOf(const JsonDocument& row, size_t array, std::vector<int64_t>* shape,
                      bool* fraction);
  Column ColumnOf(const std::string& name, const Seen& seen) const;

  int64_t rows_ = 0;
  std::vector<Seen> seen_;
  std::vector<std::string> names_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace catamaran
