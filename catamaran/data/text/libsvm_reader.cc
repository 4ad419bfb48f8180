#include "catamaran/data/text/libsvm_reader.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

// Takes the first word off a line; empty at its end.
std::string_view NextWord(std::string_view& line) {
  size_t begin = 0;
  while (begin < line.size() && IsSpace(line[begin])) ++begin;
  size_t end = begin;
  while (end < line.size() && !IsSpace(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

constexpr std::string_view kQueryPrefix = "qid:";

class LibsvmReader final : public TextReader {
 public:
  LibsvmReader(bool has_fields, std::unique_ptr<CsvSplitter> lines, const ReaderOptions& options)
      : TextReader(has_fields ? "libffm" : "libsvm", std::move(lines), options.bad_rows),
        has_fields_(has_fields),
        first_index_(options.text.first_index) {
    std::vector<Column> columns = {Column::Dense("label"), Column::WeightedIds("features")};
    if (has_fields) columns.push_back(Column::Ids("fields"));
    if (!has_fields && FirstRowHasQuery()) columns.push_back(Column::Dense("qid", DType::kI64));
    const Schema all(std::move(columns));
    const Schema schema = ChooseColumns(all, options, path());
    if (options.schema && !(*options.schema == all)) {
      Fail("{}: the columns of {} files are their own: {}", path(),
           has_fields ? "libffm" : "libsvm", Difference(all, *options.schema));
    }
    label_ = schema.Find("label");
    features_ = schema.Find("features");
    fields_ = schema.Find("fields");
    query_ = schema.Find("qid");
    has_query_ = all.Find("qid") >= 0;
    SetSchema(schema);
  }

 private:
  bool FirstRowHasQuery() {
    bool found = false;
    std::string_view line;
    while (NextWord(line).empty() && rows().Next()) line = Content(rows().fields()[0]);
    const std::string_view second = NextWord(line);
    found = second.starts_with(kQueryPrefix);
    rows().Seek(0, 1);
    return found;
  }

  static std::string_view Content(std::string_view line) { return line.substr(0, line.find('#')); }

  // Lines with nothing but a comment are no rows.
  bool SkipRow() override { return Content(rows().fields()[0]).find_first_not_of(" \t") == npos; }

  bool Decode(RowBlock& block) override {
    std::string_view line = Content(rows().fields()[0]);
    const std::string_view label = NextWord(line);
    float value = 0;
    if (!ParseF32(label, &value)) {
      return Bad(fmt::format("found {}, wanted a label: a number", Shown(label)));
    }
    if (label_ >= 0) block[label_].floats.push_back(value);
    std::string_view word = NextWord(line);
    if (has_query_) {
      int64_t query = 0;
      if (!word.starts_with(kQueryPrefix) || !ParseI64(word.substr(kQueryPrefix.size()), &query)) {
        return Bad(
            fmt::format("found {}, wanted 'qid:' and a number, as in the first row", Shown(word)));
      }
      if (query_ >= 0) block[query_].ints.push_back(query);
      word = NextWord(line);
    }
    for (; !word.empty(); word = NextWord(line)) {
      if (!DecodeFeature(word, block)) return false;
    }
    if (features_ >= 0) block[features_].EndList();
    if (fields_ >= 0) block[fields_].EndList();
    return true;
  }

  bool DecodeFeature(std::string_view word, RowBlock& block) {
    std::string_view rest = word;
    int64_t field = 0, index = 0;
    float value = 1;
    if (has_fields_) {
      const size_t colon = rest.find(':');
      if (colon == npos || !ParseI64(rest.substr(0, colon), &field)) return BadFeature(word);
      rest.remove_prefix(colon + 1);
    }
    const size_t colon = rest.find(':');
    if (!ParseI64(rest.substr(0, colon), &index) ||
        (colon != npos && !ParseF32(rest.substr(colon + 1), &value))) {
      return BadFeature(word);
    }
    if (index < first_index_) {
      return Bad(fmt::format("index {} in {}; the first is {}", index, Shown(word), first_index_));
    }
    if (features_ >= 0) {
      block[features_].ints.push_back(index - first_index_);
      block[features_].floats.push_back(value);
    }
    if (fields_ >= 0) block[fields_].ints.push_back(field);
    return true;
  }

  bool BadFeature(std::string_view word) {
    return Bad(
        fmt::format("found {}, wanted '{}index:value'", Shown(word), has_fields_ ? "field:" : ""));
  }

  static constexpr size_t npos = std::string_view::npos;

  const bool has_fields_;
  const int64_t first_index_;
  bool has_query_ = false;
  int label_ = -1, features_ = -1, fields_ = -1, query_ = -1;  // columns; -1: not wanted
};

std::unique_ptr<RowReader> Open(bool has_fields, const FileSystem& fs, const std::string& path,
                                const ReaderOptions& options) {
  if (options.text.first_index < 0) {
    Fail("{}: the first index is {}; it cannot be below 0", path, options.text.first_index);
  }
  return std::make_unique<LibsvmReader>(has_fields, OpenLines(fs, path, options.text), options);
}

}  // namespace

std::unique_ptr<RowReader> OpenLibsvm(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options) {
  return Open(false, fs, path, options);
}

std::unique_ptr<RowReader> OpenLibffm(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options) {
  return Open(true, fs, path, options);
}

DataFormat LibsvmFormat() {
  return {.name = "libsvm",
          .matches =
              [](std::string_view path, std::string_view) {
                return HasEnding(path, {".libsvm", ".svm", ".svmlight"});
              },
          .open = OpenLibsvm};
}

DataFormat LibffmFormat() {
  return {.name = "libffm",
          .matches =
              [](std::string_view path, std::string_view) {
                return HasEnding(path, {".libffm", ".ffm"});
              },
          .open = OpenLibffm};
}

}  // namespace catamaran
