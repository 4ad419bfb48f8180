// table/memory/shard.h
//
// One part of a memory table: the rows of all keys whose hash begins with the same few bits, with
// their index. One thread writes it at a time; readers go straight in.
//
// Rows of a class lie one after another without gaps: the slots [0, count(class)) of its arena. A
// removed row's slot is taken by the last row. So a handle is good until the next Remove or
// ChangeClass, and nothing fragments.
//
// Changes are followed by slot: before the contents of a slot change, whatever the reason, the
// shard tells its SlotWatcher, while the slot still holds what it held. A row that moves changes
// two slots.
//
// Thread safety: methods that are not const are the writer's: one thread at a time for each shard,
// any threads for different shards. Methods marked "readers" may be called at any time by any
// thread that holds a guard of the table's Epochs. Figures (count, memory, longest_pause_ns) may be
// asked for at any time, by anybody. Other const methods are the writer's too.

#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/memory/epochs.h"
#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_handle.h"
#include "catamaran/table/memory/shard_index.h"
#include "catamaran/table/memory/shard_rows.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

// Is told of changes before they happen.
class SlotWatcher {
 public:
  virtual ~SlotWatcher() = default;
  // The slot is about to hold something else: other words, another row, or none. It held a row so
  // far if slot.index() < count(slot.row_class()).
  virtual void BeforeSlotChange(RowHandle slot) = 0;
};

class Shard {
 public:
  struct Options {
    int shard_bits = 0;  // of the hash say which shard
    int64_t shard = 0;   // which one this is
    PageMode pages = PageMode::kTransparent;
    size_t reserve_bytes = 0;  // of addresses for the rows of each class
  };
  // `config`, `layout` and `epochs` outlive the shard.
  Shard(const TableConfig& config, const RowLayout& layout, Epochs& epochs, const Options& options);

  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Null, as at first: nobody wants to know.
  void set_watcher(SlotWatcher* watcher) { watcher_ = watcher; }

  // --- Finding, for the writer. `hash` is config.Hash(key).

  RowHandle Find(uint64_t hash, uint64_t key) const;

  // The same for many keys, in stages some keys apart, so that memory is asked for early. They only
  // hint: any other method may be called between them.
  //   PrefetchIndex(hash)
  //   guess = PrefetchRow(hash)         asks for the row that it probably is; kNoRow: surely none
  //   handle = Find(hash, key, guess)   a glance if the guess was right
  void PrefetchIndex(uint64_t hash) const { index_.PrefetchLine(hash); }
  RowHandle PrefetchRow(uint64_t hash) const;
  RowHandle Find(uint64_t hash, uint64_t key, RowHandle guess) const;

  // --- Rows, for the writer.

  // Whether steps make rows of the class.
  bool makes(RowClass c) const {
    const TableConfig& config = rows_.config();
    if (c == RowClass::kWaiting) return config.admit.kind == TableAdmit::Kind::kCount;
    return c == RowClass::kFull || config.grow_at.has_value();
  }
  int64_t count(RowClass c) const { return rows_.of(c).count(); }

  // The words of a row. They may be read plainly by the writer, who alone changes them.
  const uint32_t* row(RowHandle handle) const { return rows_.row(handle); }

  // Takes all memory ahead that a step takes which inserts those of `keys` that are not there, or
  // gives them another class: none of the methods that change rows fails then for want of memory.
  // An Error, with no row changed, if there is none. Where there is plenty it costs next to
  // nothing.
  void Reserve(std::span<const ShardIndex::Wanted> keys);
  // Whether there is nothing to do for any `keys` keys; asked so, it costs nothing.
  bool HasRoomFor(int64_t keys) const {
    return RowsFit(keys) && index_.HasRoomFor(keys, HandleBitsAfter(keys));
  }
  // The same for certain keys: the caller tells index() of each (BeginWanted, Want), then asks.
  ShardIndex& index_for_reserving() { return index_; }
  bool WantedFit(int64_t keys) const {
    return RowsFit(keys) && index_.WantedFit(HandleBitsAfter(keys));
  }

  // Makes a row for the record's key. Readers see all of it or nothing. An Error, with nothing
  // changed, if there is no memory. REQUIRES: the key has no row of any class.
  RowHandle Insert(uint64_t hash, RowClass c, const uint32_t* record);

  // Replaces the words of a row, as one change. REQUIRES: the same key and class.
  void Store(RowHandle handle, const uint32_t* record);

  // The same in steps, for who changes few words: after BeginWrite the words may be stored with
  // StoreWord(s) of row_access.h (and, but under the thread sanitizer, by any code), all but the
  // tag; EndWrite makes them visible. Readers of the row wait meanwhile, so be quick.
  uint32_t* BeginWrite(RowHandle handle) {
    Announce(handle);
    uint32_t* words = MutableRow(handle);
    BeginRowWrite(words);
    return words;
  }
  void EndWrite(RowHandle handle, uint32_t feature) {
    uint32_t* words = MutableRow(handle);
    EndRowWrite(words, (LoadWord(words + row_words::kTag) & kSequenceBits) | feature);
  }

  // Removes a row. The last row of the class (slot count - 1 before the call) takes its slot.
  void Remove(RowHandle handle);

  // Gives a row's key another class with the words of `record`: at any moment readers see the one
  // or the other. Returns the new handle; the old slot is taken as by Remove. An Error, with
  // nothing changed, if there is no memory.
  RowHandle ChangeClass(RowHandle handle, uint64_t hash, RowClass c, const uint32_t* record);

  // --- Walking, for the writer, over the rows whose hash is in [first, last], in no order. Whole
  // shard: 0, UINT64_MAX. `visit` may not call the shard, but for row().

  void WalkRange(uint64_t first, uint64_t last, FunctionRef<void(RowHandle)> visit) const;

  // Gives back memory that no reader looks at any more, and makes pages huge that are not yet, a
  // few at a time. Costs next to nothing if there are none; call it once a step.
  void Reclaim();

  // --- Reading, for readers.

  // Asks for all rows that might be of a hash, so that Read need not wait for them. A hint.
  void PrefetchCandidates(uint64_t hash) const;
  // Copies the record of a key, its sequence bits 0. False if it is not there.
  bool Read(uint64_t hash, uint64_t key, RowClass* c, uint32_t* record) const;
  // Copies what is in a slot. False if it holds no row, or is being written.
  bool ReadSlot(RowHandle slot, uint32_t* record) const {
    return LoadRow(row(slot), record, layout_.of(slot.row_class()).words);
  }

  const ShardIndex& index() const { return index_; }
  const ShardRows& rows() const { return rows_; }

  // --- Figures.

  int64_t row_bytes() const;  // memory that rows take, with what is kept for the next ones
  int64_t index_bytes() const { return index_.bytes(); }
  int64_t longest_pause_ns() const { return longest_pause_ns_.load(std::memory_order_relaxed); }

 private:
  uint32_t* MutableRow(RowHandle handle) { return rows_.row(handle); }
  void Announce(RowHandle slot) {
    if (watcher_ != nullptr) watcher_->BeforeSlotChange(slot);
  }
  // What the next row of a class will have.
  RowHandle NextHandle(RowClass c) const {
    return RowHandle(c, static_cast<uint32_t>(rows_.of(c).count()));
  }
  // For one more row, and an entry if it is to have one of its own, and notes how long it took.
  void MakeRoom(uint64_t hash, RowClass c, bool for_entry);
  bool RowsFit(int64_t keys) const;
  // Bits of the largest handle that there is once so many rows have been added.
  int HandleBitsAfter(int64_t rows) const;
  RowHandle Append(RowClass c, const uint32_t* record);
  // Fills the slot of a row that the index knows no more.
  void CloseGap(RowHandle gap);

  const RowLayout& layout_;
  const uint64_t first_hash_;
  const uint64_t last_hash_;
  SlotWatcher* watcher_ = nullptr;
  ShardRows rows_;
  ShardIndex index_;
  std::atomic<int64_t> longest_pause_ns_ = 0;
};

}  // namespace catamaran
