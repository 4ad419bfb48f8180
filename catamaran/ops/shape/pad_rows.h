// ops/shape/pad_rows.h
//
// pad and pad_grad by rows of the last axis that has a border; what lies behind it moves as one
// block.

#pragma once

#include <algorithm>
#include <cstring>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/pad_reference.h"

namespace catamaran {

// Runs of elements that are often a few vectors long: calls would take longer than the work.
template <class T>
class ShortRuns {
 public:
  explicit ShortRuns(T value) : value_(value) {
    for (size_t i = 0; i < kPiece; i += sizeof(T)) std::memcpy(pattern_ + i, &value, sizeof(T));
  }

  // Sets n elements to the value.
  void Fill(T* to, int64_t n) const {
    Pieces(
        n, [&](int64_t at) { std::memcpy(to + at, pattern_, kPiece); },
        [&](int64_t at) { to[at] = value_; });
  }
  static void Copy(const T* from, T* to, int64_t n) {
    if (n > kLong) {
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(n) * sizeof(T));
      return;
    }
    Pieces(
        n, [&](int64_t at) { std::memcpy(static_cast<void*>(to + at), from + at, kPiece); },
        [&](int64_t at) { to[at] = from[at]; });
  }

 private:
  static constexpr size_t kPiece = 16;  // bytes
  static constexpr auto kElements = static_cast<int64_t>(kPiece / sizeof(T));
  static constexpr auto kLong = static_cast<int64_t>(512 / sizeof(T));

  // Covers [0, n) by pieces, the last of which overlaps the one before it.
  template <class Piece, class One>
  static void Pieces(int64_t n, Piece&& piece, One&& one) {
    if (n < kElements) {
      for (int64_t i = 0; i < n; ++i) one(i);
      return;
    }
    for (int64_t i = 0; i < n - kElements; i += kElements) piece(i);
    piece(n - kElements);
  }

  T value_;
  unsigned char pattern_[kPiece];
};

// Rows of the padded side: n entries of `block` elements with a border. Rows of the axis before
// stand next to each other, `group` of them, of which `near` behind `near_before` are x's own.
struct PadLayout {
  explicit PadLayout(const reference::PadSizes& s) : groups(s) {
    int64_t last = s.rank - 1;
    while (last > 0 && s.before[last] + s.after[last] == 0) block *= s.dims[last--];
    n = s.dims[last];
    before = s.before[last];
    after = s.after[last];
    row = (n + before + after) * block;
    for (int64_t a = 0; a < last; ++a) rows *= s.dims[a] + s.before[a] + s.after[a];
    if (last > 0) {
      near = s.dims[last - 1];
      near_before = s.before[last - 1];
      group = near + near_before + s.after[last - 1];
    }
    groups.rank = std::max<int64_t>(0, last - 1);
  }
  int64_t n = 0, before = 0, after = 0, block = 1, row = 0, rows = 1;
  int64_t near = 1, near_before = 0, group = 1;
  reference::PadSizes groups;  // the axes before
};

// With a constant border. The border behind a row and the one in front of the next are one run.
template <class T>
void PadConstant(const T* x, T* y, const reference::PadSizes& s, const PadLayout& p,
                 ThreadPool* pool) {
  const ShortRuns<T> runs(static_cast<T>(s.value));
  const int64_t inner = p.n * p.block, before = p.before * p.block, gap = p.row - inner;
  Split(pool, p.rows, p.row, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin, until; r < end; r = until) {
      // Rows [r, until) of one group, of which [first, last) have a row of x.
      const int64_t g = r / p.group, start = g * p.group;
      until = std::min(end, start + p.group);
      const int64_t base = reference::PadPosition(g, p.groups);
      const int64_t first = std::clamp(start + p.near_before, r, until);
      const int64_t last = std::clamp(start + p.near_before + p.near, first, until);
      if (base < 0 || first == last) {
        runs.Fill(y + r * p.row, (until - r) * p.row);
        continue;
      }
      const T* from = x + (base * p.near + first - start - p.near_before) * inner;
      T* to = y + first * p.row + before;
      runs.Fill(y + r * p.row, (first - r) * p.row + before);
      for (int64_t i = first; i + 1 < last; ++i, from += inner, to += p.row) {
        runs.Copy(from, to, inner);
        runs.Fill(to + inner, gap);
      }
      runs.Copy(from, to, inner);
      runs.Fill(to + inner, gap - before + (until - last) * p.row);
    }
  });
}

// With a border of x's own entries.
template <class T>
void PadOwn(const T* x, T* y, const reference::PadSizes& s, const PadLayout& p, ThreadPool* pool) {
  Split(pool, p.rows, p.row, [&](int64_t begin, int64_t end) {
    int64_t base = -1;
    for (int64_t r = begin; r < end; ++r) {
      T* to = y + r * p.row;
      const int64_t within = r % p.group;
      if (r == begin || within == 0) base = reference::PadPosition(r / p.group, p.groups);
      const int64_t own = reference::PadSource(within - p.near_before, p.near, s.mode);
      const T* from = x + (base * p.near + own) * p.n * p.block;
      const auto entry = [&](int64_t i) {
        const int64_t at = reference::PadSource(i - p.before, p.n, s.mode);
        ShortRuns<T>::Copy(from + at * p.block, to + i * p.block, p.block);
      };
      for (int64_t i = 0; i < p.before; ++i) entry(i);
      ShortRuns<T>::Copy(from, to + p.before * p.block, p.n * p.block);
      for (int64_t i = 0; i < p.after; ++i) entry(p.before + p.n + i);
    }
  });
}

// REQUIRES: y has elements.
template <class T>
void PadRows(const T* x, T* y, const reference::PadSizes& s, ThreadPool* pool) {
  if (s.rank == 0) {
    *y = *x;
  } else if (s.mode == 0) {
    PadConstant(x, y, s, PadLayout(s), pool);
  } else {
    PadOwn(x, y, s, PadLayout(s), pool);
  }
}

// Row by row of the last axis; the middle of each row in one go.
template <class T>
void FoldRows(const T* g, T* dx, const reference::PadSizes& s) {
  const int64_t last = s.rank - 1;
  const int64_t n = s.dims[last], before = s.before[last];
  const int64_t row = n + before + s.after[last];
  reference::PadSizes outer = s;  // of rows
  outer.rank = last;
  const int64_t rows = reference::PaddedCount(outer);
  for (int64_t r = 0; r < rows; ++r, g += row) {
    const int64_t at = reference::PadPosition(r, outer);
    if (at < 0) continue;
    T* __restrict to = dx + at * n;
    for (int64_t i = 0; i < row; ++i) {
      if (i == before && n > 0) {
        for (int64_t k = 0; k < n; ++k) to[k] += g[before + k];
        i += n - 1;
        continue;
      }
      const int64_t from = reference::PadSource(i - before, n, s.mode);
      if (from >= 0) to[from] += g[i];
    }
  }
}

}  // namespace catamaran
