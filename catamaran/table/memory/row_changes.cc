#include "catamaran/table/memory/row_changes.h"

#include <algorithm>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {
RowChanges::RowChanges(const Shard& shard, const RowLayout& layout) : shard_(shard) {
  for (size_t c = 0; c < kRowClasses; ++c) {
    now_[c] = std::make_unique<SlotBits>(RowHandle::kMaxRows);
    before_[c] = std::make_unique<SlotBits>(RowHandle::kMaxRows);
    copied_[c] = std::make_unique<CopiedRows>(layout.classes[c].words);
  }
}

void RowChanges::OnFirstChange(RowHandle slot) {
  const auto c = static_cast<size_t>(slot.row_class());
  now_[c]->Reserve(uint64_t{slot.index()} + 1);
  if (cutting_ && CutHolds(c, slot.index())) {
    copied_[c]->Append(slot.index(), shard_.row(slot));
  } else if (clean_ && slot.index() >= shard_.count(slot.row_class())) {
    return;
  }
  now_[c]->Set(slot.index());
}

void RowChanges::Reserve(int64_t keys) {
  if (!following_) return;
  // A key changes at most three slots: its own, a new one, and the last one, which fills the gap.
  const int64_t slots = 3 * keys;
  for (size_t k = 0; k < kRowClasses; ++k) {
    const auto c = static_cast<RowClass>(k);
    const int64_t end = shard_.count(c) + (shard_.makes(c) ? keys : 0);
    now_[k]->Reserve(static_cast<uint64_t>(std::min(end, int64_t{RowHandle::kMaxRows})));
    if (cutting_) copied_[k]->Reserve(std::min(slots, int64_t{cut_count_[k]}));
  }
  const size_t deleted = deleted_now_.size() + static_cast<size_t>(keys);
  if (deleted > deleted_now_.capacity())
    deleted_now_.reserve(std::max(deleted, 2 * deleted_now_.capacity()));
}

void RowChanges::BeginCut(bool full) {
  for (size_t c = 0; c < kRowClasses; ++c) {
    now_[c]->Swap(*before_[c]);
    cut_count_[c] = static_cast<uint32_t>(shard_.count(static_cast<RowClass>(c)));
  }
  deleted_before_.swap(deleted_now_);
  cutting_ = true;
  cut_all_ = full || !following_;
  followed_before_cut_ = following_;
  following_ = true;
}

void RowChanges::EndCut(bool kept) {
  cutting_ = false;
  following_ = kept || followed_before_cut_;
  for (size_t c = 0; c < kRowClasses; ++c) {
    copied_[c]->Clear();
    if (!kept) now_[c]->SetAllOf(*before_[c]);
    before_[c]->Clear();
    if (!following_) now_[c]->Clear();
  }
  if (!kept)
    deleted_now_.insert(deleted_now_.end(), deleted_before_.begin(), deleted_before_.end());
  deleted_before_.clear();
  if (!following_) deleted_now_.clear();
  num_deleted_.store(static_cast<int64_t>(deleted_now_.size()), std::memory_order_relaxed);
}

int64_t RowChanges::CountSlots(RowClass c) const {
  const auto k = static_cast<size_t>(c);
  return cut_all_ ? int64_t{cut_count_[k]} : before_[k]->Count(cut_count_[k]);
}

void RowChanges::ReadWords(RowHandle slot, uint32_t* record, int words) {
  const auto c = static_cast<size_t>(slot.row_class());
  // A slot is copied, then marked, then changed: what was read of one that is not marked
  // afterwards is what it held at the cut.
  while (!now_[c]->Test(slot.index())) {
    if (LoadRow(shard_.row(slot), record, words) && !now_[c]->Test(slot.index())) return;
  }
  std::copy_n(copied_[c]->Find(slot.index()), words, record);
}

void RowChanges::ReadSlot(RowHandle slot, uint32_t* record) {
  ReadWords(slot, record, copied_[static_cast<size_t>(slot.row_class())]->words());
}

uint64_t RowChanges::ReadKey(RowHandle slot) {
  uint32_t words[row_words::kKey + 2];
  ReadWords(slot, words, row_words::kKey + 2);
  return RecordKey(words);
}

int64_t RowChanges::bytes() const {
  int64_t bytes = 0;
  for (size_t c = 0; c < kRowClasses; ++c) {
    bytes += now_[c]->bytes() + before_[c]->bytes() + copied_[c]->bytes();
  }
  return bytes + num_deleted_.load(std::memory_order_relaxed) * int64_t{sizeof(uint64_t)};
}

}  // namespace catamaran
