#include "catamaran/data/text/csv_dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

// What numbers and ids that are missing may be written as when the user does not say it.
constexpr std::string_view kMissing[] = {"na", "n/a", "nan", "null", "?"};

bool EqualInAnyCase(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b;
  });
}

// The one of the usual separators that stands most often outside of quotes.
char FindSeparator(std::string_view line, char quote) {
  constexpr std::string_view kSeparators = ",\t;|";
  size_t counts[kSeparators.size()] = {};
  bool quoted = false;
  for (const char c : line) {
    if (quote != 0 && c == quote) quoted = !quoted;
    const size_t i = kSeparators.find(c);
    if (!quoted && i != std::string_view::npos) ++counts[i];
  }
  return kSeparators[static_cast<size_t>(std::ranges::max_element(counts) - counts)];
}

bool LooksLikeHeader(const std::vector<std::string>& fields) {
  float number = 0;
  std::set<std::string_view> names;
  return std::ranges::all_of(fields, [&](const std::string& field) {
    return !field.empty() && !ParseF32(field, &number) && names.insert(field).second;
  });
}

bool SpaceFollowsEverySeparator(const std::vector<std::string_view>& fields) {
  return fields.size() > 1 && std::all_of(fields.begin() + 1, fields.end(),
                                          [](auto field) { return field.starts_with(' '); });
}

// The row's fields, unquoted. False if a quote is wrong.
bool Meanings(const CsvSplitter& rows, bool trim, std::vector<std::string>* meanings) {
  meanings->clear();
  std::string scratch;
  for (const std::string_view field : rows.fields()) {
    std::string_view meaning;
    if (rows.Unquote(trim ? Trimmed(field) : field, &scratch, &meaning) != QuoteProblem::kNone) {
      return false;
    }
    meanings->emplace_back(meaning);
  }
  return true;
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool IsMissing(std::string_view text, const TextOptions& options) {
  if (text.empty()) return true;
  if (options.missing) return std::ranges::find(*options.missing, text) != options.missing->end();
  return std::ranges::any_of(kMissing, [&](auto word) { return EqualInAnyCase(text, word); });
}

CsvFile OpenCsvFile(const FileSystem& fs, const std::string& path, const TextOptions& options) {
  CsvSplitter::Options split{.separator = '\n',
                             .quote = 0,
                             .keep_empty_lines = true,
                             .max_row_bytes = options.max_row_bytes};
  const auto lines = OpenSplitter(fs, path, split);
  bool any = lines->Next();
  for (int64_t i = 0; any && i < options.skip_lines; ++i) any = lines->Next();
  while (any && lines->fields()[0].empty()) any = lines->Next();
  if (!any) {
    CsvFile nothing;
    nothing.rows = OpenSplitter(fs, path, split);
    nothing.rows->Seek(lines->next_offset(), lines->next_line());
    nothing.empty = true;
    return nothing;
  }

  split.quote = options.quote;
  split.keep_empty_lines = false;
  split.separator =
      options.separator != 0 ? options.separator : FindSeparator(lines->fields()[0], options.quote);
  if (split.separator == '\n' || split.separator == '\r' || split.separator == split.quote) {
    Fail("{}: fields cannot be separated by {}", path,
         split.separator == split.quote ? "quotes" : "the end of a line");
  }
  CsvFile file;
  file.rows = OpenSplitter(fs, path, split);
  CsvSplitter& rows = *file.rows;
  rows.Seek(lines->offset(), lines->line());
  CATAMARAN_CHECK(rows.Next());

  const auto first_offset = rows.offset();
  const auto first_line = rows.line();
  std::vector<std::string> first;
  if (!Meanings(rows, options.trim.value_or(true), &first)) {
    Fail(ErrorCode::kBadData, "{}:{}: a quote of the first row is at a wrong place", path,
         first_line);
  }
  const bool header =
      options.header ? *options.header : options.names.empty() && LooksLikeHeader(first);
  if (header && options.names.empty()) {
    file.names = first;
    file.has_names = true;
  } else if (!options.names.empty()) {
    if (options.names.size() != first.size()) {
      Fail("{}:{}: {} names are given, but the first row has {} fields", path, first_line,
           options.names.size(), first.size());
    }
    file.names = options.names;
    file.has_names = true;
  }
  file.names.resize(first.size());
  for (size_t i = 0; i < file.names.size(); ++i) {
    if (file.names[i].empty()) file.names[i] = fmt::format("c{}", i + 1);
  }

  const uint64_t data_offset = header ? rows.next_offset() : first_offset;
  const uint64_t data_line = header ? rows.next_line() : first_line;
  if (options.trim) {
    file.trim = *options.trim;
  } else {
    file.trim = (!header || rows.Next()) && SpaceFollowsEverySeparator(rows.fields());
  }
  rows.Seek(data_offset, data_line);
  return file;
}

Schema InferCsvSchema(CsvFile& file, const TextOptions& options) {
  struct Seen {
    bool missing = false, value = false, not_number = false, not_integer = false;
  };
  std::vector<Seen> seen(file.names.size());
  CsvSplitter& rows = *file.rows;
  const uint64_t offset = rows.next_offset();
  const uint64_t line = rows.next_line();
  std::vector<std::string> fields;
  for (int64_t row = 0; row < options.infer_rows && rows.Next(); ++row) {
    if (!Meanings(rows, file.trim, &fields)) {
      rows.SkipLine();
      continue;
    }
    if (fields.size() != seen.size()) continue;
    for (size_t i = 0; i < seen.size(); ++i) {
      const std::string& text = fields[i];
      if (IsMissing(text, options)) {
        seen[i].missing = true;
        continue;
      }
      seen[i].value = true;
      float number = 0;
      int64_t integer = 0;
      const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
      const bool code = digits.size() > 1 && digits[0] == '0' && ParseI64(text, &integer);
      if (code || !ParseF32(text, &number)) seen[i].not_number = true;
      if (!ParseI64(text, &integer)) seen[i].not_integer = true;
    }
  }
  rows.Seek(offset, line);

  std::vector<Column> columns;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Seen& it = seen[i];
    if (!it.value || it.not_number) {
      columns.push_back(Column::String(file.names[i]));
    } else {
      const bool whole = !it.not_integer && !it.missing;
      columns.push_back(Column::Dense(file.names[i], whole ? DType::kI64 : DType::kF32));
    }
  }
  try {
    return Schema(std::move(columns));
  } catch (const Error& error) {
    Fail(error.code(), "{}: the names of its fields make no columns: {}", rows.path(),
         error.what());
  }
}

}  // namespace catamaran
