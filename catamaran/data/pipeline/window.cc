#include "catamaran/data/pipeline/window.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/hash.h"
#include "catamaran/data/pipeline/shuffle.h"

namespace catamaran {

void Window::Add(std::shared_ptr<Chunk> chunk, int64_t begin, int64_t end) {
  pieces_.push_back({.begin = begin, .end = end, .first = rows_});
  chunks_.push_back(std::move(chunk));
  rows_ += end - begin;
}

int64_t Window::Length(int column, RowRef ref) const {
  const auto& offsets = (*blocks_[ref.block])[column].offsets;
  // A row without tokens takes room too.
  return std::max(offsets[ref.row + 1] - offsets[ref.row], 1);
}

void Window::Arrange(const BatchRule& rule) {
  for (const auto& chunk : chunks_) blocks_.push_back(&chunk->rows);
  if (rule.shuffle_window > 0 || rule.tokens > 0) {
    order_.reserve(static_cast<size_t>(rows_));
    for (size_t p = 0; p < pieces_.size(); ++p) {
      for (int64_t row = pieces_[p].begin; row < pieces_[p].end; ++row) {
        order_.push_back({.block = static_cast<uint32_t>(p), .row = static_cast<uint32_t>(row)});
      }
    }
  }
  if (rule.shuffle_window > 0) {
    const uint64_t key = HashCombine(HashCombine(rule.seed, static_cast<uint64_t>(start_.epoch)),
                                     static_cast<uint64_t>(start_.window));
    Shuffle(key, std::span(order_));
    picker_ = RowPicker(blocks_[0]->schema(), blocks_);
    if (rule.bucket) Bucket(rule, key);
  }
  if (rule.tokens > 0) {
    lengths_.reserve(order_.size());
    for (const RowRef ref : order_) lengths_.push_back(Length(rule.length_column, ref));
  }
  if (rule.shuffle_window == 0) order_ = {};
}

void Window::Bucket(const BatchRule& rule, uint64_t key) {
  // Rows of one length stay in their random order.
  std::ranges::stable_sort(order_, {}, [&](RowRef ref) { return Length(rule.length_column, ref); });
  struct Range {
    size_t begin = 0, end = 0;
  };
  std::vector<Range> batches;
  const auto cap = rule.tokens > 0 ? rule.tokens : rule.rows;
  int64_t sum = 0;
  bool full = false;
  for (size_t i = 0; i < order_.size(); ++i) {
    const int64_t cost = rule.tokens > 0 ? Length(rule.length_column, order_[i]) : 1;
    if (i == 0 || sum + cost > cap) {
      batches.push_back({.begin = i, .end = i});
      sum = 0;
    }
    sum += cost;
    batches.back().end = i + 1;
    full = sum >= cap;
  }
  // One that could have taken more comes last: it may be the last of the epoch.
  Shuffle(HashCombine(key, 1), std::span(batches).first(batches.size() - (full ? 0 : 1)));
  std::vector<RowRef> order;
  order.reserve(order_.size());
  for (const Range& batch : batches) {
    order.insert(order.end(), order_.begin() + static_cast<std::ptrdiff_t>(batch.begin),
                 order_.begin() + static_cast<std::ptrdiff_t>(batch.end));
    cuts_.push_back(static_cast<int64_t>(order.size()));
  }
  order_ = std::move(order);
}

Window::Cut Window::CutBatch(const BatchRule& rule, int64_t begin, int64_t taken,
                             int64_t tokens) const {
  if (rule.bucket) {
    const int64_t end = *std::ranges::upper_bound(cuts_, begin);
    Cut cut{.rows = end - begin};
    if (rule.tokens > 0) {
      for (int64_t i = begin; i < end; ++i) cut.tokens += lengths_[static_cast<size_t>(i)];
    }
    cut.full = end < rows_ || (rule.tokens > 0 ? cut.tokens >= rule.tokens : cut.rows >= rule.rows);
    return cut;
  }
  if (rule.tokens == 0) {
    const int64_t rows = std::min(rule.rows - taken, rows_ - begin);
    return {.rows = rows, .tokens = 0, .full = taken + rows == rule.rows};
  }
  Cut cut;
  for (int64_t i = begin; i < rows_; ++i) {
    const int64_t length = lengths_[static_cast<size_t>(i)];
    if (taken + cut.rows > 0 && tokens + cut.tokens + length > rule.tokens) {
      cut.full = true;
      return cut;
    }
    ++cut.rows;
    cut.tokens += length;
  }
  cut.full = tokens + cut.tokens >= rule.tokens;
  return cut;
}

void Window::Append(int64_t begin, int64_t end, RowBlock& out) const {
  if (!order_.empty()) {
    picker_.Append(
        std::span(order_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
        out);
    return;
  }
  for (size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& piece = pieces_[p];
    const int64_t from = std::max(begin - piece.first, int64_t{0}) + piece.begin;
    const int64_t to = std::min(end - piece.first + piece.begin, piece.end);
    if (from < to) out.AppendRows(*blocks_[p], from, to);
  }
}

}  // namespace catamaran
