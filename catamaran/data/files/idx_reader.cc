#include "catamaran/data/files/idx_reader.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/data/files/array_reader.h"

namespace catamaran {

namespace {

std::optional<StoredType> IdxType(uint8_t code) {
  switch (code) {
    case 0x08:
      return StoredType::kU8;
    case 0x09:
      return StoredType::kI8;
    case 0x0b:
      return StoredType::kI16;
    case 0x0c:
      return StoredType::kI32;
    case 0x0d:
      return StoredType::kF32;
    case 0x0e:
      return StoredType::kF64;
    default:
      return std::nullopt;
  }
}

void ReadHeader(ByteStream& stream, std::span<char> out) {
  while (!out.empty()) {
    const size_t got = stream.Read(out);
    if (got == 0)
      Fail(ErrorCode::kStorage, "{}: cut off: it ends within the IDX header", stream.path());
    out = out.subspan(got);
  }
}

// The path of the labels that belong to a path of images; empty if it does not look like one.
std::string LabelsOf(const std::string& images) {
  constexpr std::string_view kImages = "images-idx3-ubyte", kLabels = "labels-idx1-ubyte";
  const size_t at = images.rfind(kImages);
  if (at == std::string::npos) return "";
  return images.substr(0, at) + std::string(kLabels) + images.substr(at + kImages.size());
}

bool Matches(std::string_view path, std::string_view start) {
  const bool magic = start.size() >= 4 && start[0] == 0 && start[1] == 0 &&
                     IdxType(static_cast<uint8_t>(start[2])) && start[3] >= 1 &&
                     start[3] <= static_cast<char>(kMaxRank);
  return magic || path.ends_with("-ubyte.gz") || path.ends_with(".idx.gz");
}

}  // namespace

StoredArray OpenIdxArray(const FileSystem& fs, const std::string& path) {
  StoredArray array;
  array.stream = OpenByteStream(fs, path);
  std::array<char, 4> magic{};
  ReadHeader(*array.stream, magic);
  const auto type = IdxType(static_cast<uint8_t>(magic[2]));
  const auto axes = static_cast<uint8_t>(magic[3]);
  if (magic[0] != 0 || magic[1] != 0 || !type || axes == 0) {
    Fail(ErrorCode::kBadData, "{}: not an IDX file: it begins with other bytes", path);
  }
  if (axes > kMaxRank)
    Fail(ErrorCode::kBadData, "{}: has {} axes; the most is {}", path, axes, kMaxRank);
  std::vector<char> sizes(size_t{4} * axes);
  ReadHeader(*array.stream, sizes);
  std::vector<int64_t> dims;
  for (size_t i = 0; i < axes; ++i) {
    uint32_t size = 0;
    for (size_t byte = 0; byte < 4; ++byte) {
      size = size << 8 | static_cast<uint8_t>(sizes[4 * i + byte]);
    }
    dims.push_back(size);
  }
  array.type = *type;
  array.big_endian = true;
  array.rows = dims[0];
  array.row_shape = Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
  array.name = axes > 1 ? "image" : "label";
  array.data_offset = 4 + sizes.size();
  return array;
}

std::unique_ptr<RowReader> OpenIdx(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options) {
  std::vector<StoredArray> arrays;
  arrays.push_back(OpenIdxArray(fs, path));
  const std::string labels = LabelsOf(path);
  if (!labels.empty() && fs.Exists(labels)) arrays.push_back(OpenIdxArray(fs, labels));
  return MakeArrayReader("idx", path, std::move(arrays), options);
}

DataFormat IdxFormat() { return {.name = "idx", .matches = Matches, .open = OpenIdx}; }

}  // namespace catamaran
