#include "catamaran/ops/sorting/sorted_line.h"

#include <cstring>

namespace catamaran {
namespace {

constexpr int64_t kFew = 48;        // are sorted by comparing
constexpr int64_t kMany = 1 << 13;  // are worth the larger tables of long digits

// Least digit first. Digits in which all keys agree are passed over.
template <int kDigitBits, class Entry>
Entry* RadixSort(Entry* from, Entry* to, int64_t n) {
  using Key = typename Entry::Key;
  constexpr int kBits = 8 * static_cast<int>(sizeof(Key));
  constexpr int kDigits = (kBits + kDigitBits - 1) / kDigitBits;
  constexpr size_t kValues = size_t{1} << kDigitBits;
  constexpr Key kMask = static_cast<Key>(kValues - 1);
  uint32_t counts[kDigits][kValues];
  std::memset(counts, 0, sizeof(counts));
  for (int64_t k = 0; k < n; ++k) {
    const Key key = from[k].key();
    for (int d = 0; d < kDigits; ++d) ++counts[d][key >> (d * kDigitBits) & kMask];
  }
  for (int d = 0; d < kDigits; ++d) {
    const int shift = d * kDigitBits;
    uint32_t* count = counts[d];
    if (static_cast<int64_t>(count[from[0].key() >> shift & kMask]) == n) continue;
    uint32_t next = 0;
    for (size_t v = 0; v < kValues; ++v) {
      const uint32_t c = count[v];
      count[v] = next;
      next += c;
    }
    for (int64_t k = 0; k < n; ++k) to[count[from[k].key() >> shift & kMask]++] = from[k];
    std::swap(from, to);
  }
  return from;
}

template <class Entry>
void InsertionSort(Entry* entries, int64_t n) {
  for (int64_t k = 1; k < n; ++k) {
    const Entry moved = entries[k];
    int64_t at = k;
    for (; at > 0 && moved < entries[at - 1]; --at) entries[at] = entries[at - 1];
    entries[at] = moved;
  }
}

template <class Entry>
Entry* Sort(Entry* entries, Entry* other, int64_t n) {
  if (n <= 16) {
    InsertionSort(entries, n);
    return entries;
  }
  if (n <= kFew * (sizeof(Entry) > 8 ? 2 : 1)) {
    std::sort(entries, entries + n);
    return entries;
  }
  return n < kMany ? RadixSort<8>(entries, other, n) : RadixSort<11>(entries, other, n);
}

}  // namespace

NarrowEntry* SortEntries(NarrowEntry* entries, NarrowEntry* other, int64_t n) {
  return Sort(entries, other, n);
}
WideEntry* SortEntries(WideEntry* entries, WideEntry* other, int64_t n) {
  return Sort(entries, other, n);
}

}  // namespace catamaran
