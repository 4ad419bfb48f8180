#include "catamaran/data/pipeline/chunk_order.h"

#include <numeric>
#include <span>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/data/pipeline/shuffle.h"

namespace catamaran {

namespace {

// Parts are shuffled with another key than any window.
constexpr uint64_t kPartsKey = 0x7061727473u;

}  // namespace

ChunkOrder::ChunkOrder(const BatchRule& rule, int64_t parts, int64_t epochs)
    : shuffled_(rule.shuffle_window > 0), seed_(rule.seed), parts_(parts), epochs_(epochs) {}

void ChunkOrder::Restart(const Place& place) {
  if (parts_ > 0 ? place.chunk > parts_ : place.chunk > 0 && place.reader.bytes.empty()) {
    Fail(ErrorCode::kStorage, "going on with the data: the position is damaged: no chunk {}",
         place.chunk);
  }
  epoch_ = place.epoch;
  chunk_ = place.chunk;
  done_ = epochs_ > 0 && epoch_ >= epochs_;
  OrderParts();
}

ChunkOrder::Next ChunkOrder::Take() {
  Next next{.epoch = epoch_, .chunk = chunk_++, .part = std::nullopt};
  if (parts_ == 0) return next;
  if (next.chunk == parts_) {
    EndEpoch();
  } else {
    next.part = shuffled_ ? order_[static_cast<size_t>(next.chunk)] : next.chunk;
  }
  return next;
}

void ChunkOrder::EndEpoch() {
  ++epoch_;
  chunk_ = 0;
  if (epochs_ > 0 && epoch_ >= epochs_) {
    done_ = true;
  } else {
    OrderParts();
  }
}

void ChunkOrder::OrderParts() {
  if (parts_ == 0 || !shuffled_) return;
  order_.resize(static_cast<size_t>(parts_));
  std::iota(order_.begin(), order_.end(), 0);
  Shuffle(HashCombine(HashCombine(seed_ ^ kPartsKey, static_cast<uint64_t>(epoch_)), 0),
          std::span(order_));
}

}  // namespace catamaran
