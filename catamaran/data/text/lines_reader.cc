#include "catamaran/data/text/lines_reader.h"

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

class LinesReader final : public TextReader {
 public:
  LinesReader(std::unique_ptr<CsvSplitter> lines, const ReaderOptions& options)
      : TextReader("text", std::move(lines), options.bad_rows) {
    const Schema schema = options.schema ? *options.schema : Schema({Column::String("text")});
    if (schema.size() != 1 || schema[0].kind != ColumnKind::kString) {
      Fail("{}: text has one column, a string; wanted was {}", path(), schema.ToString());
    }
    SetSchema(ChooseColumns(schema, options, path()));
  }

 private:
  bool Decode(RowBlock& block) override {
    const std::string_view line = rows().fields()[0];
    block[0].bytes.Append({reinterpret_cast<const uint8_t*>(line.data()), line.size()});
    block[0].EndList();
    return true;
  }
};

}  // namespace

std::unique_ptr<RowReader> OpenLinesOfText(const FileSystem& fs, const std::string& path,
                                           const ReaderOptions& options) {
  return std::make_unique<LinesReader>(OpenLines(fs, path, options.text, true), options);
}

DataFormat TextFormat() {
  return {
      .name = "text",
      .matches = [](std::string_view path, std::string_view) { return HasEnding(path, {".txt"}); },
      .open = OpenLinesOfText};
}

}  // namespace catamaran
