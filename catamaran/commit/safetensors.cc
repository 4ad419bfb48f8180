// commit/safetensors.cc

#include "catamaran/commit/safetensors.h"

#include <bit>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/commit/safetensors_header.h"

namespace catamaran {

static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of other readers too
constexpr uint64_t kLengthBytes = 8;

// All that stands before the elements.
std::string FileStart(const std::string& path, std::span<const NamedTensor> tensors,
                      const SafetensorsMetadata& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t end = offset + tensor.num_bytes();
    header.entries.push_back({name, tensor.dtype(), tensor.shape(), offset, end});
    offset = end;
  }
  std::string json = FormatSafetensorsHeader(header, path);
  json.append((8 - json.size() % 8) % 8, ' ');  // the data begins at a multiple of 8
  if (json.size() > kMaxHeaderBytes) {
    Fail("{}: the header would have {} bytes, the most is {}", path, json.size(), kMaxHeaderBytes);
  }
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + json;
}

}  // namespace

const Tensor* SafetensorsFile::Find(std::string_view name) const {
  for (const NamedTensor& entry : tensors) {
    if (entry.name == name) return &entry.tensor;
  }
  return nullptr;
}

void WriteSafetensors(FileSystem& fs, const std::string& path, std::span<const NamedTensor> tensors,
                      const SafetensorsMetadata& metadata) {
  std::string out = FileStart(path, tensors, metadata);
  size_t size = out.size();
  for (const NamedTensor& entry : tensors) size += entry.tensor.num_bytes();
  out.reserve(size);
  for (const auto& [name, tensor] : tensors) {
    if (tensor.num_bytes() == 0) continue;
    out.append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  }
  WriteFileAtomically(fs, path, out);
}

void AppendSafetensors(WritableFile& file, const std::string& path,
                       std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata) {
  file.Append(FileStart(path, tensors, metadata));
  for (const auto& [name, tensor] : tensors) {
    if (tensor.num_bytes() == 0) continue;
    file.Append({static_cast<const std::byte*>(tensor.raw_data()), tensor.num_bytes()});
  }
}

SafetensorsFile ReadSafetensors(const FileSystem& fs, const std::string& path) {
  const auto file = fs.OpenRead(path);
  uint64_t length = 0;
  if (file->size() < kLengthBytes) {
    Fail(ErrorCode::kStorage, "{}: not a safetensors file: it has only {} bytes", path,
         file->size());
  }
  file->ReadExactly(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes) {
    Fail(ErrorCode::kStorage, "{}: the header has {} bytes, the most is {}", path, length,
         kMaxHeaderBytes);
  }
  if (length > file->size() - kLengthBytes) {
    Fail(ErrorCode::kStorage, "{}: cut off: the header has {} bytes, but {} are there", path,
         length, file->size() - kLengthBytes);
  }
  std::string json(length, '\0');
  file->ReadExactly(kLengthBytes, std::as_writable_bytes(std::span(json)));

  const uint64_t data_at = kLengthBytes + length;
  SafetensorsHeader header = ParseSafetensorsHeader(json, file->size() - data_at, path);
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    Tensor tensor = Tensor::Allocate(entry.dtype, entry.shape);
    file->ReadExactly(data_at + entry.begin,
                      {static_cast<std::byte*>(tensor.mutable_raw_data()), tensor.num_bytes()});
    CheckBoolBytes(tensor, path + ": '" + entry.name + "'");
    result.tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return result;
}

}  // namespace catamaran
