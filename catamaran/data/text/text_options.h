// data/text/text_options.h
//
// How the text formats are read, beyond what every reader has. Each format uses what it needs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace catamaran {

struct TextOptions {
  // CSV: what stands between fields. 0: a tab for "tsv"; for "csv" the one of , ; tab | that the
  // first line has most of.
  char separator = 0;
  // CSV: 0: quotes are characters like others.
  char quote = '"';
  // CSV: as many lines at the beginning are passed over.
  int64_t skip_lines = 0;
  // CSV: whether the first row has the names of the fields. Not said: yes, if none of its fields is
  // empty or a number, no two are equal, and `names` is empty.
  std::optional<bool> header;
  // CSV: names of the fields, in place of the header's. With neither they are c1, c2, ….
  std::vector<std::string> names;
  // CSV: whether spaces around fields are left out. Not said: yes, if a space follows every
  // separator of the first row with data.
  std::optional<bool> trim;
  // What stands for a missing value, beside nothing at all. Not said: NA, N/A, NaN, null and ? do
  // (in any case) for numbers and ids, and nothing for strings.
  std::optional<std::vector<std::string>> missing;
  // What an i64 or u8 without a value becomes. Not said: it is a bad row.
  std::optional<int64_t> missing_integer;
  // CSV: columns whose ids are hexadecimal.
  std::vector<std::string> hexadecimal;
  // CSV: what stands between the ids of one field.
  char list_separator = ' ';
  // Without a schema, the columns' kinds are found from as many rows.
  int64_t infer_rows = 10'000;
  // libsvm, libffm: indices in files begin at this; it is taken off, so that ids begin at 0.
  int64_t first_index = 0;
  // A longer row is an Error: a quote that is not closed would take in the whole file.
  size_t max_row_bytes = size_t{64} << 20;
};

}  // namespace catamaran
