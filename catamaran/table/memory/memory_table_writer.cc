#include "catamaran/table/memory/memory_table_writer.h"

#include <algorithm>
#include <bit>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/memory/memory_cut.h"
#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

// Occurrences from which on a step is worth several threads.
constexpr int64_t kParallelOccurrences = 8192;
constexpr char kRowsByFeature[] = "rows_by_feature";

int64_t CountOccurrences(const TableStep& step) {
  int64_t count = 0;
  for (const TableObservation& o : step.observations) count += o.num_keys;
  for (const TablePush& push : step.pushes) count += CountKeys(*push.rows);
  return count;
}

}  // namespace

MemoryTableWriter::MemoryTableWriter(MemoryStore& store)
    : store_(store),
      policies_(store.config()),
      feature_rows_(kMaxTableFeatures + 1),
      batch_(policies_.rules, std::countr_zero(static_cast<unsigned>(store.num_shards()))) {
  for (int64_t s = 0; s < store.num_shards(); ++s) {
    changes_.push_back(std::make_unique<RowChanges>(store.shard(s), store.layout()));
    store.shard(s).set_watcher(changes_.back().get());
  }
  for (int64_t s = 0; s < store.num_shards(); ++s) {
    visitors_.emplace_back(store, policies_.rules, policies_.sketch.get(), changes_);
  }
  wanted_.resize(static_cast<size_t>(store.num_shards()));
  shared_sum_.resize(static_cast<size_t>(store.config().width));
}

MemoryTableWriter::~MemoryTableWriter() {
  for (int64_t s = 0; s < store_.num_shards(); ++s) store_.shard(s).set_watcher(nullptr);
}

void MemoryTableWriter::Prepare(const TableStep& step) {
  SettleExpiry();
  CheckTableStep(store_.config(), step);
  prepared_ = step;
  const bool parallel = step.pool != nullptr && step.pool->threads() > 1 &&
                        CountOccurrences(step) >= kParallelOccurrences;
  if (!parallel) prepared_.pool = nullptr;
  batch_.Gather(step, prepared_.pool, policies_.shared != nullptr);
  if (attached_.attached()) BringBatch(step);
  push_rules_.clear();
  for (const TablePush& push : step.pushes) {
    push_rules_.push_back(policies_.rules.ForStep(step.step, push.lr_scale));
  }
  ReserveBatch(prepared_.pool);
}

// In three steps, of which mostly the first or second is the last: a shard has room for any so many
// keys; or for these, be they there or not; or it is told of each key, and looks.
void MemoryTableWriter::ReserveBatch(ThreadPool* pool) {
  const std::span<const StepPart> parts = batch_.parts();
  for (size_t p = 0; p < parts.size(); ++p) visitors_[p].Reserve(parts[p].keys().size());
  const auto shards = static_cast<size_t>(store_.num_shards());
  const auto shard_of = [&](const StepKey& key) {
    return static_cast<size_t>(store_.ShardOf(key.hash));
  };
  // A part holds keys of all shards, or of many parts each those of one.
  const auto reserve = [&](const StepPart& part, size_t first, size_t last) {
    for (size_t s = first; s < last; ++s) num_wanted_[s] = 0;
    for (const StepKey& key : part.keys()) ++num_wanted_[shard_of(key)];
    bool all_have_room = true;
    for (size_t s = first; s < last; ++s) {
      changes_[s]->Reserve(num_wanted_[s]);
      Shard& shard = store_.shard(static_cast<int64_t>(s));
      all_have_room &= shard.HasRoomFor(num_wanted_[s]);
      shard.index_for_reserving().BeginWanted();
    }
    if (all_have_room) return;
    for (const StepKey& key : part.keys()) {
      store_.shard_for(key.hash).index_for_reserving().Want(key.hash);
    }
    bool all_fit = true;
    for (size_t s = first; s < last; ++s) {
      all_fit &= store_.shard(static_cast<int64_t>(s)).WantedFit(num_wanted_[s]);
      wanted_[s].clear();
    }
    if (all_fit) return;
    for (const StepKey& key : part.keys()) wanted_[shard_of(key)].push_back({key.hash, key.key});
    for (size_t s = first; s < last; ++s) store_.shard(static_cast<int64_t>(s)).Reserve(wanted_[s]);
  };
  num_wanted_.resize(shards);
  if (parts.size() == 1) return reserve(parts[0], 0, shards);
  pool->ParallelFor(static_cast<int64_t>(shards), 1, [&](int64_t begin, int64_t end) {
    for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s) {
      reserve(parts[s], s, s + 1);
    }
  });
}

int64_t MemoryTableWriter::ApplyPrepared() {
  const TableStep& step = prepared_;
  policies_.features.Count(step);
  const auto visit = [&](int64_t begin, int64_t end) {
    for (auto p = static_cast<size_t>(begin); p < static_cast<size_t>(end); ++p) {
      visitors_[p].Visit(step, batch_.sources(), push_rules_, batch_.parts()[p]);
    }
  };
  const auto parts = static_cast<int64_t>(batch_.parts().size());
  if (parts == 1) {
    visit(0, 1);
  } else {
    step.pool->ParallelFor(parts, 1, visit);
  }

  bool left_gradients = false;
  int64_t unwritten = 0;
  for (size_t p = 0; p < static_cast<size_t>(parts); ++p) {
    left_gradients |= visitors_[p].left_gradients();
    unwritten += visitors_[p].unwritten();
    const std::span<const int64_t> made = visitors_[p].rows_made();
    for (size_t f = 0; f < made.size(); ++f) {
      if (made[f] != 0) feature_rows_[f].fetch_add(made[f], std::memory_order_relaxed);
    }
  }
  if (policies_.shared && left_gradients && UpdateShared(step)) ++unwritten;

  policies_.expiry.EndStep(step.event_time, Counts());
  try {
    RunExpiry();
  } catch (...) {
    // The step is whole; the rest of its expiry is SettleExpiry's, before anything else happens.
  }
  for (int64_t s = 0; s < store_.num_shards(); ++s) store_.shard(s).Reclaim();
  for (auto& changes : changes_) changes->Reclaim();
  return unwritten;
}

void MemoryTableWriter::SettleExpiry() {
  if (expiring_) RunExpiry();
}

bool MemoryTableWriter::UpdateShared(const TableStep& step) {
  bool first = true;
  double lr_scale = 1;
  batch_.ForEachPushed([&](const StepKey& key, const StepOccurrence& occurrence) {
    if (key.has_row) return;
    const TablePush& push = batch_.sources().push(occurrence.source);
    const float scale = static_cast<float>(push.scale);
    lr_scale = push.lr_scale;
    if (std::exchange(first, false)) {
      policies_.rules.AssignGradient(occurrence.gradient, occurrence.factor, scale,
                                     shared_sum_.data());
    } else {
      policies_.rules.AddGradient(occurrence.gradient, occurrence.factor, scale,
                                  shared_sum_.data());
    }
  });
  return !first && policies_.shared->Update(step.step, lr_scale, shared_sum_.data());
}

int64_t MemoryTableWriter::Expire(int64_t now) {
  SettleExpiry();
  policies_.expiry.BeginAll(now, Counts());
  const int64_t removed = RunExpiry();
  for (int64_t s = 0; s < store_.num_shards(); ++s) store_.shard(s).Reclaim();
  return removed;
}

int64_t MemoryTableWriter::RunExpiry() {
  Expiry& expiry = policies_.expiry;
  int64_t removed = 0;
  if (expiring_) {
    expiry.RepeatRange();
  } else {
    expiring_ = expiry.Next(Counts());
  }
  while (expiring_) {
    removed += ExpireRange(*expiring_);
    expiring_ = expiry.Next(Counts());
  }
  return removed;
}

int64_t MemoryTableWriter::ExpireRange(const HashRange& range) {
  MoveRange(range.first, range.last);
  int64_t removed = 0;
  const auto goes = [&](RowClass c, const uint32_t* record) {
    return policies_.expiry.Goes(c, record, store_.config().Hash(RecordKey(record)));
  };
  const auto count = [&](RowClass c, const uint32_t* record) {
    CountRow(c, record, -1);
    if (c == RowClass::kWaiting) return;
    ++removed;
    policies_.expired.fetch_add(1, std::memory_order_relaxed);
  };
  for (int64_t s = store_.ShardOf(range.first); s <= store_.ShardOf(range.last); ++s) {
    Shard& shard = store_.shard(s);
    RowChanges& changes = *changes_[static_cast<size_t>(s)];
    // Removing moves other rows, so they are all chosen first.
    doomed_.clear();
    shard.WalkRange(range.first, range.last, [&](RowHandle handle) {
      const uint32_t* record = shard.row(handle);
      if (goes(handle.row_class(), record)) doomed_.push_back(RecordKey(record));
    });
    if (doomed_.empty()) continue;
    changes.Reserve(std::ssize(doomed_));
    for (const uint64_t key : doomed_) {
      if (elsewhere_ != nullptr) elsewhere_->Forget(key);
      const RowHandle handle = shard.Find(store_.config().Hash(key), key);
      count(handle.row_class(), shard.row(handle));
      changes.OnRemove(key);
      shard.Remove(handle);
    }
  }
  if (elsewhere_ == nullptr) return removed;
  elsewhere_->Sweep(
      range.first, range.last,
      [&](RowClass c, const uint32_t* record) {
        if (!goes(c, record)) return false;
        changes_for(store_.config().Hash(RecordKey(record))).Reserve(1);
        return true;
      },
      [&](RowClass c, const uint32_t* record) {
        const uint64_t key = RecordKey(record);
        count(c, record);
        changes_for(store_.config().Hash(key)).OnRemove(key);
      });
  return removed;
}

RowCounts MemoryTableWriter::Counts() const {
  RowCounts counts;
  for (size_t k = 0; k < kRowClasses; ++k) {
    const auto c = static_cast<RowClass>(k);
    counts[k] = count(c) + (elsewhere_ != nullptr ? elsewhere_->num_rows(c) : 0);
  }
  return counts;
}

void MemoryTableWriter::CountRow(RowClass c, const uint32_t* record, int64_t change) {
  if (c == RowClass::kWaiting) return;
  feature_rows_[RecordFeature(record)].fetch_add(change, std::memory_order_relaxed);
}

void MemoryTableWriter::AddInfo(TableInfo& info) const {
  std::vector<int64_t> rows;
  for (const auto& count : feature_rows_) rows.push_back(count.load(std::memory_order_relaxed));
  info.features = policies_.features.Info(rows);
  info.expired = policies_.expired.load(std::memory_order_relaxed);
  for (const auto& changes : changes_) info.bytes += changes->bytes();
  if (policies_.sketch) info.bytes += policies_.sketch->bytes();
}

// --- Saved rows.

void MemoryTableWriter::Attach(std::shared_ptr<const RowBacking> backing) {
  policies_.Load(backing->extras());
  const auto rows = backing->extras().find(kRowsByFeature);
  beneath_is_counted_ = rows != backing->extras().end();
  if (beneath_is_counted_) {
    StateReader in(kRowsByFeature, rows->second);
    for (auto& count : feature_rows_) count.store(in.Get<int64_t>(), std::memory_order_relaxed);
    in.End();
  }
  for (auto& changes : changes_) changes->Follow();
  attached_.Attach(std::move(backing));
}

bool MemoryTableWriter::MoveIn(int64_t max_rows) {
  if (!attached_.attached()) return false;
  for (int64_t rows = 0; rows < max_rows;) {
    const uint64_t unit = attached_.NextUnit();
    if (unit == AttachedRows::kUnits) break;
    rows += MoveUnit(unit);
    for (int64_t s = 0; s < store_.num_shards(); ++s) store_.shard(s).Reclaim();
  }
  if (attached_.NextUnit() < AttachedRows::kUnits) return true;
  attached_.Detach(store_.epochs());
  return false;
}

void MemoryTableWriter::MoveRange(uint64_t first, uint64_t last) {
  if (!attached_.attached()) return;
  for (uint64_t unit = AttachedRows::UnitOf(first); unit <= AttachedRows::UnitOf(last); ++unit) {
    if (!attached_.moved(unit)) MoveUnit(unit);
  }
}

int64_t MemoryTableWriter::MoveUnit(uint64_t unit) {
  int64_t rows = 0;
  attached_.backing()->Scan(AttachedRows::FirstHash(unit), AttachedRows::LastHash(unit),
                            [&](RowClass c, const uint32_t* record) {
                              const uint64_t key = RecordKey(record);
                              const uint64_t hash = store_.config().Hash(key);
                              ++rows;
                              // What is in memory is newer.
                              if (!store_.shard_for(hash).Find(hash, key)) {
                                InsertClean(hash, c, record);
                              }
                            });
  attached_.SetMoved(unit);
  return rows;
}

RowHandle MemoryTableWriter::BringFromBeneath(uint64_t hash, uint64_t key) {
  const RowBacking* backing = attached_.Beneath(hash);
  if (backing == nullptr) return kNoRow;
  RowClass c;
  const uint32_t* record = backing->Find(key, &c);
  if (record == nullptr) return kNoRow;
  InsertClean(hash, c, record);
  return store_.shard_for(hash).Find(hash, key);
}

void MemoryTableWriter::InsertClean(uint64_t hash, RowClass c, const uint32_t* record) {
  RowChanges& changes = changes_for(hash);
  changes.set_clean(true);
  try {
    store_.shard_for(hash).Insert(hash, c, record);
  } catch (...) {
    changes.set_clean(false);
    throw;
  }
  changes.set_clean(false);
  attached_.TakeOver(c);
  if (!beneath_is_counted_) CountRow(c, record, 1);
}

// Before a step changes anything, as reading saved rows may fail.
void MemoryTableWriter::BringBatch(const TableStep& step) {
  const uint32_t now = LastSeenSeconds(step.event_time);
  for (const StepPart& part : batch_.parts()) {
    for (const StepKey& key : part.keys()) {
      if (attached_.Beneath(key.hash) == nullptr) continue;
      const Shard& shard = store_.shard_for(key.hash);
      RowHandle handle = shard.Find(key.hash, key.key);
      if (!handle) handle = BringFromBeneath(key.hash, key.key);
      // The step may forget it, and what is beneath must not come up then.
      if (handle && handle.row_class() == RowClass::kWaiting &&
          policies_.rules.WaitingIsOld(shard.row(handle), now)) {
        MoveUnit(AttachedRows::UnitOf(key.hash));
      }
    }
  }
}

void MemoryTableWriter::Put(RowClass c, const uint32_t* record) {
  const uint64_t key = RecordKey(record), hash = store_.config().Hash(key);
  Shard& shard = store_.shard_for(hash);
  RowHandle handle = shard.Find(hash, key);
  if (!handle) handle = BringFromBeneath(hash, key);
  CountRow(c, record, 1);
  // Nothing else calls it while an import goes on, and without it pages stay small.
  shard.Reclaim();
  if (!handle) {
    shard.Insert(hash, c, record);
    return;
  }
  CountRow(handle.row_class(), shard.row(handle), -1);
  if (handle.row_class() == c) {
    shard.Store(handle, record);
  } else {
    shard.ChangeClass(handle, hash, c, record);
  }
}

void MemoryTableWriter::BringIn(RowClass c, const uint32_t* record) {
  const uint64_t hash = store_.config().Hash(RecordKey(record));
  store_.shard_for(hash).Insert(hash, c, record);
}

void MemoryTableWriter::TakeOut(uint64_t key) {
  const uint64_t hash = store_.config().Hash(key);
  Shard& shard = store_.shard_for(hash);
  changes_for(hash).Reserve(1);
  changes_for(hash).OnRemove(key);
  shard.Remove(shard.Find(hash, key));
}

// --- Cuts.

std::unique_ptr<TableCut> MemoryTableWriter::Cut(bool full) {
  SettleExpiry();
  TableExtras extras = policies_.Save();
  StateWriter rows;
  for (const auto& count : feature_rows_) rows.Put(count.load(std::memory_order_relaxed));
  extras[kRowsByFeature] = rows.Take();
  for (auto& changes : changes_) changes->BeginCut(full);
  return std::make_unique<MemoryCut>(store_, changes_, attached_, std::move(extras), full);
}

void MemoryTableWriter::EndCut(std::unique_ptr<TableCut> cut, bool kept) {
  cut.reset();
  for (auto& changes : changes_) changes->EndCut(kept);
}

}  // namespace catamaran
