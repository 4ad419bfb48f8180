// data/files/zip.cc
//
// An archive ends with a record that says where its directory is; the directory has a header for
// each entry, which says where the entry's own header is; behind that stand its bytes. Where a
// number does not fit in 16 or 32 bits, it has all bits set and stands elsewhere in 64 (zip64).

#include "catamaran/data/files/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

constexpr uint32_t kEndMagic = 0x06054b50, kEntryMagic = 0x02014b50, kLocalMagic = 0x04034b50,
                   kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kEnd64Bytes = 56,
                 kLocator64Bytes = 20, kMaxComment = 65535;
constexpr uint16_t kAll16 = 0xffff;
constexpr uint32_t kAll32 = 0xffffffff;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{1} << 30;

// A little-endian number. REQUIRES: bytes has it.
template <class T>
T Get(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(T{static_cast<uint8_t>(bytes[at + i])} << 8 * i));
  }
  return value;
}

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    table[i] = crc;
  }
  return table;
}

// The checksum of zip archives, which is not the crc32c of base.
uint32_t UpdateCrc32(uint32_t crc, std::span<const char> bytes) {
  static const std::array<uint32_t, 256> table = MakeCrcTable();
  crc = ~crc;
  for (const char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

// An entry's stream, which checks size and checksum.
class EntryStream final : public ByteStream {
 public:
  EntryStream(std::unique_ptr<ByteStream> inner, const ZipEntry& entry)
      : inner_(std::move(inner)), size_(entry.size), wanted_crc_(entry.crc32) {}

  size_t Read(std::span<char> out) override {
    const bool in_order = inner_->offset() == summed_;
    const size_t got = inner_->Read(out);
    if (inner_->offset() > size_ || (got == 0 && !out.empty() && inner_->offset() < size_)) {
      Fail(ErrorCode::kStorage, "{}: damaged: it has {} bytes where the archive says {}", path(),
           inner_->offset() > size_ ? "more" : "fewer", size_);
    }
    if (in_order) {
      crc_ = UpdateCrc32(crc_, out.first(got));
      summed_ += got;
      if (got == 0 && !out.empty() && crc_ != wanted_crc_) {
        Fail(ErrorCode::kStorage, "{}: damaged: its checksum is {:08x}, the archive says {:08x}",
             path(), crc_, wanted_crc_);
      }
    }
    return got;
  }

  void Seek(uint64_t offset) override { inner_->Seek(offset); }
  uint64_t offset() const override { return inner_->offset(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  const std::unique_ptr<ByteStream> inner_;
  const uint64_t size_;
  const uint32_t wanted_crc_;
  uint32_t crc_ = 0;
  uint64_t summed_ = 0;  // the first bytes, whose checksum is crc_
};

// Takes from the zip64 part of an entry's extra field the numbers that did not fit, in their order.
void ReadZip64Extra(std::string_view extra, std::initializer_list<uint64_t*> numbers,
                    const std::string& what) {
  while (extra.size() >= 4) {
    const auto id = Get<uint16_t>(extra, 0);
    const size_t size = Get<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) break;
    if (id == 1) {
      std::string_view part = extra.substr(0, size);
      for (uint64_t* number : numbers) {
        if (*number != kAll32) continue;
        if (part.size() < 8)
          Fail(ErrorCode::kStorage, "{}: damaged: its zip64 sizes are cut off", what);
        *number = Get<uint64_t>(part, 0);
        part.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(size);
  }
}

}  // namespace

ZipArchive::ZipArchive(const FileSystem& fs, const std::string& path)
    : path_(path), file_(fs.OpenRead(path)) {
  ReadEntries(FindDirectory());
}

std::string ZipArchive::Bytes(uint64_t offset, uint64_t size) const {
  if (offset > file_->size() || size > file_->size() - offset) {
    Fail(ErrorCode::kStorage, "{}: damaged or cut off: a part of the archive lies beyond its end",
         path_);
  }
  std::string bytes(size, '\0');
  file_->ReadExactly(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

ZipArchive::Directory ZipArchive::FindDirectory() const {
  const uint64_t size = file_->size();
  const uint64_t tail_size = std::min<uint64_t>(size, kEndBytes + kMaxComment);
  const std::string tail = Bytes(size - tail_size, tail_size);
  for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    // The comment's length tells the record from a comment that looks like one.
    if (Get<uint32_t>(tail, at) != kEndMagic ||
        at + kEndBytes + Get<uint16_t>(tail, at + 20) != tail.size()) {
      continue;
    }
    const auto disk = Get<uint16_t>(tail, at + 4);
    Directory found{.offset = Get<uint32_t>(tail, at + 16),
                    .size = Get<uint32_t>(tail, at + 12),
                    .entries = Get<uint16_t>(tail, at + 10)};
    if (found.offset == kAll32 || found.size == kAll32 || found.entries == kAll16) {
      return ReadZip64End(size - tail_size + at);
    }
    if (disk != 0)
      Fail(ErrorCode::kStorage, "{}: is a part of a zip archive of several volumes", path_);
    return found;
  }
  Fail(ErrorCode::kStorage, "{}: not a zip archive, or cut off: it has no directory", path_);
}

ZipArchive::Directory ZipArchive::ReadZip64End(uint64_t end_offset) const {
  if (end_offset < kLocator64Bytes)
    Fail(ErrorCode::kStorage, "{}: damaged: no room for its zip64 directory", path_);
  const std::string locator = Bytes(end_offset - kLocator64Bytes, kLocator64Bytes);
  if (Get<uint32_t>(locator, 0) != kLocator64Magic) {
    Fail(ErrorCode::kStorage, "{}: damaged: its zip64 directory is not found", path_);
  }
  const std::string end = Bytes(Get<uint64_t>(locator, 8), kEnd64Bytes);
  if (Get<uint32_t>(end, 0) != kEnd64Magic) {
    Fail(ErrorCode::kStorage, "{}: damaged: its zip64 directory is not found", path_);
  }
  return {.offset = Get<uint64_t>(end, 48),
          .size = Get<uint64_t>(end, 40),
          .entries = Get<uint64_t>(end, 32)};
}

void ZipArchive::ReadEntries(const Directory& directory) {
  if (directory.entries > directory.size / kEntryBytes || directory.size > kMaxDirectoryBytes) {
    Fail(ErrorCode::kStorage, "{}: damaged: {} entries do not fit in a directory of {} bytes",
         path_, directory.entries, directory.size);
  }
  const std::string bytes = Bytes(directory.offset, directory.size);
  std::string_view rest = bytes;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kEntryBytes || Get<uint32_t>(rest, 0) != kEntryMagic) {
      Fail(ErrorCode::kStorage, "{}: damaged: entry {} of its directory is none", path_, i + 1);
    }
    const size_t name = Get<uint16_t>(rest, 28), extra = Get<uint16_t>(rest, 30),
                 comment = Get<uint16_t>(rest, 32);
    if (rest.size() < kEntryBytes + name + extra + comment) {
      Fail(ErrorCode::kStorage, "{}: damaged: entry {} of its directory is cut off", path_, i + 1);
    }
    ZipEntry entry{.name = std::string(rest.substr(kEntryBytes, name)),
                   .stored_size = Get<uint32_t>(rest, 20),
                   .size = Get<uint32_t>(rest, 24),
                   .crc32 = Get<uint32_t>(rest, 16),
                   .header_offset = Get<uint32_t>(rest, 42)};
    const std::string what = fmt::format("{}: {}", path_, entry.name);
    ReadZip64Extra(rest.substr(kEntryBytes + name, extra),
                   {&entry.size, &entry.stored_size, &entry.header_offset}, what);
    const auto method = Get<uint16_t>(rest, 10);
    if ((Get<uint16_t>(rest, 8) & 1) != 0) Fail(ErrorCode::kStorage, "{}: is encrypted", what);
    if (method != 0 && method != 8) {
      Fail(ErrorCode::kStorage, "{}: is compressed by method {}; wanted stored (0) or deflated (8)",
           what, method);
    }
    entry.compression = method == 0 ? Packing::kStored : Packing::kDeflate;
    if (method == 0 && entry.size != entry.stored_size) {
      Fail(ErrorCode::kStorage, "{}: damaged: stored with {} bytes, but its size is {}", what,
           entry.stored_size, entry.size);
    }
    entries_.push_back(std::move(entry));
    rest.remove_prefix(kEntryBytes + name + extra + comment);
  }
}

std::unique_ptr<ByteStream> ZipArchive::Open(const ZipEntry& entry) const {
  const std::string what = fmt::format("{}: {}", path_, entry.name);
  const std::string header = Bytes(entry.header_offset, kLocalBytes);
  if (Get<uint32_t>(header, 0) != kLocalMagic) {
    Fail(ErrorCode::kStorage, "{}: damaged: it is not where the directory says", what);
  }
  const uint64_t begin =
      entry.header_offset + kLocalBytes + Get<uint16_t>(header, 26) + Get<uint16_t>(header, 28);
  if (begin > file_->size() || entry.stored_size > file_->size() - begin) {
    Fail(ErrorCode::kStorage, "{}: cut off: it takes {} bytes from byte {} on, the archive has {}",
         what, entry.stored_size, begin, file_->size());
  }
  return std::make_unique<EntryStream>(
      OpenPart(file_, begin, entry.stored_size, entry.compression, what), entry);
}

}  // namespace catamaran
