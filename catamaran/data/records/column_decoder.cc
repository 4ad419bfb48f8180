#include "catamaran/data/records/column_decoder.h"

#include <algorithm>
#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/data/records/record_format.h"

namespace catamaran {

using record_format::Encoding;

namespace {

[[noreturn]] void FailEncoding(Encoding encoding, std::string_view what) {
  Fail(ErrorCode::kStorage, "encoding {} is none for {}", static_cast<int>(encoding), what);
}

}  // namespace

// Takes streams from the front of a column's bytes.
class ColumnDecoder::Streams {
 public:
  explicit Streams(std::span<const std::byte> bytes) : rest_(bytes) {}

  struct Head {
    Encoding encoding;
    int width;
    uint32_t entries;
    int64_t base;
  };

  Head TakeHead() {
    const std::byte* head = Take(record_format::kStreamHeadBytes);
    Head result;
    result.encoding = static_cast<Encoding>(head[0]);
    result.width = static_cast<int>(head[1]);
    result.entries = record_format::Load<uint32_t>(head + 4);
    result.base = record_format::Load<int64_t>(head + 8);
    if (record_format::Load<uint16_t>(head + 2) != 0)
      Fail(ErrorCode::kStorage, "the head of a stream is not right");
    return result;
  }

  // The next bytes, and what fills them up to the next stream.
  const std::byte* Take(uint64_t size) {
    const uint64_t padded = record_format::AlignUp(size, record_format::kStreamAlignment);
    if (padded > rest_.size()) {
      Fail(ErrorCode::kStorage, "a stream of {} bytes is cut off: {} are left", padded,
           rest_.size());
    }
    const std::byte* begin = rest_.data();
    rest_ = rest_.subspan(padded);
    return begin;
  }

  const std::byte* TakePacked(size_t count, int width, int word_bits) {
    if (width > word_bits)
      Fail(ErrorCode::kStorage, "numbers of {} bits in words of {}", width, word_bits);
    return Take(PackedBytes(count, width, word_bits));
  }

  // A stream of bytes.
  const std::byte* TakeBytes(uint64_t count) {
    const Encoding encoding = TakeHead().encoding;
    if (encoding != Encoding::kPlain) FailEncoding(encoding, "bytes");
    return Take(count);
  }

  void End() const {
    if (!rest_.empty())
      Fail(ErrorCode::kStorage, "{} bytes are left over behind its streams", rest_.size());
  }

 private:
  std::span<const std::byte> rest_;
};

namespace {

template <class T>
void Append(const std::byte* from, size_t count, Buffer<T>& out) {
  T* to = out.Extend(count);
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
}

// out[i] = entries[which[i]]; the entries need not be aligned.
template <class T>
void LookUp(const std::byte* entries, std::span<const uint32_t> which, T* out) {
  for (size_t i = 0; i < which.size(); ++i) {
    std::memcpy(out + i, entries + which[i] * sizeof(T), sizeof(T));
  }
}

}  // namespace

void ColumnDecoder::DecodeWords(Streams& in, size_t count, Buffer<uint32_t>& out) {
  const auto head = in.TakeHead();
  if (head.encoding != Encoding::kPacked) FailEncoding(head.encoding, "lengths");
  if (head.base < 0 || head.base > UINT32_MAX)
    Fail(ErrorCode::kStorage, "lengths from {} on", head.base);
  const std::byte* lines = in.TakePacked(count, head.width, 32);
  out.resize(count);
  kernels_.words(lines, static_cast<int64_t>(count), head.width, static_cast<uint32_t>(head.base),
                 out.data());
}

void ColumnDecoder::DecodeWhich(Streams& in, size_t count, size_t entries) {
  DecodeWords(in, count, words_);
  uint32_t largest = 0;
  for (uint32_t which : words_) largest = std::max(largest, which);
  if (count > 0 && largest >= entries) {
    Fail(ErrorCode::kStorage, "entry {} of a dictionary of {}", largest, entries);
  }
}

void ColumnDecoder::DecodeInts(Streams& in, size_t count, Buffer<int64_t>& out) {
  const auto head = in.TakeHead();
  const auto n = static_cast<int64_t>(count);
  switch (head.encoding) {
    case Encoding::kPacked: {
      const std::byte* lines = in.TakePacked(count, head.width, 64);
      if (head.width == 64 && head.base == 0) {
        Append(lines, count, out);
      } else {
        kernels_.ints(lines, n, head.width, head.base, out.Extend(count));
      }
      return;
    }
    case Encoding::kDelta: {
      if (count < 8) Fail(ErrorCode::kStorage, "differences of {} numbers", count);
      const std::byte* first = in.Take(8 * sizeof(int64_t));
      const std::byte* lines = in.TakePacked(count - 8, head.width, 64);
      int64_t* to = out.Extend(count);
      std::memcpy(to, first, 8 * sizeof(int64_t));
      kernels_.deltas(lines, n - 8, head.width, head.base, to, to + 8);
      return;
    }
    case Encoding::kDictionary: {
      const std::byte* entries = in.Take(uint64_t{head.entries} * sizeof(int64_t));
      DecodeWhich(in, count, head.entries);
      LookUp(entries, words_.span(), out.Extend(count));
      return;
    }
    default:
      FailEncoding(head.encoding, "integers");
  }
}

void ColumnDecoder::DecodeFloats(Streams& in, size_t count, Buffer<float>& out) {
  const auto head = in.TakeHead();
  switch (head.encoding) {
    case Encoding::kPlain:
      Append(in.Take(count * sizeof(float)), count, out);
      return;
    case Encoding::kIntegers: {
      if (head.base < INT32_MIN || head.base > INT32_MAX)
        Fail(ErrorCode::kStorage, "floats from {} on", head.base);
      const std::byte* lines = in.TakePacked(count, head.width, 32);
      kernels_.floats(lines, static_cast<int64_t>(count), head.width,
                      static_cast<int32_t>(head.base), out.Extend(count));
      return;
    }
    case Encoding::kDictionary: {
      const std::byte* entries = in.Take(uint64_t{head.entries} * sizeof(float));
      DecodeWhich(in, count, head.entries);
      LookUp(entries, words_.span(), out.Extend(count));
      return;
    }
    default:
      FailEncoding(head.encoding, "floats");
  }
}

void ColumnDecoder::DecodeOffsets(Streams& in, size_t rows, uint32_t elements,
                                  Buffer<int32_t>& out) {
  Streams ahead = in;
  const auto head = ahead.TakeHead();
  int32_t* offsets = out.Extend(rows);
  uint64_t sum = 0;
  if (head.width == 0 && head.encoding == Encoding::kPacked && head.base >= 0 &&
      head.base <= INT32_MAX) {
    // All lists have one length, most often 1.
    in = ahead;
    kernels_.multiples(static_cast<int64_t>(rows), static_cast<int32_t>(head.base), offsets);
    sum = static_cast<uint64_t>(head.base) * rows;
  } else {
    DecodeWords(in, rows, words_);
    for (size_t r = 0; r < rows; ++r) {
      sum += words_[r];
      offsets[r] = static_cast<int32_t>(sum);
    }
  }
  if (sum != elements)
    Fail(ErrorCode::kStorage, "its lists have {} elements together, wanted {}", sum, elements);
}

void ColumnDecoder::DecodeStrings(Streams& in, size_t rows, uint32_t elements, ColumnBlock& block) {
  Streams ahead = in;
  const auto head = ahead.TakeHead();
  if (head.encoding != Encoding::kDictionary) {
    DecodeOffsets(in, rows, elements, block.offsets);
    Append(in.TakeBytes(elements), elements, block.bytes);
    return;
  }
  in = ahead;
  // An entry that no row has would be no use: so there are no more than rows.
  if (head.entries > rows)
    Fail(ErrorCode::kStorage, "a dictionary of {} entries for {} rows", head.entries, rows);
  DecodeWords(in, head.entries, words_);
  entry_offsets_.clear();
  entry_offsets_.push_back(0);
  uint64_t sum = 0;
  for (uint32_t length : words_) {
    sum += length;
    if (sum > elements)
      Fail(ErrorCode::kStorage, "the entries of its dictionary are longer than all rows");
    entry_offsets_.push_back(static_cast<int32_t>(sum));
  }
  const std::byte* entries = in.TakeBytes(sum);
  DecodeWhich(in, rows, head.entries);
  int32_t* offsets = block.offsets.Extend(rows);
  uint64_t end = 0;
  for (size_t r = 0; r < rows; ++r) {
    end += static_cast<uint64_t>(entry_offsets_[words_[r] + 1] - entry_offsets_[words_[r]]);
    offsets[r] = static_cast<int32_t>(end);
  }
  if (end != elements)
    Fail(ErrorCode::kStorage, "its strings have {} bytes together, wanted {}", end, elements);
  if (elements == 0) return;
  uint8_t* to = block.bytes.Extend(elements);
  for (size_t r = 0; r < rows; ++r) {
    const auto begin = static_cast<size_t>(entry_offsets_[words_[r]]);
    const auto size = static_cast<size_t>(entry_offsets_[words_[r] + 1]) - begin;
    std::memcpy(to, entries + begin, size);
    to += size;
  }
}

void ColumnDecoder::Decode(const Column& column, std::span<const std::byte> bytes, int64_t rows,
                           uint32_t elements, ColumnBlock& block) {
  Streams in(bytes);
  switch (column.kind) {
    case ColumnKind::kDense:
      if (column.dtype == DType::kF32) {
        DecodeFloats(in, elements, block.floats);
      } else if (column.dtype == DType::kI64) {
        DecodeInts(in, elements, block.ints);
      } else {
        Append(in.TakeBytes(elements), elements, block.bytes);
      }
      break;
    case ColumnKind::kIds:
    case ColumnKind::kWeightedIds:
      DecodeOffsets(in, static_cast<size_t>(rows), elements, block.offsets);
      DecodeInts(in, elements, block.ints);
      if (column.kind == ColumnKind::kWeightedIds) DecodeFloats(in, elements, block.floats);
      break;
    case ColumnKind::kString:
      DecodeStrings(in, static_cast<size_t>(rows), elements, block);
      break;
  }
  in.End();
}

}  // namespace catamaran
