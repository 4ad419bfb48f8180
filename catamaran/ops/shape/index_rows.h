// ops/shape/index_rows.h
//
// Rows chosen by indices: copied, or added up. The loops that gather, index_select, scatter_add
// and index_add share. Indices were checked before.

#pragma once

#include <cstring>

#include "catamaran/ops/shape/indices.h"

namespace catamaran {

// One side is [outer, size, inner], the other [outer, count, inner]. For GatherRows `inner` is in
// bytes.
struct IndexedRows {
  int64_t outer, size, inner, count;
};

namespace index_rows_internal {

constexpr int64_t kAhead = 12;  // rows: about as many as are on their way from memory at once

// Rows of `known` bytes, or of s.inner where that is 0.
template <int64_t known, class I>
void GatherSome(const IndexedRows& s, const I* indices, const char* x, char* y, int64_t begin,
                int64_t end) {
  const int64_t bytes = known > 0 ? known : s.inner;
  y += begin * bytes;
  for (int64_t k = begin; k < end; ++k, y += bytes) {
    if (k + kAhead < end) {
      const char* next = x + static_cast<int64_t>(indices[k + kAhead]) * bytes;
      __builtin_prefetch(next);
      if (bytes > 64) __builtin_prefetch(next + 64);
    }
    std::memcpy(y, x + static_cast<int64_t>(indices[k]) * bytes, static_cast<size_t>(bytes));
  }
}

template <class I>
auto GatherFunction(int64_t bytes) {
  switch (bytes) {
    case 1:
      return GatherSome<1, I>;
    case 2:
      return GatherSome<2, I>;
    case 4:
      return GatherSome<4, I>;
    case 8:
      return GatherSome<8, I>;
    case 16:
      return GatherSome<16, I>;
    case 32:
      return GatherSome<32, I>;
    case 64:
      return GatherSome<64, I>;
    case 128:
      return GatherSome<128, I>;
    default:
      return GatherSome<0, I>;
  }
}

}  // namespace index_rows_internal

template <class I>
void GatherRows(const IndexedRows& s, const I* indices, const char* x, char* y, ThreadPool* pool) {
  if (s.inner == 0 || s.count == 0) return;
  const auto gather = index_rows_internal::GatherFunction<I>(s.inner);
  Split(pool, s.outer * s.count, s.inner / 4 + 8, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t o = at / s.count, k = at % s.count;
      const int64_t stop = std::min(s.count, k + end - at);
      gather(s, indices, x + o * s.size * s.inner, y + o * s.count * s.inner, k, stop);
      at += stop - k;
    }
  });
}

// Adds the rows of dy to those of y that the indices name, in order. Threads divide the outer
// entries, or else the columns, so the order of every sum is the same.
template <class T, class I>
void AddRows(const IndexedRows& s, const I* indices, const T* dy, T* y, ThreadPool* pool) {
  if (s.inner == 0) return;
  using index_rows_internal::kAhead;
  constexpr int64_t kColumns = 64;
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t bands = s.outer > 1 ? 1 : (s.inner + kColumns - 1) / kColumns;
  const int64_t width = bands == 1 ? s.inner : kColumns;
  Split(pool, s.outer * bands, 2 * s.count * width, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end;) {
      // The bands of one outer entry that this thread has, as one.
      const int64_t o = item / bands, first = item % bands;
      const int64_t last = std::min(bands, first + end - item);
      const int64_t c0 = first * width, c1 = std::min(s.inner, last * width);
      const T* from = dy + o * s.count * s.inner;
      T* to = y + o * s.size * s.inner;
      const int64_t near = std::min(c1 - c0, 8 * kLine);
      for (int64_t k = 0; k < s.count; ++k) {
        if (k + kAhead < s.count) {
          const T* next = to + static_cast<int64_t>(indices[k + kAhead]) * s.inner + c0;
          for (int64_t i = 0; i < near; i += kLine) {
            __builtin_prefetch(next + i, 1);
          }
        }
        T* __restrict row = to + static_cast<int64_t>(indices[k]) * s.inner;
        const T* __restrict add = from + k * s.inner;
        for (int64_t i = c0; i < c1; ++i) row[i] = static_cast<T>(row[i] + add[i]);
      }
      item += last - first;
    }
  });
}

}  // namespace catamaran
