// table/memory/row_changes.h
//
// What has changed in a shard since its last cut, by slot, and the slots as they were at a cut
// that is being saved. Two sets of slots: `now`, changed since the last cut, and `before`, what
// the cut in progress holds. The first change of a slot after a cut that holds it copies what it
// held to a log; whoever saves reads a slot where it lies and, if it has changed, in the log. So a
// cut costs nothing when it is made, and a copy only for rows that are written while it is saved.
// The log holds at most the rows that the saver has not let go yet; it does so class by class.
//
// Nothing is followed until the first cut (or Follow): everything has changed then.
//
// Following a change may take memory; Reserve takes it ahead.
//
// Thread safety: writing methods are the shard's writer's; BeginCut and EndCut are called while
// nobody writes; the methods of the cut may be called by one other thread at the same time as all
// others, between BeginCut and EndCut.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "catamaran/table/memory/copied_rows.h"
#include "catamaran/table/memory/shard.h"
#include "catamaran/table/memory/slot_bits.h"

namespace catamaran {

class RowChanges final : public SlotWatcher {
 public:
  RowChanges(const Shard& shard, const RowLayout& layout);

  // --- For the writer.

  void BeforeSlotChange(RowHandle slot) override {
    if (following_ && !now_[static_cast<size_t>(slot.row_class())]->Test(slot.index())) {
      OnFirstChange(slot);
    }
  }
  // Room for what a step does to `keys` keys: none of the methods above and below fails then.
  // Otherwise they fail with nothing changed where there is no memory.
  void Reserve(int64_t keys);
  // Whether BeforeSlotChange does anything.
  bool following() const { return following_; }
  void PrefetchSlot(RowHandle slot) const {
    if (following_) now_[static_cast<size_t>(slot.row_class())]->Prefetch(slot.index());
  }
  // The row or count of a key is about to go.
  void OnRemove(uint64_t key) {
    if (!following_) return;
    deleted_now_.push_back(key);
    num_deleted_.fetch_add(1, std::memory_order_relaxed);
  }
  // While true, slots that get a row for the first time are not called changed: what they get has
  // been saved already.
  void set_clean(bool clean) { clean_ = clean; }
  // Gives memory back that a cut needs no more, a little at a time. Call it once a step.
  void Reclaim() {
    if (!cutting_) return;
    for (const auto& copied : copied_) copied->Reclaim();
  }

  // --- While nobody writes.

  // From here on changes are followed: all that is there has been saved.
  void Follow() { following_ = true; }
  void BeginCut(bool full);
  void EndCut(bool kept);

  // --- Of the cut in progress.

  // Slots of the class that existed at the cut, all or the changed ones.
  int64_t num_total(RowClass c) const { return cut_count_[static_cast<size_t>(c)]; }
  int64_t CountSlots(RowClass c) const;
  template <class F>
  void ForEachSlot(RowClass c, F&& visit) const;
  // Copies the record that the slot held at the cut. REQUIRES: the cut holds the slot; the caller
  // has a guard of the table's epochs; its class has not been let go.
  void ReadSlot(RowHandle slot, uint32_t* record);
  // The key of that record.
  uint64_t ReadKey(RowHandle slot);
  // To be called now and then, without a guard: what ReadSlot would have to catch up with.
  void CatchUp(RowClass c) { copied_[static_cast<size_t>(c)]->CatchUp(); }
  // Slots of the class will not be read any more: what they held is not kept any more.
  void LetGo(RowClass c) { copied_[static_cast<size_t>(c)]->LetGo(); }
  // Keys that went before the cut; they may be there again, and stand here more than once.
  const std::vector<uint64_t>& deleted() const { return deleted_before_; }

  // Memory in use; at any time.
  int64_t bytes() const;
  const Shard& shard() const { return shard_; }

 private:
  void OnFirstChange(RowHandle slot);
  // The first words of the record that the slot held at the cut.
  void ReadWords(RowHandle slot, uint32_t* record, int words);
  bool CutHolds(size_t c, uint32_t index) const {
    return index < cut_count_[c] && (cut_all_ || before_[c]->Test(index));
  }

  const Shard& shard_;
  bool following_ = false;
  bool clean_ = false;
  std::array<std::unique_ptr<SlotBits>, kRowClasses> now_, before_;
  std::vector<uint64_t> deleted_now_, deleted_before_;
  std::atomic<int64_t> num_deleted_ = 0;  // in both; for bytes()

  bool cutting_ = false;
  bool cut_all_ = false;              // the cut holds every slot
  bool followed_before_cut_ = false;  // what to go back to if the cut is not kept
  std::array<uint32_t, kRowClasses> cut_count_{};
  std::array<std::unique_ptr<CopiedRows>, kRowClasses> copied_;
};

template <class F>
void RowChanges::ForEachSlot(RowClass c, F&& visit) const {
  const auto k = static_cast<size_t>(c);
  if (!cut_all_) return before_[k]->ForEach(cut_count_[k], visit);
  for (uint32_t i = 0; i < cut_count_[k]; ++i) visit(i);
}

}  // namespace catamaran
