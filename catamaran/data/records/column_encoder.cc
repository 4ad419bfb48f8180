#include "catamaran/data/records/column_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/data/records/bit_packing.h"
#include "catamaran/data/records/record_format.h"

namespace catamaran {
namespace {

using record_format::Encoding;

// Looking numbers up costs more than unpacking them, so a dictionary must save this share of the
// room to be used.
constexpr double kDictionaryPays = 0.7;
constexpr double kDeltaPays = 0.8;

void AlignStream(std::string& out) {
  out.resize(record_format::AlignUp(out.size(), record_format::kStreamAlignment), '\0');
}

void StartStream(Encoding encoding, int width, size_t entries, int64_t base, std::string& out) {
  char head[record_format::kStreamHeadBytes] = {};
  head[0] = static_cast<char>(encoding);
  head[1] = static_cast<char>(width);
  record_format::Store(head + 4, static_cast<uint32_t>(entries));
  record_format::Store(head + 8, base);
  out.append(head, sizeof(head));
}

template <class T>
void AppendValues(std::span<const T> values, std::string& out) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
uint64_t HashOf(T value) {
  return Mix64(static_cast<uint64_t>(value));
}
uint64_t HashOf(std::string_view text) { return HashString(text); }

// The distinct values in order of their first occurrence, and which of them each value is. Gives up
// (empty) when there are more than a quarter as many as values.
template <class T>
struct Dictionary {
  explicit Dictionary(std::span<const T> values) {
    const size_t limit = values.size() / 4;
    if (limit == 0) return;
    // Open addressing: the place in `distinct` plus one, or 0. At most half full.
    std::vector<uint32_t> places(std::bit_ceil(2 * limit), 0);
    which.reserve(values.size());
    for (const T& value : values) {
      size_t slot = HashOf(value) & (places.size() - 1);
      while (places[slot] != 0 && distinct[places[slot] - 1] != value) {
        slot = (slot + 1) & (places.size() - 1);
      }
      if (places[slot] == 0) {
        if (distinct.size() == limit) {
          distinct.clear();
          return;
        }
        distinct.push_back(value);
        places[slot] = static_cast<uint32_t>(distinct.size());
      }
      which.push_back(places[slot] - 1);
    }
  }

  bool found() const { return !distinct.empty(); }
  int width() const { return BitWidth(distinct.size() - 1); }

  std::vector<T> distinct;
  std::vector<uint32_t> which;
};

// Numbers of 32 bits: lengths of lists, and which entry of a dictionary.
void EncodeWords(std::span<const uint32_t> words, std::string& out) {
  const auto [min, max] = std::minmax_element(words.begin(), words.end());
  const uint32_t base = words.empty() ? 0 : *min;
  const int width = words.empty() ? 0 : BitWidth(*max - base);
  std::vector<uint32_t> above(words.begin(), words.end());
  for (uint32_t& word : above) word -= base;
  StartStream(Encoding::kPacked, width, 0, base, out);
  Pack32(above, width, out);
}

// How numbers lie between the smallest and the largest.
struct Range {
  explicit Range(std::span<const int64_t> ints) {
    if (ints.empty()) return;
    const auto [min, max] = std::minmax_element(ints.begin(), ints.end());
    base = *min;
    width = BitWidth(static_cast<uint64_t>(*max) - static_cast<uint64_t>(*min));
    if (width == 64) base = 0;  // plain numbers, then
  }
  uint64_t bytes(size_t count) const { return PackedBytes(count, width, 64); }

  int64_t base = 0;
  int width = 0;
};

void PackInts(const Range& range, std::span<const int64_t> ints, std::string& out) {
  std::vector<uint64_t> above(ints.size());
  for (size_t i = 0; i < ints.size(); ++i) {
    above[i] = static_cast<uint64_t>(ints[i]) - static_cast<uint64_t>(range.base);
  }
  Pack64(above, range.width, out);
}

void EncodeInts(std::span<const int64_t> ints, std::string& out) {
  constexpr size_t kBefore = 8;
  const Range range(ints);
  const double best = static_cast<double>(range.bytes(ints.size()));
  if (ints.size() > kBefore) {
    std::vector<int64_t> deltas(ints.size() - kBefore);
    for (size_t i = 0; i < deltas.size(); ++i) {
      deltas[i] = static_cast<int64_t>(static_cast<uint64_t>(ints[i + kBefore]) -
                                       static_cast<uint64_t>(ints[i]));
    }
    const Range steps(deltas);
    const double bytes = 8.0 * kBefore + static_cast<double>(steps.bytes(deltas.size()));
    if (bytes < kDeltaPays * best) {
      StartStream(Encoding::kDelta, steps.width, 0, steps.base, out);
      AppendValues(ints.first(kBefore), out);
      PackInts(steps, deltas, out);
      return;
    }
  }
  const Dictionary<int64_t> dictionary(ints);
  if (dictionary.found()) {
    const double bytes = static_cast<double>(dictionary.distinct.size() * 8) +
                         static_cast<double>(PackedBytes(ints.size(), dictionary.width(), 32));
    if (bytes < kDictionaryPays * best) {
      StartStream(Encoding::kDictionary, 0, dictionary.distinct.size(), 0, out);
      AppendValues<int64_t>(dictionary.distinct, out);
      AlignStream(out);
      EncodeWords(dictionary.which, out);
      return;
    }
  }
  StartStream(Encoding::kPacked, range.width, 0, range.base, out);
  PackInts(range, ints, out);
}

// Whether all are integers that an f32 holds exactly, -0 not among them; then what they are.
bool AsIntegers(std::span<const float> floats, std::vector<int64_t>& ints) {
  constexpr float kLimit = 1 << 24;
  ints.clear();
  for (float x : floats) {
    if (!(std::fabs(x) <= kLimit) || x != std::trunc(x) || (x == 0 && std::signbit(x)))
      return false;
    ints.push_back(static_cast<int64_t>(x));
  }
  return true;
}

void EncodeFloats(std::span<const float> floats, std::string& out) {
  double best = static_cast<double>(floats.size_bytes());
  std::vector<int64_t> ints;
  const bool integers = AsIntegers(floats, ints);
  const Range range(ints);
  if (integers) best = static_cast<double>(PackedBytes(ints.size(), range.width, 32));

  std::vector<uint32_t> bits(floats.size());
  if (!floats.empty()) std::memcpy(bits.data(), floats.data(), floats.size_bytes());
  const Dictionary<uint32_t> dictionary(bits);
  if (dictionary.found()) {
    const double bytes = static_cast<double>(dictionary.distinct.size() * 4) +
                         static_cast<double>(PackedBytes(bits.size(), dictionary.width(), 32));
    if (bytes < kDictionaryPays * best) {
      StartStream(Encoding::kDictionary, 0, dictionary.distinct.size(), 0, out);
      AppendValues<uint32_t>(dictionary.distinct, out);
      AlignStream(out);
      EncodeWords(dictionary.which, out);
      return;
    }
  }
  if (integers) {
    StartStream(Encoding::kIntegers, range.width, 0, range.base, out);
    std::vector<uint32_t> above(ints.size());
    for (size_t i = 0; i < ints.size(); ++i) above[i] = static_cast<uint32_t>(ints[i] - range.base);
    Pack32(above, range.width, out);
    return;
  }
  StartStream(Encoding::kPlain, 0, 0, 0, out);
  AppendValues(floats, out);
  AlignStream(out);
}

void EncodeBytes(std::span<const uint8_t> bytes, std::string& out) {
  StartStream(Encoding::kPlain, 0, 0, 0, out);
  AppendValues(bytes, out);
  AlignStream(out);
}

std::vector<uint32_t> Lengths(const ColumnBlock& block, int64_t rows) {
  std::vector<uint32_t> lengths(static_cast<size_t>(rows));
  for (size_t r = 0; r < lengths.size(); ++r) {
    lengths[r] = static_cast<uint32_t>(block.offsets[r + 1] - block.offsets[r]);
  }
  return lengths;
}

void EncodeStrings(const ColumnBlock& block, int64_t rows, std::string& out) {
  std::vector<std::string_view> texts;
  for (int64_t r = 0; r < rows; ++r) texts.push_back(block.text(r));
  const Dictionary<std::string_view> dictionary(texts);
  if (dictionary.found()) {
    std::vector<uint32_t> lengths;
    std::string together;
    for (std::string_view text : dictionary.distinct) {
      lengths.push_back(static_cast<uint32_t>(text.size()));
      together += text;
    }
    const double bytes = static_cast<double>(together.size() + 4 * lengths.size()) +
                         static_cast<double>(PackedBytes(texts.size(), dictionary.width(), 32));
    if (bytes < kDictionaryPays * static_cast<double>(block.bytes.size() + 2 * texts.size())) {
      StartStream(Encoding::kDictionary, 0, lengths.size(), 0, out);
      EncodeWords(lengths, out);
      EncodeBytes({reinterpret_cast<const uint8_t*>(together.data()), together.size()}, out);
      EncodeWords(dictionary.which, out);
      return;
    }
  }
  EncodeWords(Lengths(block, rows), out);
  EncodeBytes(block.bytes.span(), out);
}

}  // namespace

void EncodeColumn(const Column& column, const ColumnBlock& block, int64_t rows, std::string& out) {
  switch (column.kind) {
    case ColumnKind::kDense:
      if (column.dtype == DType::kF32) {
        EncodeFloats(block.floats.span(), out);
      } else if (column.dtype == DType::kI64) {
        EncodeInts(block.ints.span(), out);
      } else {
        EncodeBytes(block.bytes.span(), out);
      }
      return;
    case ColumnKind::kIds:
    case ColumnKind::kWeightedIds:
      EncodeWords(Lengths(block, rows), out);
      EncodeInts(block.ints.span(), out);
      if (column.kind == ColumnKind::kWeightedIds) EncodeFloats(block.floats.span(), out);
      return;
    case ColumnKind::kString:
      EncodeStrings(block, rows, out);
      return;
  }
}

}  // namespace catamaran
