#include "catamaran/table/memory/row_changes.h"

#include <algorithm>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {
namespace {

constexpr int64_t kChunkWords = int64_t{1} << 16;

}  // namespace

CopiedRows::CopiedRows(int words)
    : words_(words), entries_per_chunk_(std::max<int64_t>(16, kChunkWords / (words + 1))) {}

void CopiedRows::Append(uint32_t slot, const uint32_t* row) {
  Chunk* chunk = last_;
  int64_t entry = chunk == nullptr ? 0 : chunk->entries.load(std::memory_order_relaxed);
  if (chunk == nullptr || entry == entries_per_chunk_) {
    chunk = new Chunk;
    const auto words = static_cast<size_t>(entries_per_chunk_ * (words_ + 1));
    chunk->words = std::make_unique_for_overwrite<uint32_t[]>(words);
    bytes_.fetch_add(static_cast<int64_t>(words) * 4, std::memory_order_relaxed);
    (last_ == nullptr ? first_ : last_->next).store(chunk, std::memory_order_release);
    last_ = chunk;
    entry = 0;
  }
  uint32_t* to = chunk->words.get() + entry * (words_ + 1);
  to[0] = slot;
  std::copy_n(row, words_, to + 1);
  to[1 + row_words::kTag] = RecordFeature(row);
  chunk->entries.store(entry + 1, std::memory_order_release);
}

const uint32_t* CopiedRows::Find(uint32_t slot) {
  if (at_ == nullptr) at_ = first_.load(std::memory_order_acquire);
  while (at_ != nullptr) {
    const int64_t entries = at_->entries.load(std::memory_order_acquire);
    for (; at_entry_ < entries; ++at_entry_) {
      const uint32_t* entry = at_->words.get() + at_entry_ * (words_ + 1);
      found_.emplace(entry[0], entry + 1);
    }
    Chunk* next = at_->next.load(std::memory_order_acquire);
    if (at_entry_ < entries_per_chunk_ || next == nullptr) break;
    at_ = next;
    at_entry_ = 0;
  }
  const auto it = found_.find(slot);
  return it == found_.end() ? nullptr : it->second;
}

void CopiedRows::Clear() {
  for (Chunk* chunk = first_.load(); chunk != nullptr;) {
    delete std::exchange(chunk, chunk->next.load());
  }
  first_.store(nullptr);
  last_ = nullptr;
  bytes_.store(0);
  at_ = nullptr;
  at_entry_ = 0;
  found_ = {};
}

RowChanges::RowChanges(const Shard& shard, const RowLayout& layout) : shard_(shard) {
  for (size_t c = 0; c < kRowClasses; ++c) {
    now_[c] = std::make_unique<SlotBits>(RowHandle::kMaxRows);
    before_[c] = std::make_unique<SlotBits>(RowHandle::kMaxRows);
    copied_[c] = std::make_unique<CopiedRows>(layout.classes[c].words);
  }
}

void RowChanges::OnFirstChange(RowHandle slot) {
  const auto c = static_cast<size_t>(slot.row_class());
  if (cutting_ && CutHolds(c, slot.index())) {
    copied_[c]->Append(slot.index(), shard_.row(slot));
  } else if (clean_ && slot.index() >= shard_.count(slot.row_class())) {
    return;
  }
  now_[c]->Set(slot.index());
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

void RowChanges::ReadSlot(RowHandle slot, uint32_t* record) {
  const auto c = static_cast<size_t>(slot.row_class());
  // A slot is copied, then marked, then changed: what was read of one that is not marked
  // afterwards is what it held at the cut.
  while (!now_[c]->Test(slot.index())) {
    if (shard_.ReadSlot(slot, record) && !now_[c]->Test(slot.index())) return;
  }
  const uint32_t* copy = copied_[c]->Find(slot.index());
  std::copy_n(copy, copied_[c]->words(), record);
}

int64_t RowChanges::bytes() const {
  int64_t bytes = 0;
  for (size_t c = 0; c < kRowClasses; ++c) {
    bytes += now_[c]->bytes() + before_[c]->bytes() + copied_[c]->bytes();
  }
  return bytes + num_deleted_.load(std::memory_order_relaxed) * int64_t{sizeof(uint64_t)};
}

}  // namespace catamaran
