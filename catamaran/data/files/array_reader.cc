#include "catamaran/data/files/array_reader.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/part_rows.h"

namespace catamaran {

namespace {

// However many rows are asked for, a block takes no more of the streams than this at once.
constexpr uint64_t kMaxBlockBytes = uint64_t{64} << 20;

class ArrayReader final : public RowReader {
 public:
  ArrayReader(std::string_view kind, std::string path, std::vector<StoredArray> arrays,
              const ReaderOptions& options)
      : kind_(kind), path_(std::move(path)) {
    if (arrays.empty()) Fail(ErrorCode::kBadData, "{}: holds no array", path_);
    rows_ = arrays[0].rows;
    std::vector<Column> columns;
    for (const StoredArray& array : arrays) {
      if (array.rows != rows_) {
        Fail(ErrorCode::kBadData, "{}: '{}' has {} rows, but '{}' has {}", path_, array.name,
             array.rows, arrays[0].name, rows_);
      }
      columns.push_back(array.column());
    }
    const Schema all = Named(MakeSchema(std::move(columns)), options.schema);
    schema_ = ChooseColumns(all, options, path_);
    for (const Column& column : schema_) {
      arrays_.push_back(std::move(arrays[static_cast<size_t>(all.Find(column.name))]));
      row_bytes_ += arrays_.back().row_bytes();
      int64_t bytes = 0;
      if (__builtin_mul_overflow(rows_, arrays_.back().row_bytes(), &bytes)) {
        Fail(ErrorCode::kBadData, "{}: {} rows of {} do not fit in 63 bits", path_, rows_,
             column.KindText());
      }
    }
    SeekRow(0);
  }

  const Schema& schema() const override { return schema_; }

  bool Read(int64_t max_rows, RowBlock& block) override {
    CATAMARAN_CHECK(max_rows > 0);
    block.Begin(schema_);
    const auto fit = static_cast<int64_t>(std::max<uint64_t>(kMaxBlockBytes / row_bytes_, 1));
    const int64_t count = std::min({max_rows, rows_ - next_, fit});
    if (count == 0) {
      FinishStreams();
      return false;
    }
    for (size_t i = 0; i < arrays_.size(); ++i) {
      StoredArray& array = arrays_[i];
      if (array.stream->offset() != Offset(array, next_)) array.stream->Seek(Offset(array, next_));
      AppendRows(array, next_, count, block[static_cast<int>(i)]);
    }
    given_ = next_;
    next_ += count;
    block.SetRows(count);
    return true;
  }

  Position position() const override {
    PositionWriter out(kind_);
    out.Put(next_);
    out.Put(rows_);
    return out.Take();
  }

  void Seek(const Position& position) override {
    int64_t row = 0;
    if (!position.bytes.empty()) {
      PositionReader in(position, kind_, path_);
      row = in.GetInt();
      const int64_t rows = in.GetInt();
      in.End();
      if (rows != rows_) {
        Fail("{}: the position is one in {} rows; here there are {}", path_, rows, rows_);
      }
    }
    SeekRow(row);
  }

  std::optional<int64_t> num_rows() const override { return rows_; }

  void SeekRow(int64_t row) override {
    if (row < 0 || row > rows_) Fail("{}: there is no row {}; it has {}", path_, row, rows_);
    next_ = row;
  }

  int64_t num_parts() const override {
    for (const StoredArray& array : arrays_) {
      if (!array.stream->random_access()) return 0;
    }
    return (rows_ + part_rows() - 1) / part_rows();
  }

  void ReadPart(int64_t part, RowBlock& block) override {
    SeekRow(part * part_rows());
    Read(part_rows(), block);
    if (next_ == rows_) FinishStreams();
  }

  RowPlaces places() const override { return {.file = path_, .first_row = given_}; }

 private:
  // REQUIRES: a part is no more than what Read gives at once.
  int64_t part_rows() const { return PartRows(schema_); }

  Schema MakeSchema(std::vector<Column> columns) const {
    try {
      return Schema(std::move(columns));
    } catch (const Error& error) {
      Fail(error.code(), "{}: its arrays make no columns: {}", path_, error.what());
    }
  }

  // The columns under the names of `wanted`, which must be the same otherwise.
  Schema Named(const Schema& found, const std::optional<Schema>& wanted) const {
    if (!wanted) return found;
    std::vector<Column> renamed = found.columns();
    for (size_t i = 0; i < renamed.size() && i < wanted->columns().size(); ++i) {
      renamed[i].name = wanted->columns()[i].name;
    }
    const std::string difference = Difference(*wanted, MakeSchema(std::move(renamed)));
    if (!difference.empty()) Fail("{}: {}", path_, difference);
    return *wanted;
  }

  static uint64_t Offset(const StoredArray& array, int64_t row) {
    return array.data_offset + static_cast<uint64_t>(row) * array.row_bytes();
  }

  // Nothing may follow the last row; and streams check themselves at their end.
  void FinishStreams() {
    for (StoredArray& array : arrays_) {
      char more = 0;
      if (array.stream->offset() == Offset(array, rows_) && array.stream->Read({&more, 1}) > 0) {
        Fail(ErrorCode::kBadData, "{}: too long: it goes on after its {} rows",
             array.stream->path(), rows_);
      }
    }
  }

  const std::string_view kind_;
  const std::string path_;
  Schema schema_;
  std::vector<StoredArray> arrays_;
  uint64_t row_bytes_ = 0;
  int64_t rows_ = 0;
  int64_t next_ = 0;
  int64_t given_ = 0;  // the first of those that were read last
};

}  // namespace

std::unique_ptr<RowReader> MakeArrayReader(std::string_view kind, std::string path,
                                           std::vector<StoredArray> arrays,
                                           const ReaderOptions& options) {
  return std::make_unique<ArrayReader>(kind, std::move(path), std::move(arrays), options);
}

}  // namespace catamaran
