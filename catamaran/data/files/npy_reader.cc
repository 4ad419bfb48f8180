#include "catamaran/data/files/npy_reader.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/data/files/array_reader.h"
#include "catamaran/data/files/zip.h"
#include "catamaran/data/npy.h"

namespace catamaran {

namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;

StoredType NpyType(DType dtype, const std::string& path) {
  switch (dtype) {
    case DType::kF64:
      return StoredType::kF64;
    case DType::kF32:
      return StoredType::kF32;
    case DType::kF16:
      return StoredType::kF16;
    case DType::kI8:
      return StoredType::kI8;
    case DType::kU8:
      return StoredType::kU8;
    case DType::kI32:
      return StoredType::kI32;
    case DType::kI64:
      return StoredType::kI64;
    case DType::kU64:
      return StoredType::kU64;
    case DType::kBool:
      return StoredType::kBool;
    default:
      Fail(ErrorCode::kBadData, "{}: no column holds elements of {}", path, Name(dtype));
  }
}

// Bytes in memory.
class TensorStream final : public ByteStream {
 public:
  TensorStream(Tensor tensor, std::string path)
      : tensor_(std::move(tensor)), path_(std::move(path)) {}

  size_t Read(std::span<char> out) override {
    const size_t got = std::min<uint64_t>(out.size(), tensor_.num_bytes() - offset_);
    if (got > 0)
      std::memcpy(out.data(), static_cast<const char*>(tensor_.raw_data()) + offset_, got);
    offset_ += got;
    return got;
  }
  void Seek(uint64_t offset) override {
    CATAMARAN_CHECK(offset <= tensor_.num_bytes());
    offset_ = offset;
  }
  uint64_t offset() const override { return offset_; }
  const std::string& path() const override { return path_; }
  bool random_access() const override { return true; }

 private:
  const Tensor tensor_;
  const std::string path_;
  uint64_t offset_ = 0;
};

// The elements, which begin where the stream is and go to its end, in our order.
Tensor ReadFortranOrder(ByteStream& stream, const NpyHeader& header) {
  int64_t wanted = 0;
  try {
    if (__builtin_mul_overflow(header.shape.num_elements(),
                               static_cast<int64_t>(SizeOf(header.dtype)), &wanted)) {
      wanted = -1;
    }
  } catch (const Error&) {
    wanted = -1;
  }
  // Memory grows with what is there, not with what the header says.
  std::string bytes;
  size_t filled = 0, got = 0;
  do {
    filled += got;
    if (bytes.size() - filled < kPieceBytes) bytes.resize(std::max(2 * filled, 2 * kPieceBytes));
    got = stream.Read({bytes.data() + filled, bytes.size() - filled});
  } while (got > 0);
  if (wanted < 0 || filled != static_cast<uint64_t>(wanted)) {
    Fail(ErrorCode::kBadData, "{}: {}{} does not take the {} bytes that follow the header",
         stream.path(), Name(header.dtype), header.shape.ToString(), filled);
  }
  Tensor stored = Tensor::Allocate(header.dtype, header.shape);
  if (filled > 0) std::memcpy(stored.mutable_raw_data(), bytes.data(), filled);
  return FromFortranOrder(stored);
}

}  // namespace

StoredArray OpenNpyArray(std::unique_ptr<ByteStream> stream, std::string name) {
  const std::string& path = stream->path();
  std::string start(12 + kMaxNpyHeader, '\0');
  size_t filled = 0;
  while (filled < start.size()) {
    const size_t got = stream->Read({start.data() + filled, start.size() - filled});
    if (got == 0) break;
    filled += got;
  }
  start.resize(filled);
  const NpyHeader header = ParseNpyHeader(start, path);
  if (header.shape.rank() == 0) {
    Fail(ErrorCode::kBadData, "{}: is a single number; rows need an array with a first axis", path);
  }
  StoredArray array;
  array.type = NpyType(header.dtype, path);
  array.rows = header.shape[0];
  const std::vector<int64_t> dims(header.shape.begin() + 1, header.shape.end());
  array.row_shape = Shape(dims);
  array.name = std::move(name);
  array.data_offset = header.data_offset;
  array.stream = std::move(stream);
  array.stream->Seek(array.data_offset);
  if (header.fortran_order && header.shape.rank() > 1) {
    Tensor rows = ReadFortranOrder(*array.stream, header);
    array.stream = std::make_unique<TensorStream>(std::move(rows), array.stream->path());
    array.data_offset = 0;
  }
  return array;
}

std::unique_ptr<RowReader> OpenNpy(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options) {
  std::vector<StoredArray> arrays;
  arrays.push_back(OpenNpyArray(OpenByteStream(fs, path), "x"));
  return MakeArrayReader("npy", path, std::move(arrays), options);
}

std::unique_ptr<RowReader> OpenNpz(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options) {
  const ZipArchive archive(fs, path);
  std::vector<StoredArray> arrays;
  for (const ZipEntry& entry : archive.entries()) {
    constexpr std::string_view kEnding = ".npy";
    if (!entry.name.ends_with(kEnding)) {
      Fail(ErrorCode::kBadData, "{}: '{}' is no array: an .npz holds .npy files", path, entry.name);
    }
    const std::string name = entry.name.substr(0, entry.name.size() - kEnding.size());
    if (!options.columns.empty() && !options.schema &&
        std::ranges::find(options.columns, name) == options.columns.end()) {
      continue;
    }
    arrays.push_back(OpenNpyArray(archive.Open(entry), name));
  }
  for (const std::string& name : options.columns) {
    const bool found = options.schema || std::ranges::any_of(arrays, [&](const auto& array) {
                         return array.name == name;
                       });
    if (!found) Fail("{}: has no array '{}'", path, name);
  }
  return MakeArrayReader("npz", path, std::move(arrays), options);
}

DataFormat NpyFormat() {
  return {.name = "npy",
          .matches =
              [](std::string_view path, std::string_view start) {
                return start.starts_with("\x93NUMPY") || path.ends_with(".npy") ||
                       path.ends_with(".npy.gz");
              },
          .open = OpenNpy};
}

DataFormat NpzFormat() {
  return {.name = "npz",
          .matches = [](std::string_view path, std::string_view) { return path.ends_with(".npz"); },
          .open = OpenNpz};
}

}  // namespace catamaran
