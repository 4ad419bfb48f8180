#include "catamaran/data/position.h"

#include "catamaran/base/error.h"

namespace catamaran {

void PositionWriter::Put(int64_t value) {
  for (int byte = 0; byte < 8; ++byte) {
    position_.bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * byte));
  }
}

void PositionWriter::Put(std::string_view text) {
  Put(static_cast<int64_t>(text.size()));
  position_.bytes += text;
}

PositionReader::PositionReader(const Position& position, std::string_view kind,
                               std::string_view what)
    : rest_(position.bytes), what_(what) {
  const std::string_view found = GetString();
  if (found != kind) {
    Fail("{}: the position is of a reader of {}, this is one of {}", what_, found, kind);
  }
}

int64_t PositionReader::GetInt() {
  if (rest_.size() < 8) FailDamaged();
  uint64_t value = 0;
  for (size_t byte = 0; byte < 8; ++byte) {
    value |= uint64_t{static_cast<unsigned char>(rest_[byte])} << (8 * byte);
  }
  rest_.remove_prefix(8);
  return static_cast<int64_t>(value);
}

std::string_view PositionReader::GetString() {
  const auto size = static_cast<uint64_t>(GetInt());
  if (size > rest_.size()) FailDamaged();
  const std::string_view text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

void PositionReader::End() const {
  if (!rest_.empty()) FailDamaged();
}

void PositionReader::FailDamaged() const {
  Fail(ErrorCode::kStorage, "{}: the position is damaged: not the bytes that a reader made", what_);
}

}  // namespace catamaran
