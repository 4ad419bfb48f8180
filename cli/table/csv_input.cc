// Rows from CSV files.

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "cli/table/commands.h"
#include "cli/table/row_input.h"

namespace catamaran::cli {
namespace {

// The lines of a file, one after another, without their ends.
class LineReader {
 public:
  LineReader(const FileSystem& fs, const std::string& path)
      : file_(Outside([&] { return fs.OpenRead(path); })), buffer_(kBufferBytes, '\0') {}

  // False at the end of the file. The line is good until the next call.
  bool Next(std::string_view* line) {
    line_.clear();
    while (true) {
      const std::string_view rest = std::string_view(buffer_).substr(at_, end_ - at_);
      const size_t feed = rest.find('\n');
      line_ += rest.substr(0, feed);
      if (feed != rest.npos) {
        at_ += feed + 1;
        break;
      }
      at_ = end_ = 0;
      end_ = Outside([&] {
        return file_->Read(offset_,
                           std::as_writable_bytes(std::span(buffer_.data(), kBufferBytes)));
      });
      offset_ += end_;
      if (end_ == 0) {
        if (line_.empty()) return false;
        break;
      }
      if (line_.size() > kLongestLine)
        Fail("{}: a line has more than {} bytes", file_->path(), kLongestLine);
    }
    ++number_;
    if (line_.ends_with('\r')) line_.pop_back();
    *line = line_;
    return true;
  }

  int64_t number() const { return number_; }
  double part() const {
    return file_->size() == 0 ? 1
                              : static_cast<double>(offset_) / static_cast<double>(file_->size());
  }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static constexpr size_t kLongestLine = size_t{1} << 20;
  const std::unique_ptr<RandomReadFile> file_;
  std::string buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0;
  std::string line_;
  int64_t number_ = 0;
};

// Takes a line apart. A field may stand between quotes, with "" for one.
void Split(std::string_view line, const std::string& where, std::vector<std::string>* fields) {
  fields->clear();
  size_t at = 0;
  while (true) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) Fail("{}: a quote is not closed", where);
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += line[at++];
        } else {
          ++at;
          break;
        }
      }
      if (at < line.size() && line[at] != ',') Fail("{}: text follows a closing quote", where);
    } else {
      const size_t comma = std::min(line.find(',', at), line.size());
      field = line.substr(at, comma - at);
      at = comma;
    }
    fields->push_back(std::move(field));
    if (at >= line.size()) return;
    ++at;
  }
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

template <class T>
T ParseNumber(std::string_view field, std::string_view column, const std::string& where) {
  const std::string_view text = Trimmed(field);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool good = error == std::errc() && end == text.data() + text.size();
  if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
  if (!good) Fail("{}: {} is '{}', not a number that fits", where, column, field);
  return value;
}

enum Meta { kFeature, kShows, kClicks, kLastSeen, kUpdates, kScore, kMetas };
constexpr std::string_view kMetaNames[kMetas] = {"feature",   "shows",   "clicks",
                                                 "last_seen", "updates", "score"};

// Which field is what.
struct Columns {
  static constexpr size_t kNone = SIZE_MAX;
  size_t key = 0;
  std::vector<size_t> values;
  std::array<size_t, kMetas> meta;
  size_t count = 0;

  // Without names: the key, then the numbers.
  explicit Columns(int64_t width) : count(static_cast<size_t>(width) + 1) {
    for (size_t i = 1; i < count; ++i) values.push_back(i);
    meta.fill(kNone);
  }

  Columns(const std::vector<std::string>& names, int64_t width, const std::string& where)
      : key(kNone), values(static_cast<size_t>(width), kNone), count(names.size()) {
    meta.fill(kNone);
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = Trimmed(names[i]);
      size_t* place = Find(name);
      if (place == nullptr) {
        Fail("{}: unknown column '{}'; wanted key, e0 to e{}, {}", where, name, width - 1,
             fmt::join(kMetaNames, ", "));
      }
      if (*place != kNone) Fail("{}: column '{}' is there twice", where, name);
      *place = i;
    }
    if (key == kNone) Fail("{}: there is no column 'key'", where);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == kNone) {
        Fail("{}: there is no column 'e{}'; rows of the table have {} numbers", where, i, width);
      }
    }
  }

  size_t* Find(std::string_view name) {
    if (name == "key") return &key;
    for (size_t i = 0; i < kMetas; ++i) {
      if (name == kMetaNames[i]) return &meta[i];
    }
    size_t column = 0;
    if (!name.starts_with('e')) return nullptr;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), column);
    const bool good = error == std::errc() && end == name.data() + name.size();
    return good && column < values.size() ? &values[column] : nullptr;
  }
};

class CsvRow {
 public:
  CsvRow(const Columns& columns, const std::vector<std::string>& fields, const std::string& where)
      : columns_(columns), fields_(fields), where_(where) {}

  InputRow Read(std::vector<float>* values) const {
    if (fields_.size() != columns_.count) {
      Fail("{}: found {} fields, wanted {}", where_, fields_.size(), columns_.count);
    }
    InputRow row;
    row.where = where_;
    row.key = ParseKey(Trimmed(fields_[columns_.key]), where_);
    values->clear();
    bool ended = false;
    for (size_t i = 0; i < columns_.values.size(); ++i) {
      const std::string& field = fields_[columns_.values[i]];
      const std::string name = fmt::format("e{}", i);
      if (Trimmed(field).empty()) {
        if (i != 1 && !ended) Fail("{}: {} is empty", where_, name);
        ended = true;
      } else if (ended) {
        Fail("{}: {} is there and e1 is not; a row has one number or all", where_, name);
      } else {
        values->push_back(ParseNumber<float>(field, name, where_));
      }
    }
    row.values = *values;
    if (Has(kFeature)) row.feature = fields_[columns_.meta[kFeature]];
    if (Has(kShows)) row.shows = Number<float>(kShows);
    if (Has(kClicks)) row.clicks = Number<float>(kClicks);
    if (Has(kLastSeen)) row.last_seen = Number<uint32_t>(kLastSeen);
    if (Has(kUpdates) && !Trimmed(fields_[columns_.meta[kUpdates]]).empty()) {
      row.updates = Number<uint32_t>(kUpdates);
    }
    return row;
  }

 private:
  bool Has(Meta meta) const { return columns_.meta[meta] != Columns::kNone; }
  template <class T>
  T Number(Meta meta) const {
    return ParseNumber<T>(fields_[columns_.meta[meta]], kMetaNames[meta], where_);
  }

  const Columns& columns_;
  const std::vector<std::string>& fields_;
  const std::string& where_;
};

}  // namespace

void ReadCsvRows(const FileSystem& fs, const std::string& path, int64_t width, Progress& progress,
                 RowVisit visit) {
  LineReader lines(fs, path);
  std::string_view line;
  std::vector<std::string> fields;
  std::vector<float> values;
  std::optional<Columns> columns;
  std::string where;
  while (lines.Next(&line)) {
    if (lines.number() == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (Trimmed(line).empty()) continue;
    where = fmt::format("{}:{}", path, lines.number());
    Split(line, where, &fields);
    if (!columns) {
      const std::string_view first = Trimmed(fields[0]);
      if (!first.empty() && std::isalpha(static_cast<unsigned char>(first[0]))) {
        columns.emplace(fields, width, where);
        continue;
      }
      columns.emplace(width);
    }
    visit(CsvRow(*columns, fields, where).Read(&values));
    progress.Show(lines.part());
  }
}

}  // namespace catamaran::cli
