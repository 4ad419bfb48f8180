#include "catamaran/data/files/stored_array.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/tensor/half.h"

namespace catamaran {

static_assert(std::endian::native == std::endian::little, "elements are read as they are stored");

namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;  // of the stream, at once

struct StoredTypeInfo {
  size_t size;
  DType becomes;
};
constexpr StoredTypeInfo kTypes[] = {
    {1, DType::kU8},  {1, DType::kU8},  {1, DType::kI64}, {2, DType::kI64}, {4, DType::kI64},
    {8, DType::kI64}, {8, DType::kI64}, {2, DType::kF32}, {4, DType::kF32}, {8, DType::kF32},
};
const StoredTypeInfo& InfoOf(StoredType type) { return kTypes[static_cast<size_t>(type)]; }

template <class Word>
Word Swapped(Word word) {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
  return word;
}

// Elements of the type From, stored as the unsigned Word, to `out`.
template <class From, class Word, class To>
void Convert(const char* bytes, size_t count, bool big_endian, To* out) {
  static_assert(sizeof(From) == sizeof(Word));
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, bytes + i * sizeof(Word), sizeof(Word));
    if (big_endian) word = Swapped(word);
    out[i] = static_cast<To>(std::bit_cast<From>(word));
  }
}

void ConvertU64(const char* bytes, size_t count, const std::string& path, int64_t* out) {
  Convert<int64_t, uint64_t>(bytes, count, false, out);
  if (std::any_of(out, out + count, [](int64_t value) { return value < 0; })) {
    Fail(ErrorCode::kBadData, "{}: has a number of 2^63 or more, which no i64 column holds", path);
  }
}

void ConvertPiece(const StoredArray& array, const char* bytes, size_t count, ColumnBlock& block) {
  const bool swap = array.big_endian;
  switch (array.type) {
    case StoredType::kU8:
      std::memcpy(block.bytes.Extend(count), bytes, count);
      break;
    case StoredType::kBool: {
      uint8_t* out = block.bytes.Extend(count);
      for (size_t i = 0; i < count; ++i) out[i] = bytes[i] != 0;
      break;
    }
    case StoredType::kI8:
      Convert<int8_t, uint8_t>(bytes, count, swap, block.ints.Extend(count));
      break;
    case StoredType::kI16:
      Convert<int16_t, uint16_t>(bytes, count, swap, block.ints.Extend(count));
      break;
    case StoredType::kI32:
      Convert<int32_t, uint32_t>(bytes, count, swap, block.ints.Extend(count));
      break;
    case StoredType::kI64:
      Convert<int64_t, uint64_t>(bytes, count, swap, block.ints.Extend(count));
      break;
    case StoredType::kU64:
      ConvertU64(bytes, count, array.stream->path(), block.ints.Extend(count));
      break;
    case StoredType::kF16:
      Convert<F16, uint16_t>(bytes, count, swap, block.floats.Extend(count));
      break;
    case StoredType::kF32:
      Convert<float, uint32_t>(bytes, count, swap, block.floats.Extend(count));
      break;
    case StoredType::kF64:
      Convert<double, uint64_t>(bytes, count, swap, block.floats.Extend(count));
      break;
  }
}

}  // namespace

Column StoredArray::column() const { return Column::Dense(name, InfoOf(type).becomes, row_shape); }

uint64_t StoredArray::row_bytes() const {
  return static_cast<uint64_t>(row_shape.num_elements()) * InfoOf(type).size;
}

void AppendRows(StoredArray& array, int64_t row, int64_t count, ColumnBlock& block) {
  const size_t element = InfoOf(array.type).size;
  uint64_t left = static_cast<uint64_t>(count) * array.row_bytes();
  std::vector<char> piece(std::min<uint64_t>(left, kPieceBytes));
  // Columns grow with what is there, not with what the header says.
  while (left > 0) {
    const size_t wanted = std::min<uint64_t>(piece.size(), left);
    size_t filled = 0;
    while (filled < wanted) {
      const size_t got = array.stream->Read({piece.data() + filled, wanted - filled});
      if (got == 0) {
        Fail(ErrorCode::kStorage, "{}: cut off: it ends within its rows {} to {} of {}",
             array.stream->path(), row + 1, row + count, array.rows);
      }
      filled += got;
    }
    ConvertPiece(array, piece.data(), wanted / element, block);
    left -= wanted;
  }
}

}  // namespace catamaran
