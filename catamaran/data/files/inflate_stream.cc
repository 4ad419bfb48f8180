#include "catamaran/data/files/inflate_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ZLIB
#include <zlib.h>
#endif

namespace catamaran {

namespace {

// The bytes as they are stored.
class Part {
 public:
  Part(std::shared_ptr<const RandomReadFile> file, uint64_t begin, uint64_t size)
      : file_(std::move(file)), begin_(begin), size_(size) {}

  size_t Read(std::span<char> out) {
    const size_t wanted = std::min<uint64_t>(out.size(), size_ - offset_);
    const size_t got = file_->Read(begin_ + offset_, std::as_writable_bytes(out.first(wanted)));
    offset_ += got;
    return got;
  }
  void Seek(uint64_t offset) { offset_ = offset; }
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }

 private:
  const std::shared_ptr<const RandomReadFile> file_;
  const uint64_t begin_;
  const uint64_t size_;
  uint64_t offset_ = 0;
};

class StoredStream final : public ByteStream {
 public:
  StoredStream(Part part, std::string name) : part_(std::move(part)), name_(std::move(name)) {}

  size_t Read(std::span<char> out) override { return part_.Read(out); }
  void Seek(uint64_t offset) override {
    if (offset > part_.size()) {
      Fail("{}: cannot go to byte {}: there are {}", name_, offset, part_.size());
    }
    part_.Seek(offset);
  }
  uint64_t offset() const override { return part_.offset(); }
  const std::string& path() const override { return name_; }
  bool random_access() const override { return true; }

 private:
  Part part_;
  const std::string name_;
};

#if CATAMARAN_WITH_ZLIB

constexpr size_t kCompressedBytes = size_t{64} << 10;
constexpr size_t kSkipBytes = size_t{64} << 10;

class InflateStream final : public ByteStream {
 public:
  InflateStream(Part part, bool gzip, std::string name)
      : part_(std::move(part)), gzip_(gzip), name_(std::move(name)), compressed_(kCompressedBytes) {
    // zlib's way to say which header is wanted: 16 more for gzip's, negative for none.
    if (inflateInit2(&zlib_, gzip ? MAX_WBITS + 16 : -MAX_WBITS) != Z_OK) {
      Fail(ErrorCode::kResourceExhausted, "{}: zlib has no memory", name_);
    }
  }

  ~InflateStream() override { inflateEnd(&zlib_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  size_t Read(std::span<char> out) override {
    size_t filled = 0;
    while (filled == 0 && !out.empty() && !ended_) {
      if (zlib_.avail_in == 0) Refill();
      if (between_members_) {
        BeginMember();
        continue;
      }
      if (zlib_.avail_in == 0) {
        Fail(ErrorCode::kStorage,
             "{}: cut off: its compressed contents end after {} decompressed bytes", name_,
             offset_);
      }
      const auto wanted = static_cast<uInt>(std::min<size_t>(out.size(), 1u << 30));
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib_.avail_out = wanted;
      const int answer = inflate(&zlib_, Z_NO_FLUSH);
      filled = wanted - zlib_.avail_out;
      if (answer == Z_STREAM_END) {
        between_members_ = true;
      } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
        Damaged();
      }
    }
    offset_ += filled;
    return filled;
  }

  void Seek(uint64_t offset) override {
    if (offset < offset_) {
      if (inflateReset(&zlib_) != Z_OK) Damaged();
      zlib_.avail_in = 0;
      part_.Seek(0);
      offset_ = 0;
      between_members_ = ended_ = false;
    }
    std::vector<char> skipped(std::min<uint64_t>(kSkipBytes, offset - offset_));
    while (offset_ < offset) {
      const size_t piece = std::min<uint64_t>(skipped.size(), offset - offset_);
      if (Read({skipped.data(), piece}) == 0) {
        Fail("{}: cannot go to byte {}: the decompressed contents have {}", name_, offset, offset_);
      }
    }
  }

  uint64_t offset() const override { return offset_; }
  const std::string& path() const override { return name_; }

 private:
  [[noreturn]] void Damaged() const {
    Fail(ErrorCode::kStorage,
         "{}: damaged: its compressed contents are wrong after {} decompressed bytes ({})", name_,
         offset_, zlib_.msg != nullptr ? zlib_.msg : "no reason given");
  }

  void Refill() {
    zlib_.avail_in = static_cast<uInt>(part_.Read(compressed_));
    zlib_.next_in = reinterpret_cast<Bytef*>(compressed_.data());
  }

  // After the end of the compressed contents: another member follows, or nothing.
  void BeginMember() {
    if (zlib_.avail_in == 0) {
      ended_ = true;
    } else if (!gzip_) {
      Fail(ErrorCode::kStorage, "{}: damaged: bytes follow its compressed contents", name_);
    } else if (*zlib_.next_in == 0) {
      // Writers that work in blocks fill the last one up with zeros.
      SkipZeros();
    } else {
      if (inflateReset(&zlib_) != Z_OK) Damaged();
      between_members_ = false;
    }
  }

  void SkipZeros() {
    while (zlib_.avail_in > 0) {
      if (*zlib_.next_in != 0)
        Fail(ErrorCode::kStorage, "{}: damaged: it goes on after its gzip'd contents", name_);
      ++zlib_.next_in;
      --zlib_.avail_in;
      if (zlib_.avail_in == 0) Refill();
    }
  }

  Part part_;
  const bool gzip_;
  const std::string name_;
  std::vector<char> compressed_;
  z_stream zlib_{};
  uint64_t offset_ = 0;
  bool between_members_ = false;
  bool ended_ = false;
};

#endif

}  // namespace

std::unique_ptr<ByteStream> OpenPart(std::shared_ptr<const RandomReadFile> file, uint64_t begin,
                                     uint64_t size, Packing compression, std::string name) {
  Part part(std::move(file), begin, size);
  if (compression == Packing::kStored) {
    return std::make_unique<StoredStream>(std::move(part), std::move(name));
  }
#if CATAMARAN_WITH_ZLIB
  return std::make_unique<InflateStream>(std::move(part), compression == Packing::kGzip,
                                         std::move(name));
#else
  Fail("{}: is compressed, and this build has no zlib; decompress it first", name);
#endif
}

}  // namespace catamaran
