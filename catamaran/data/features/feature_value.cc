#include "catamaran/data/features/feature_value.h"

#include <algorithm>
#include <cstring>

#include "catamaran/data/row_block.h"

namespace catamaran {

std::string ValueType::ToString() const {
  const std::string of = shape.rank() > 0 ? shape.ToString() : "";
  switch (kind) {
    case ValueKind::kNumber:
      return "number" + of;
    case ValueKind::kInteger:
      return "integer" + of;
    case ValueKind::kIds:
      return "ids";
    case ValueKind::kWeightedIds:
      return "weighted ids";
    case ValueKind::kText:
      return "text";
    case ValueKind::kTexts:
      return "texts";
  }
  return "?";
}

char* TextArena::Allocate(size_t size) {
  constexpr size_t kChunkBytes = 64 << 10;
  while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t bytes = std::max(size, kChunkBytes);
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes});
    used_ = 0;
  }
  used_ += size;
  return chunks_[chunk_].bytes.get() + used_ - size;
}

std::string_view TextArena::Copy(std::string_view text) {
  if (text.empty()) return {};
  char* to = Allocate(text.size());
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

void FeatureValues::EndList() {
  const size_t end = ints.size() + texts.size();
  if (end > ColumnBlock::kMaxElements) {
    Fail(ErrorCode::kResourceExhausted,
         "the lists of a feature have {} elements in one block of rows; the most is {}", end,
         ColumnBlock::kMaxElements);
  }
  offsets.push_back(static_cast<int32_t>(end));
}

}  // namespace catamaran
