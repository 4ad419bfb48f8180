#include "catamaran/data/text/json_reader.h"

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/json_infer.h"
#include "catamaran/data/text/json_row.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

class JsonReader final : public TextReader {
 public:
  JsonReader(std::unique_ptr<CsvSplitter> lines, const ReaderOptions& options)
      : TextReader("jsonl", std::move(lines), options.bad_rows), row_(MakeRow(options)) {}

  std::vector<std::string> optional_columns() const override { return optional_; }

 private:
  Schema Choose(const ReaderOptions& options) {
    const Schema all = options.schema ? *options.schema : Infer(options.text.infer_rows);
    SetSchema(ChooseColumns(all, options, path()));
    return schema();
  }

  JsonRow MakeRow(const ReaderOptions& options) {
    const Schema schema = Choose(options);
    JsonRowRules rules{.need_columns = options.need_columns, .defaults = options.defaults};
    for (const std::string& name : optional_) rules.defaults.push_back({.column = name});
    return JsonRow(schema, options.text.missing_integer, std::move(rules));
  }

  // Bad rows are passed over: Read reports them.
  Schema Infer(int64_t count) {
    JsonColumns columns;
    JsonDocument document;
    for (int64_t row = 0; row < count && rows().Next(); ++row) {
      const bool good = document.Parse(rows().fields()[0]);
      if (good && document.nodes()[0].kind == JsonKind::kObject) columns.Add(document);
    }
    rows().Seek(0, 1);
    optional_ = columns.Optional();
    try {
      return Schema(columns.Columns());
    } catch (const Error& error) {
      Fail(error.code(), "{}: the names in its objects make no columns: {}", path(), error.what());
    }
  }

  bool SkipRow() override {
    return rows().fields()[0].find_first_not_of(" \t\r") == std::string_view::npos;
  }

  bool Decode(RowBlock& block) override {
    std::string problem = row_.Append(rows().fields()[0], block);
    return problem.empty() || Bad(std::move(problem));
  }

  std::vector<std::string> optional_;
  JsonRow row_;
};

}  // namespace

std::unique_ptr<RowReader> OpenJsonLines(const FileSystem& fs, const std::string& path,
                                         const ReaderOptions& options) {
  return std::make_unique<JsonReader>(OpenLines(fs, path, options.text), options);
}

DataFormat JsonLinesFormat() {
  return {.name = "jsonl",
          .matches =
              [](std::string_view path, std::string_view) {
                return HasEnding(path, {".jsonl", ".ndjson", ".json"});
              },
          .open = OpenJsonLines};
}

}  // namespace catamaran
