#include "catamaran/data/text/text_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace catamaran {

TextWindow::TextWindow(std::unique_ptr<ByteStream> stream, size_t max_bytes)
    : stream_(std::move(stream)),
      max_bytes_(max_bytes),
      capacity_(std::min(kFirstBytes, max_bytes)),
      buffer_(new char[capacity_ + kPadding]()) {}

bool TextWindow::Fill() {
  const size_t kept = end_ - begin_;
  if (kept >= max_bytes_) return false;
  if (kept > capacity_ / 2 && capacity_ < max_bytes_) {
    const size_t larger = std::min(capacity_ * 2, max_bytes_);
    std::unique_ptr<char[]> buffer(new char[larger + kPadding]());
    std::memcpy(buffer.get(), buffer_.get() + begin_, kept);
    buffer_ = std::move(buffer);
    capacity_ = larger;
  } else if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
  }
  begin_ = 0;
  end_ = kept;
  const size_t got = stream_->Read({buffer_.get() + end_, capacity_ - end_});
  end_ += got;
  return got > 0;
}

void TextWindow::Seek(uint64_t offset) {
  begin_ = end_ = 0;
  stream_->Seek(offset);
}

}  // namespace catamaran
