// cli/table/row_output.cc

#include "cli/table/row_output.h"

#include "catamaran/data/npy.h"

namespace catamaran::cli {
namespace {

constexpr std::string_view kNpy = ".npy";

// A name between quotes where it needs them.
std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

class CsvOutput final : public RowOutput {
 public:
  CsvOutput(FileSystem& fs, const std::string& path, const TableRows& table, bool metadata)
      : table_(table),
        metadata_(metadata),
        row_(static_cast<size_t>(table.config().width)),
        file_(fs, path) {
    line_ = "key";
    for (size_t i = 0; i < row_.size(); ++i) line_ += fmt::format(",e{}", i);
    if (metadata_) line_ += ",feature,shows,clicks,last_seen,updates,score";
    line_ += '\n';
    file_.Append(line_);
  }

  void Add(uint64_t id, RowClass c, const uint32_t* record) override {
    table_.Read(c, record, row_.data());
    line_.clear();
    auto out = std::back_inserter(line_);
    fmt::format_to(out, "{}", id);
    const int columns = table_.saved().newest().layout().of(c).columns;
    for (int i = 0; i < static_cast<int>(row_.size()); ++i) {
      line_ += ',';
      if (i < columns) fmt::format_to(out, "{}", row_[static_cast<size_t>(i)]);
    }
    if (metadata_) AddMetadata(record);
    line_ += '\n';
    file_.Append(line_);
  }

  void Finish() override { file_.Keep(); }

 private:
  void AddMetadata(const uint32_t* record) {
    const std::vector<std::string>& names = table_.config().features;
    const uint32_t feature = RecordFeature(record);
    const uint32_t seen = record[row_words::kLastSeen];
    fmt::format_to(
        std::back_inserter(line_), ",{},{},{},{},{},{}",
        feature == 0 || feature > names.size() ? "" : CsvText(names[feature - 1]),
        RecordFloat(record, row_words::kShow), RecordFloat(record, row_words::kClick), seen,
        table_.rules().layout().counts_updates ? std::to_string(record[row_words::kUpdates]) : "",
        table_.rules().Score(record, std::max(seen, table_.now())));
  }

  const TableRows& table_;
  const bool metadata_;
  std::vector<float> row_;
  std::string line_;
  OutputFile file_;
};

class NpyOutput final : public RowOutput {
 public:
  NpyOutput(FileSystem& fs, const std::string& path, const TableRows& table, int64_t rows)
      : table_(table),
        wanted_(rows),
        row_(static_cast<size_t>(table.config().width)),
        values_(fs, path),
        keys_(fs, KeysPathOf(path)) {
    values_.Append(FormatNpyHeader(DType::kF32, Shape{rows, table.config().width}));
    keys_.Append(FormatNpyHeader(DType::kU64, Shape{rows}));
  }

  void Add(uint64_t id, RowClass c, const uint32_t* record) override {
    table_.Read(c, record, row_.data());
    values_.Append({reinterpret_cast<const char*>(row_.data()), row_.size() * sizeof(float)});
    keys_.Append({reinterpret_cast<const char*>(&id), sizeof(id)});
    ++found_;
  }

  void Finish() override {
    if (found_ != wanted_) {
      Fail("{}: {} rows were counted, and {} found", table_.saved().where, wanted_, found_);
    }
    keys_.Keep();
    values_.Keep();
  }

 private:
  const TableRows& table_;
  const int64_t wanted_;
  int64_t found_ = 0;
  std::vector<float> row_;
  OutputFile values_, keys_;
};

}  // namespace

std::unique_ptr<RowOutput> MakeCsvOutput(FileSystem& fs, const std::string& path,
                                         const TableRows& table, bool metadata) {
  return std::make_unique<CsvOutput>(fs, path, table, metadata);
}

std::unique_ptr<RowOutput> MakeNpyOutput(FileSystem& fs, const std::string& path,
                                         const TableRows& table, int64_t rows) {
  return std::make_unique<NpyOutput>(fs, path, table, rows);
}

std::string KeysPathOf(const std::string& npy_path) {
  const std::string_view stem = std::string_view(npy_path).substr(0, npy_path.size() - kNpy.size());
  return fmt::format("{}.keys{}", stem, kNpy);
}

}  // namespace catamaran::cli
