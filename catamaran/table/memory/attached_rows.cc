#include "catamaran/table/memory/attached_rows.h"

#include <thread>
#include <utility>

namespace catamaran {

void AttachedRows::Attach(std::shared_ptr<const RowBacking> backing) {
  owner_ = std::move(backing);
  next_ = 0;
  for (auto& word : moved_) word.store(0, std::memory_order_relaxed);
  for (size_t c = 0; c < kRowClasses; ++c) {
    left_[c].store(owner_->num_rows(static_cast<RowClass>(c)), std::memory_order_relaxed);
  }
  backing_.store(owner_.get(), std::memory_order_release);
}

void AttachedRows::SetMoved(uint64_t unit) {
  moved_[unit / 64].fetch_or(uint64_t{1} << unit % 64, std::memory_order_release);
}

uint64_t AttachedRows::NextUnit() {
  while (next_ < kUnits && moved(next_)) ++next_;
  return next_;
}

void AttachedRows::Detach(Epochs& epochs) {
  backing_.store(nullptr, std::memory_order_release);
  const Epochs::Stamp stamp = epochs.Retire();
  while (!epochs.Passed(stamp)) std::this_thread::yield();
  owner_.reset();
}

}  // namespace catamaran
