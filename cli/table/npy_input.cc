// Rows from .npy files.

#include <cmath>
#include <vector>

#include "catamaran/data/npy.h"
#include "cli/session.h"
#include "cli/table/row_input.h"

namespace catamaran::cli {
namespace {

// One tensor, read piece by piece.
class NpyReader {
 public:
  NpyReader(const FileSystem& fs, const std::string& path)
      : file_(Outside([&] { return fs.OpenRead(path); })) {
    std::string start(std::min<uint64_t>(file_->size(), 12 + kMaxNpyHeader), '\0');
    file_->ReadExactly(0, std::as_writable_bytes(std::span(start)));
    header_ = ParseNpyHeader(start, path);
    const uint64_t there = file_->size() - header_.data_offset;
    const uint64_t wanted =
        static_cast<uint64_t>(header_.shape.num_elements()) * SizeOf(header_.dtype);
    if (there != wanted) {
      Fail("{}: {}: {}{} takes {} bytes, but {} follow the header", path,
           there < wanted ? "cut off" : "too long", Name(header_.dtype), header_.shape.ToString(),
           wanted, there);
    }
    if (header_.fortran_order && header_.shape.rank() > 1) {
      Fail("{}: it is in Fortran order; save numpy.ascontiguousarray of it", path);
    }
  }

  DType dtype() const { return header_.dtype; }
  const Shape& shape() const { return header_.shape; }
  const std::string& path() const { return file_->path(); }
  std::string TypeText() const {
    return fmt::format("{}{}", Name(header_.dtype), header_.shape.ToString());
  }

  // Elements [first, first + out.size()).
  template <class T>
  void Read(int64_t first, std::span<T> out) const {
    file_->ReadExactly(header_.data_offset + static_cast<uint64_t>(first) * sizeof(T),
                       std::as_writable_bytes(out));
  }

 private:
  const std::unique_ptr<RandomReadFile> file_;
  NpyHeader header_;
};

}  // namespace

void ReadNpyRows(const FileSystem& fs, const std::string& path, const std::string& keys_path,
                 int64_t width, Progress& progress, RowVisit visit) {
  const NpyReader values(fs, path), keys(fs, keys_path);
  const Shape& shape = values.shape();
  const bool fits = values.dtype() == DType::kF32 &&
                    ((shape.rank() == 2 && shape[1] == width) || (shape.rank() == 1 && width == 1));
  if (!fits) Fail("{}: wanted f32[N, {}]; found {}", path, width, values.TypeText());
  const int64_t rows = shape[0];
  const bool keys_fit = (keys.dtype() == DType::kU64 || keys.dtype() == DType::kI64) &&
                        keys.shape().rank() == 1 && keys.shape()[0] == rows;
  if (!keys_fit) Fail("{}: wanted u64[{}]; found {}", keys_path, rows, keys.TypeText());

  constexpr int64_t kRowsAtOnce = 4096;
  const size_t columns = static_cast<size_t>(width);
  std::vector<float> block;
  std::vector<uint64_t> block_keys;
  std::string where;
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const size_t count = static_cast<size_t>(std::min(kRowsAtOnce, rows - first));
    block.resize(count * columns);
    block_keys.resize(count);
    values.Read<float>(first * width, block);
    keys.Read<uint64_t>(first, block_keys);
    for (size_t i = 0; i < count; ++i) {
      InputRow row;
      where = fmt::format("{}: row {}", path, first + static_cast<int64_t>(i));
      row.where = where;
      row.key = block_keys[i];
      row.values = std::span(block).subspan(i * columns, columns);
      for (size_t c = 0; c < columns; ++c) {
        if (!std::isfinite(row.values[c])) {
          Fail("{}: column {} is {}, not a finite number", where, c, row.values[c]);
        }
      }
      visit(row);
    }
    progress.Show(static_cast<double>(first) / static_cast<double>(rows));
  }
}

}  // namespace catamaran::cli
