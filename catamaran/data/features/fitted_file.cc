#include "catamaran/data/features/fitted_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/json_text.h"
#include "catamaran/data/text/json.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/utf8.h"

namespace catamaran {
namespace {

constexpr std::string_view kMagic = "{\"catamaran_features\": ";
constexpr int kVersion = 1;

// [a, b, c], with `each` for the elements.
template <class List, class F>
std::string ListText(const List& list, F each) {
  std::string out = "[";
  for (const auto& item : list) {
    if (out.size() > 1) out += ", ";
    out += each(item);
  }
  return out + "]";
}

// A value of a side file.
std::string CellText(const Column& column, const ColumnBlock& block, int64_t row) {
  const auto i = static_cast<size_t>(row);
  if (column.kind == ColumnKind::kString) return JsonQuoted(block.text(row));
  if (column.dtype == DType::kI64) return fmt::format("{}", block.ints[i]);
  if (column.dtype == DType::kU8) return fmt::format("{}", block.bytes[i]);
  return std::isfinite(block.floats[i]) ? fmt::format("{}", block.floats[i])
         : std::isnan(block.floats[i])  ? "null"
         : block.floats[i] > 0          ? "\"inf\""
                                        : "\"-inf\"";
}

std::string FileText(const std::string& name, const SideFile& file) {
  const auto text = [](const std::string& word) { return JsonQuoted(word); };
  std::string out = fmt::format(
      "    {{\"file\": {}, \"key\": {},\n     \"columns\": {},\n     \"rows\": [", JsonQuoted(name),
      ListText(file.keys(), text), ListText(file.schema(), [](const Column& column) {
        return JsonQuoted(column.name + ": " + column.KindText());
      }));
  for (int64_t r = 0; r < file.rows().rows(); ++r) {
    out += r == 0 ? "\n      [" : ",\n      [";
    for (int c = 0; c < file.schema().size(); ++c) {
      out += (c == 0 ? "" : ", ") + CellText(file.schema()[c], file.rows()[c], r);
    }
    out += "]";
  }
  return out + "]}";
}

// Reads the nodes of a parsed file one after another.
class Cursor {
 public:
  Cursor(const JsonDocument& document, const std::string& path)
      : nodes_(document.nodes()), path_(path) {}

  [[noreturn]] void Damaged(std::string_view what) const {
    Fail(ErrorCode::kStorage, "{}: this file of fitted features is damaged: {}", path_, what);
  }
  const JsonNode& Node(JsonKind kind, std::string_view what) {
    if (at_ >= nodes_.size() || nodes_[at_].kind != kind) Damaged(what);
    return nodes_[at_++];
  }
  JsonKind kind() const { return at_ < nodes_.size() ? nodes_[at_].kind : JsonKind::kNull; }
  void Name(std::string_view name) {
    if (Node(JsonKind::kString, name).text != name) Damaged(fmt::format("{} is not there", name));
  }
  std::string Text(std::string_view what) {
    return std::string(Node(JsonKind::kString, what).text);
  }
  // Calls f for each element.
  template <class F>
  void List(std::string_view what, F f) {
    const uint32_t count = Node(JsonKind::kArray, what).count;
    for (uint32_t i = 0; i < count; ++i) f();
  }
  std::vector<std::string> Texts(std::string_view what) {
    std::vector<std::string> texts;
    List(what, [&] { texts.push_back(Text(what)); });
    return texts;
  }
  double Number(std::string_view what) {
    const std::string_view text = Node(JsonKind::kNumber, what).text;
    double value = 0;
    const auto answer = std::from_chars(text.data(), text.data() + text.size(), value);
    if (answer.ec != std::errc()) Damaged(what);
    return value;
  }
  void Null() { ++at_; }

 private:
  const std::vector<JsonNode>& nodes_;
  const std::string& path_;
  size_t at_ = 0;
};

void ReadCell(Cursor& cursor, const Column& column, ColumnBlock& block) {
  const auto whole = [&](int64_t low, int64_t high) {
    int64_t value = 0;
    const bool good = ParseI64(cursor.Node(JsonKind::kNumber, "a row").text, &value);
    if (!good || value < low || value > high) cursor.Damaged("a row");
    return value;
  };
  if (column.kind == ColumnKind::kString) {
    const std::string text = cursor.Text("a row");
    block.bytes.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    block.EndList();
  } else if (column.dtype == DType::kI64) {
    block.ints.push_back(whole(INT64_MIN, INT64_MAX));
  } else if (column.dtype == DType::kU8) {
    block.bytes.push_back(static_cast<uint8_t>(whole(0, 255)));
  } else {
    float value = std::numeric_limits<float>::quiet_NaN();
    if (cursor.kind() == JsonKind::kNull) {
      cursor.Null();
    } else {
      const JsonKind kind = cursor.kind();
      if (kind != JsonKind::kString && kind != JsonKind::kNumber) cursor.Damaged("a row");
      if (!ParseF32(cursor.Node(kind, "a row").text, &value)) cursor.Damaged("a row");
    }
    block.floats.push_back(value);
  }
}

std::pair<std::string, std::shared_ptr<const SideFile>> ReadFile(Cursor& cursor,
                                                                 const std::string& path) {
  cursor.Node(JsonKind::kObject, "a file");
  cursor.Name("file");
  const std::string name = cursor.Text("the name of a file");
  cursor.Name("key");
  const std::vector<std::string> keys = cursor.Texts("the key of a file");
  cursor.Name("columns");
  std::string schema;
  for (const std::string& column : cursor.Texts("the columns of a file")) schema += column + "\n";
  RowBlock rows(Schema::Parse(schema, path));
  for (const Column& column : rows.schema()) {
    if (column.kind != ColumnKind::kString &&
        (column.kind != ColumnKind::kDense || column.shape.rank() > 0)) {
      cursor.Damaged("the columns of a file");
    }
  }
  cursor.Name("rows");
  cursor.List("the rows of a file", [&] {
    int column = 0;
    cursor.List("a row", [&] {
      if (column == rows.schema().size()) cursor.Damaged("a row is too long");
      ReadCell(cursor, rows.schema()[column], rows[column]);
      ++column;
    });
    if (column != rows.schema().size()) cursor.Damaged("a row is too short");
    rows.FinishRow();
  });
  return {name, std::make_shared<SideFile>(path + ": " + name, std::move(rows), keys)};
}

}  // namespace

std::string FittedPath(const std::string& path) { return path + ".fit"; }

bool IsFittedText(std::string_view text) { return text.starts_with(kMagic); }

std::string FittedText(const Features& features) {
  const auto check = [&](std::string_view what, std::string_view text) {
    if (FindBadUtf8(text) == text.size()) return;
    Fail(ErrorCode::kBadData, "{}: {} has a text that is no UTF-8 ('{}'): convert the file",
         features.syntax().source->path, what, text);
  };
  const auto text = [](const std::string& word) { return JsonQuoted(word); };
  std::string body = "  \"source\": [";
  std::string_view rest = features.syntax().source->text;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    body += (first ? "\n    " : ",\n    ") + JsonQuoted(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  body += "],\n  \"columns\": [";
  if (const auto columns = features.declared_inputs()) {
    for (int c = 0; c < columns->size(); ++c) {
      const Column& column = (*columns)[c];
      body += (c == 0 ? "\n    " : ",\n    ") + JsonQuoted(column.name + ": " + column.KindText());
    }
  }
  body += "],\n  \"fitted\": [";
  bool first = true;
  for (const auto& [call, value] : features.fitted()) {
    for (const std::string& word : value.texts) check(call, word);
    for (const double number : value.numbers) {
      if (!std::isfinite(number))
        Fail(ErrorCode::kInternal, "{}: {} was fitted as {}", features.syntax().source->path, call,
             number);
    }
    body += fmt::format(
        "{}    {{\"call\": {},\n     \"numbers\": {}", first ? "\n" : ",\n", JsonQuoted(call),
        ListText(value.numbers, [](double number) { return fmt::format("{}", number); }));
    if (!value.texts.empty()) body += ",\n     \"texts\": " + ListText(value.texts, text);
    body += "}";
    first = false;
  }
  body += "],\n  \"files\": [";
  first = true;
  for (const auto& [name, file] : features.files()) {
    for (int c = 0; c < file->schema().size(); ++c) {
      for (int64_t r = 0; file->schema()[c].kind == ColumnKind::kString && r < file->rows().rows();
           ++r) {
        check("the file " + name, file->rows()[c].text(r));
      }
    }
    body += (first ? "\n" : ",\n") + FileText(name, *file);
    first = false;
  }
  body += "]";
  return fmt::format("{}{}, \"checksum\": \"{:016x}\",\n{}}}\n", kMagic, kVersion, HashString(body),
                     body);
}

Features ParseFitted(const FileSystem& fs, std::string_view text, const std::string& path,
                     const FeatureOptions& options) {
  constexpr size_t kMost = size_t{1} << 30;
  if (text.size() > kMost)
    Fail(ErrorCode::kStorage, "{}: {} bytes are too many for fitted features", path, text.size());
  JsonDocument document;
  if (!document.Parse(text)) {
    Fail(ErrorCode::kStorage, "{}: this file of fitted features is damaged: byte {}: {}", path,
         document.error_offset() + 1, document.error());
  }
  Cursor cursor(document, path);
  cursor.Node(JsonKind::kObject, "no object");
  cursor.Name("catamaran_features");
  const double version = cursor.Number("the version");
  if (version != kVersion) {
    Fail(ErrorCode::kStorage, "{}: fitted features of version {}; this program knows version {}",
         path, version, kVersion);
  }
  cursor.Name("checksum");
  const std::string checksum = cursor.Text("the checksum");
  const size_t body = text.find('\n');
  const size_t end = text.rfind('}');
  if (body == std::string_view::npos || body > end ||
      checksum != fmt::format("{:016x}", HashString(text.substr(body + 1, end - body - 1)))) {
    Fail(ErrorCode::kStorage,
         "{}: the checksum is wrong: the file was changed by hand or is damaged; fit again", path);
  }
  cursor.Name("source");
  std::string source;
  for (const std::string& line : cursor.Texts("the source")) source += line + "\n";
  cursor.Name("columns");
  std::string columns;
  for (const std::string& column : cursor.Texts("the columns")) columns += column + "\n";
  cursor.Name("fitted");
  auto fitted = std::make_shared<FittedValues>();
  cursor.List("what was fitted", [&] {
    const uint32_t members = cursor.Node(JsonKind::kObject, "what was fitted").count;
    cursor.Name("call");
    FittedValue& value = (*fitted)[cursor.Text("a call")];
    cursor.Name("numbers");
    cursor.List("numbers", [&] { value.numbers.push_back(cursor.Number("a number")); });
    if (members == 2) return;
    cursor.Name("texts");
    value.texts = cursor.Texts("texts");
  });
  cursor.Name("files");
  std::map<std::string, std::shared_ptr<const SideFile>> files;
  cursor.List("files", [&] { files.insert(ReadFile(cursor, path)); });
  return MakeFeatures(fs, source, path, options,
                      {std::move(fitted), std::move(files), Schema::Parse(columns, path)});
}

}  // namespace catamaran
