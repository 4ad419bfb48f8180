#include "catamaran/data/text/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/data/text/csv_dialect.h"
#include "catamaran/data/text/csv_fields.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

// One field to be read: what becomes of it, and in which column.
struct Cell {
  size_t field = 0;
  int column = 0;
  enum Kind { kF32, kI64, kU8, kIds, kHexIds, kWeightedIds, kString } kind = kF32;
};

Cell::Kind CellKind(const Column& column, bool hexadecimal) {
  switch (column.kind) {
    case ColumnKind::kIds:
      return hexadecimal ? Cell::kHexIds : Cell::kIds;
    case ColumnKind::kWeightedIds:
      return Cell::kWeightedIds;
    case ColumnKind::kString:
      return Cell::kString;
    case ColumnKind::kDense:
      break;
  }
  if (column.dtype == DType::kF32) return Cell::kF32;
  return column.dtype == DType::kI64 ? Cell::kI64 : Cell::kU8;
}

// The columns of a file before any are chosen, and how they find their fields.
struct Columns {
  Schema schema;
  bool by_name = false;
  bool inferred = false;
};

class CsvReader final : public TextReader {
 public:
  CsvReader(std::string_view kind, CsvFile file, const Columns& columns,
            const ReaderOptions& options)
      : TextReader(kind, std::move(file.rows), options.bad_rows),
        options_(options.text),
        fields_(file.names.size()),
        trim_(file.trim),
        inferred_(columns.inferred) {
    const Schema& all = columns.schema;
    if (file.empty) {
      SetSchema(ChooseColumns(all, options, path()));
      return;
    }
    for (const std::string& name : options_.hexadecimal) {
      const Column& column = all[all.Index(name, path())];
      if (column.kind != ColumnKind::kIds) {
        Fail("{}: column '{}' is {}; only ids are hexadecimal", path(), name, column.KindText());
      }
    }
    if (columns.by_name) {
      ChooseByName(ChooseColumns(all, options, path()), file.names, options.defaults);
      return;
    }
    const ColumnFields fields = FieldsByPlace(all, fields_, path());
    const Schema schema = ChooseColumns(all, options, path());
    for (int c = 0; c < schema.size(); ++c) {
      AddCells(schema[c], c, fields[static_cast<size_t>(all.Find(schema[c].name))]);
    }
    SetSchema(schema);
  }

 private:
  // Fields are looked for by the names of columns that are wanted; the others may be anywhere, or
  // not there at all. So may columns that have a default.
  void ChooseByName(const Schema& wanted, const std::vector<std::string>& names,
                    const std::vector<ColumnDefault>& defaults) {
    std::vector<Column> there;
    for (const Column& column : wanted) {
      const bool may_lack = std::ranges::count(defaults, column.name, &ColumnDefault::column) > 0;
      if (!may_lack || HasFields(column, names)) there.push_back(column);
    }
    const Schema schema(std::move(there));
    const ColumnFields fields = FieldsByName(schema, names, path());
    for (int c = 0; c < schema.size(); ++c) AddCells(schema[c], c, fields[static_cast<size_t>(c)]);
    SetSchema(schema);
  }

  void AddCells(const Column& column, int index, const std::vector<size_t>& fields) {
    const bool hexadecimal =
        std::ranges::find(options_.hexadecimal, column.name) != options_.hexadecimal.end();
    for (const size_t field : fields) {
      cells_.push_back({.field = field, .column = index, .kind = CellKind(column, hexadecimal)});
    }
  }

  bool Decode(RowBlock& block) override {
    const auto& fields = rows().fields();
    if (fields.size() != fields_) [[unlikely]] {
      return rows().may_have_quotes() && !QuotesAreRight()
                 ? BadQuotes(fmt::format("{} fields, wanted {}; are its quotes right?",
                                         fields.size(), fields_))
                 : Bad(fmt::format("{} {}, wanted {}", fields.size(),
                                   fields.size() == 1 ? "field" : "fields", fields_));
    }
    const bool quotes = rows().may_have_quotes();
    for (const Cell& cell : cells_) {
      std::string_view text = fields[cell.field];
      if (trim_) text = Trimmed(text);
      if (quotes) {
        const auto problem = rows().Unquote(text, &scratch_, &text);
        if (problem != QuoteProblem::kNone) return BadQuote(cell, fields[cell.field], problem);
      }
      if (!DecodeCell(cell, text, block[cell.column])) return false;
    }
    return true;
  }

  bool DecodeCell(const Cell& cell, std::string_view text, ColumnBlock& column) {
    switch (cell.kind) {
      case Cell::kF32: {
        float value = kMissingF32;
        if (!text.empty() && !ParseF32(text, &value) && !IsMissing(text, options_)) {
          return BadCell(cell, text, "a number");
        }
        column.floats.push_back(value);
        return true;
      }
      case Cell::kI64: {
        int64_t value = 0;
        if (!ParseI64(text, &value) && !MissingInteger(text, &value)) {
          return BadCell(cell, text, "a whole number (i64)");
        }
        column.ints.push_back(value);
        return true;
      }
      case Cell::kU8: {
        uint8_t value = 0;
        int64_t missing = 0;
        if (!ParseU8(text, &value)) {
          if (!MissingInteger(text, &missing) || missing < 0 || missing > 255) {
            return BadCell(cell, text, "a whole number from 0 to 255 (u8)");
          }
          value = static_cast<uint8_t>(missing);
        }
        column.bytes.push_back(value);
        return true;
      }
      case Cell::kHexIds:
        return DecodeIds<ParseHex64>(cell, text, column, "a hexadecimal id");
      case Cell::kIds:
        return DecodeIds<ParseI64>(cell, text, column, "an id");
      case Cell::kWeightedIds:
        return DecodeWeightedIds(cell, text, column);
      case Cell::kString:
        if (!options_.missing || !IsMissing(text, options_)) {
          column.bytes.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        }
        column.EndList();
        return true;
    }
    return false;
  }

  template <bool (*parse)(std::string_view, int64_t*)>
  bool DecodeIds(const Cell& cell, std::string_view text, ColumnBlock& column,
                 std::string_view wanted) {
    int64_t id = 0;
    if (text.empty()) {
    } else if (parse(text, &id)) {
      column.ints.push_back(id);
    } else if (!IsMissing(text, options_)) {
      while (!text.empty()) {
        const std::string_view item = NextItem(text);
        if (!parse(item, &id)) return BadCell(cell, item, wanted);
        column.ints.push_back(id);
      }
    }
    column.EndList();
    return true;
  }

  bool DecodeWeightedIds(const Cell& cell, std::string_view text, ColumnBlock& column) {
    if (IsMissing(text, options_)) text = {};
    while (!text.empty()) {
      const std::string_view item = NextItem(text);
      const size_t colon = item.find(':');
      int64_t id = 0;
      float weight = 1;
      if (!ParseI64(item.substr(0, colon), &id) ||
          (colon != std::string_view::npos && !ParseF32(item.substr(colon + 1), &weight))) {
        return BadCell(cell, item, "'id:weight'");
      }
      column.ints.push_back(id);
      column.floats.push_back(weight);
    }
    column.EndList();
    return true;
  }

  // Takes the first item off a list.
  std::string_view NextItem(std::string_view& list) const {
    const size_t end = std::min(list.find(options_.list_separator), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return item;
  }

  bool MissingInteger(std::string_view text, int64_t* value) const {
    if (!options_.missing_integer || !IsMissing(text, options_)) return false;
    *value = *options_.missing_integer;
    return true;
  }

  bool BadCell(const Cell& cell, std::string_view text, std::string_view wanted) {
    return Bad(fmt::format("column '{}': found {}, wanted {}{}", schema()[cell.column].name,
                           text.empty() ? "nothing" : Shown(text), wanted,
                           inferred_ ? "; its kind was inferred from the first rows, a schema can "
                                       "say another"
                                     : ""));
  }

  bool BadQuote(const Cell& cell, std::string_view text, QuoteProblem problem) {
    const std::string_view what = problem == QuoteProblem::kWithinField
                                      ? "a quote within a field that does not begin with one"
                                  : problem == QuoteProblem::kAfterQuote
                                      ? "characters after a closing quote"
                                      : "a quote that is not closed";
    return BadQuotes(fmt::format("column '{}': {}: {}", schema()[cell.column].name, what,
                                 Shown(text.substr(0, text.find('\n')))));
  }

  bool QuotesAreRight() {
    return std::ranges::all_of(rows().fields(), [&](std::string_view field) {
      std::string_view meaning;
      return rows().Unquote(trim_ ? Trimmed(field) : field, &scratch_, &meaning) ==
             QuoteProblem::kNone;
    });
  }

  static constexpr float kMissingF32 = std::numeric_limits<float>::quiet_NaN();

  const TextOptions options_;
  const size_t fields_;
  const bool trim_;
  const bool inferred_;
  std::vector<Cell> cells_;
  std::string scratch_;
};

std::unique_ptr<RowReader> OpenDelimited(std::string_view kind, const FileSystem& fs,
                                         const std::string& path, const ReaderOptions& options) {
  CsvFile file = OpenCsvFile(fs, path, options.text);
  Columns columns;
  if (options.schema) {
    columns = {.schema = *options.schema, .by_name = file.has_names};
  } else {
    if (file.empty)
      Fail(ErrorCode::kBadData,
           "{}: is empty: its columns cannot be inferred, a schema must say them", path);
    columns = {.schema = InferCsvSchema(file, options.text), .inferred = true};
  }
  return std::make_unique<CsvReader>(kind, std::move(file), columns, options);
}

}  // namespace

std::unique_ptr<RowReader> OpenCsv(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options) {
  return OpenDelimited("csv", fs, path, options);
}

std::unique_ptr<RowReader> OpenTsv(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options) {
  ReaderOptions tabs = options;
  if (tabs.text.separator == 0) tabs.text.separator = '\t';
  return OpenDelimited("tsv", fs, path, tabs);
}

std::unique_ptr<RowReader> OpenCriteo(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options) {
  constexpr int kDense = 13, kCategorical = 26;
  ReaderOptions preset = options;
  preset.text.separator = '\t';
  preset.text.quote = 0;
  preset.text.header = false;
  preset.text.trim = false;
  preset.text.names.clear();
  CsvFile file = OpenCsvFile(fs, path, preset.text);
  const size_t found = file.empty ? 1 + kDense + kCategorical : file.names.size();
  if (found != 1 + kDense + kCategorical && found != kDense + kCategorical) {
    Fail(ErrorCode::kBadData,
         "{}: the first row has {} fields; Criteo's have 40, or 39 without the label", path, found);
  }
  std::vector<Column> usual;
  file.names.clear();
  if (found > kDense + kCategorical) {
    usual.push_back(Column::Dense("label"));
    file.names.push_back("label");
  }
  usual.push_back(Column::Dense("dense", DType::kF32, {kDense}));
  for (int i = 1; i <= kDense; ++i) file.names.push_back(fmt::format("I{}", i));
  for (int i = 1; i <= kCategorical; ++i) {
    usual.push_back(Column::Ids(fmt::format("C{}", i)));
    file.names.push_back(usual.back().name);
  }
  Columns columns{.schema = Schema(std::move(usual))};
  if (options.schema && !(*options.schema == columns.schema)) {
    columns = {.schema = *options.schema, .by_name = true};
  }
  for (const Column& column : columns.schema) {
    if (column.kind == ColumnKind::kIds) preset.text.hexadecimal.push_back(column.name);
  }
  return std::make_unique<CsvReader>("criteo", std::move(file), columns, preset);
}

DataFormat CsvFormat() {
  return {
      .name = "csv",
      .matches = [](std::string_view path, std::string_view) { return HasEnding(path, {".csv"}); },
      .open = OpenCsv};
}

DataFormat TsvFormat() {
  return {.name = "tsv",
          .matches =
              [](std::string_view path, std::string_view) {
                return HasEnding(path, {".tsv", ".tab"});
              },
          .open = OpenTsv};
}

DataFormat CriteoFormat() {
  return {.name = "criteo",
          .matches = [](std::string_view, std::string_view) { return false; },
          .open = OpenCriteo};
}

}  // namespace catamaran
