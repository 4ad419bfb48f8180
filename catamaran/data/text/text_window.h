// data/text/text_window.h
//
// The part of a ByteStream that is in memory: what has been read and not yet consumed. Memory stays
// as small as the longest row allows, however large the file. Behind the text stand kPadding bytes
// that may be read and written, so that vector code need not stop short.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "catamaran/data/files/byte_stream.h"

namespace catamaran {

class TextWindow {
 public:
  static constexpr size_t kPadding = 128;
  static constexpr size_t kFirstBytes = size_t{128} << 10;

  // Text longer than `max_bytes` is refused by Fill.
  TextWindow(std::unique_ptr<ByteStream> stream, size_t max_bytes);

  // What is in memory; good until the next Fill, Seek or Consume.
  std::string_view text() const { return {buffer_.get() + begin_, end_ - begin_}; }
  char* mutable_end() { return buffer_.get() + end_; }

  // Reads more behind text(), which may move. False if there is no more, or if text() has
  // `max_bytes` already: then full() is true.
  bool Fill();
  bool full() const { return end_ - begin_ >= max_bytes_; }

  // REQUIRES: n <= text().size().
  void Consume(size_t n) { begin_ += n; }

  // Of the first byte of text(), in the stream.
  uint64_t offset() const { return stream_->offset() - (end_ - begin_); }
  void Seek(uint64_t offset);

  const std::string& path() const { return stream_->path(); }

 private:
  const std::unique_ptr<ByteStream> stream_;
  const size_t max_bytes_;
  size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace catamaran
