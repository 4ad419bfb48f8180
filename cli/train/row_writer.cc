#include "cli/train/row_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "catamaran/data/npy.h"
#include "catamaran/data/records/record_writer.h"
#include "cli/data/row_text.h"
#include "cli/output_file.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

class JsonWriter final : public RowWriter {
 public:
  JsonWriter(FileSystem& fs, const std::string& path) : file_(fs, path) {}

  void Add(const RowBlock& rows) override {
    for (int64_t r = 0; r < rows.rows(); ++r) {
      Json row = Json::object();
      for (int c = 0; c < rows.schema().size(); ++c) {
        row[rows.schema()[c].name] = ValueJson(rows.schema()[c], rows[c], r);
      }
      file_.Append(row.dump(-1, ' ', false, Json::error_handler_t::replace));
      file_.Append("\n");
    }
  }
  void Finish() override { file_.Keep(); }

 private:
  OutputFile file_;
};

class SeparatedWriter final : public RowWriter {
 public:
  SeparatedWriter(FileSystem& fs, const std::string& path, char separator)
      : file_(fs, path), separator_(separator) {}

  void Add(const RowBlock& rows) override {
    if (!has_header_) Header(rows.schema());
    for (int64_t r = 0; r < rows.rows(); ++r) {
      line_.clear();
      for (int c = 0; c < rows.schema().size(); ++c) Values(rows.schema()[c], rows[c], r);
      End();
    }
  }
  void Finish() override { file_.Keep(); }

 private:
  void Header(const Schema& schema) {
    has_header_ = true;
    line_.clear();
    for (const Column& column : schema) {
      const int64_t width = column.kind == ColumnKind::kDense ? column.width() : 1;
      for (int64_t i = 0; i < width; ++i) {
        Field(width == 1 && column.shape.rank() == 0 ? column.name
                                                     : fmt::format("{}_{}", column.name, i));
      }
    }
    End();
  }

  void Values(const Column& column, const ColumnBlock& block, int64_t row) {
    if (column.kind == ColumnKind::kString) {
      Field(block.text(row));
      return;
    }
    if (column.kind == ColumnKind::kDense) {
      for (int64_t i = row * column.width(); i < (row + 1) * column.width(); ++i) {
        const auto at = static_cast<size_t>(i);
        if (column.dtype == DType::kI64) {
          Field(fmt::format("{}", block.ints[at]));
        } else if (column.dtype == DType::kU8) {
          Field(fmt::format("{}", block.bytes[at]));
        } else {
          Field(std::isnan(block.floats[at]) ? "" : fmt::format("{}", block.floats[at]));
        }
      }
      return;
    }
    std::string list;
    const auto ids = block.ids(row);
    for (size_t i = 0; i < ids.size(); ++i) {
      list += fmt::format("{}{}", i == 0 ? "" : " ", ids[i]);
      if (column.kind == ColumnKind::kWeightedIds)
        list += fmt::format(":{}", block.weights(row)[i]);
    }
    Field(list);
  }

  void Field(std::string_view text) {
    if (!line_.empty()) line_ += separator_;
    const bool quoted = text.find_first_of("\"\r\n") != text.npos ||
                        text.find(separator_) != text.npos || (text.empty() && line_.empty());
    if (!quoted) {
      line_ += text;
      return;
    }
    line_ += '"';
    for (const char c : text) {
      if (c == '"') line_ += '"';
      line_ += c;
    }
    line_ += '"';
  }

  void End() {
    line_ += '\n';
    file_.Append(line_);
  }

  OutputFile file_;
  const char separator_;
  bool has_header_ = false;
  std::string line_;
};

class RecordsWriter final : public RowWriter {
 public:
  RecordsWriter(FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  void Add(const RowBlock& rows) override {
    Outside([&] {
      if (!writer_) writer_ = std::make_unique<RecordWriter>(fs_, path_, rows.schema());
      writer_->Add(rows);
    });
  }
  void Finish() override {
    Outside([&] { writer_->Finish(); });
  }

 private:
  FileSystem& fs_;
  const std::string path_;
  std::unique_ptr<RecordWriter> writer_;
};

class NpyWriter final : public RowWriter {
 public:
  NpyWriter(FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  void Add(const RowBlock& rows) override {
    if (rows.schema().size() != 1 || rows.schema()[0].kind != ColumnKind::kDense) {
      Fail("{}: a .npy file holds one column of numbers; found {}. Write .rec, .jsonl or .csv",
           path_, rows.schema().ToString());
    }
    if (all_.schema().size() == 0) all_.Begin(rows.schema());
    all_.AppendRows(rows, 0, rows.rows());
  }
  void Finish() override {
    const Column& column = all_.schema()[0];
    Shape shape = {all_.rows()};
    for (const int64_t dim : column.shape.dims()) shape.Append(dim);
    ColumnBlock& block = all_[0];
    void* data = column.dtype == DType::kF32   ? static_cast<void*>(block.floats.data())
                 : column.dtype == DType::kI64 ? static_cast<void*>(block.ints.data())
                                               : static_cast<void*>(block.bytes.data());
    const Tensor tensor = Tensor::Wrap(data, column.dtype, shape);
    Outside([&] { WriteNpy(fs_, path_, tensor); });
  }

 private:
  FileSystem& fs_;
  const std::string path_;
  RowBlock all_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeRowWriter(FileSystem& fs, const std::string& path) {
  if (path.ends_with(".jsonl")) return std::make_unique<JsonWriter>(fs, path);
  if (path.ends_with(".csv")) return std::make_unique<SeparatedWriter>(fs, path, ',');
  if (path.ends_with(".tsv")) return std::make_unique<SeparatedWriter>(fs, path, '\t');
  if (path.ends_with(".rec")) return std::make_unique<RecordsWriter>(fs, path);
  if (path.ends_with(".npy")) return std::make_unique<NpyWriter>(fs, path);
  throw CommandError(kUsage, fmt::format("{}: wanted a name that ends in .jsonl, .csv, .tsv, .rec "
                                         "or .npy",
                                         path));
}

}  // namespace catamaran::cli
