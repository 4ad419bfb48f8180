#include "catamaran/table/cold/tiered_table.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "catamaran/base/error.h"
#include "catamaran/table/cold/cold_pull.h"

namespace catamaran {
namespace {

// Of the memory budget: what the store's caches and each of its two write buffers get. Filters and
// indexes of rows on disk take about 2 bytes each in one of them.
int64_t CacheBytes(int64_t budget) {
  return std::clamp<int64_t>(budget / 8, 1 << 20, int64_t{1} << 30);
}
int64_t WriteBufferBytes(int64_t budget) {
  return std::clamp<int64_t>(budget / 64, 1 << 20, 64 << 20);
}

int64_t RowsBudget(int64_t budget) {
  const int64_t store = CacheBytes(budget) + 2 * WriteBufferBytes(budget);
  return std::max(budget - store, budget / 2);
}

const TableConfig& Checked(const TableConfig& config, const ColdRowsOptions& options) {
  CheckTableConfig(config);
  if (options.directory.empty()) Fail("table: rows on disk need a directory");
  if (options.memory_bytes <= 0) {
    Fail("table: rows on disk need a memory budget of at least a byte, not {}",
         options.memory_bytes);
  }
  if (options.read_threads < 1) {
    Fail("table: rows on disk need at least one thread that reads, not {}", options.read_threads);
  }
  return config;
}

}  // namespace

DiskStoreOptions TieredTable::StoreOptions(const ColdRowsOptions& options) {
  return {.directory = options.directory + "/rows",
          .cache_bytes = CacheBytes(options.memory_bytes),
          .write_buffer_bytes = WriteBufferBytes(options.memory_bytes),
          .direct_io = options.direct_io};
}

TieredTable::TieredTable(const TableConfig& config, const ColdRowsOptions& options)
    : options_(options),
      scratch_{options.directory},
      rows_budget_(RowsBudget(options.memory_bytes)),
      hot_(Checked(config, options)),
      store_(DiskStore::Make(layout(), StoreOptions(options))),
      checkpoint_(options.directory + "/checkpoint"),
      announced_(hot_, readers_, std::max(options.read_threads / 2, 1)),
      readers_(options.read_threads + 1) {
  hot_.writer().set_elsewhere(this);
}

TieredTable::~TieredTable() { announced_.Stop(); }

TieredTable::ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

int64_t TieredTable::size() const { return hot_.size() + counts_.rows(); }

int64_t TieredTable::memory_rows_bytes() const {
  int64_t bytes = 0;
  for (int c = 0; c < kRowClasses; ++c) {
    const auto of = static_cast<RowClass>(c);
    bytes += hot_.num_in_memory(of) * AccountedBytes(layout(), of);
  }
  return bytes;
}

TableInfo TieredTable::Info() const {
  TableInfo info = hot_.Info();
  info.cold_rows = counts_.rows();
  info.rows += counts_.rows();
  info.narrow_rows += counts_.of(RowClass::kNarrow);
  info.waiting += counts_.of(RowClass::kWaiting);
  info.bytes += store_->bytes_in_memory();
  info.bytes_on_disk += store_->bytes_on_disk();
  return info;
}

// --- Reading.

void TieredTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  CheckPull(keys, out);
  thread_local std::vector<uint32_t> missing;  // kept, so that Pull allocates nothing in the end
  missing.clear();
  try {
    hot_.Pull(keys, out, &missing);
  } catch (...) {
    return done(std::current_exception());
  }
  // In this order: what has left memory since was written to the store before.
  if (missing.empty() || !store_has_records_.load(std::memory_order_acquire)) return done();
  const ColdPullSource source = cold_source();
  PullFromMemoryOfStore(source, keys, out, missing);
  if (missing.empty()) return done();
  StartColdPull(source, readers_, keys, missing, out, done);
}

void TieredTable::Announce(std::span<const uint64_t> keys) {
  if (keys.empty() || !store_has_records_.load(std::memory_order_acquire)) return;
  try {
    announced_.Add(cold_source(), keys);
  } catch (...) {
    // No memory for a hint.
  }
}

bool TieredTable::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  if (hot_.Get(key, c, record)) return true;
  const uint64_t place = config().Hash(key);
  if (removed_.Contains(place)) return false;
  bool found = false;
  store_->MultiGet({&place, 1}, [&](size_t, RowClass of, const uint32_t* stored) {
    *c = of;
    std::memcpy(record, stored, layout().bytes(of));
    found = true;
  });
  return found;
}

// --- Steps.

void TieredTable::CheckHealth() {
  hot_.writer().SettleExpiry();
  if (unsettled_ == nullptr) return;
  SettleAfterStep();
  if (unsettled_ != nullptr) std::rethrow_exception(unsettled_);
}

// One part of what a step needs from the store.
struct TieredTable::Fetched {
  std::vector<RowClass> classes;
  std::vector<uint32_t> words;  // one record after another
  // Filled by several threads, each its own.
};

void TieredTable::FetchRows(const TableStep& step) {
  brought_in_ = 0;
  sources_.Reset(step, hot_.rules());
  step_keys_.clear();
  sources_.ForEach(0, sources_.size(),
                   [&](const StepOccurrence& o) { step_keys_.push_back(o.key); });
  brought_in_ = std::ssize(step_keys_);
  if (!store_has_records_.load(std::memory_order_relaxed)) return;
  const uint32_t now = LastSeenSeconds(step.event_time);
  step_places_.clear();
  hot_.Find(step_keys_, [&](size_t i, RowClass c, const uint32_t* record) {
    if (record == nullptr) {
      step_places_.push_back(config().Hash(step_keys_[i]));
    } else {
      ForgetIfOld(c, record, now);
    }
  });
  std::sort(step_places_.begin(), step_places_.end());
  step_places_.erase(std::unique(step_places_.begin(), step_places_.end()), step_places_.end());
  removed_.Filter(step_places_);
  if (step_places_.empty()) return;

  constexpr int64_t kPlacesAtOnce = 256;
  const int64_t places = std::ssize(step_places_);
  std::vector<Fetched> parts(static_cast<size_t>((places + kPlacesAtOnce - 1) / kPlacesAtOnce));
  const auto fetch = [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      Fetched& part = parts[static_cast<size_t>(p)];
      const auto first = static_cast<size_t>(p * kPlacesAtOnce);
      const auto count = static_cast<size_t>(std::min(kPlacesAtOnce, places - p * kPlacesAtOnce));
      store_->MultiGet(std::span(step_places_).subspan(first, count),
                       [&](size_t, RowClass c, const uint32_t* record) {
                         part.classes.push_back(c);
                         part.words.insert(part.words.end(), record, record + layout().of(c).words);
                       });
    }
  };
  if (step.pool != nullptr && parts.size() > 1) {
    step.pool->ParallelFor(std::ssize(parts), 1, fetch);
  } else {
    fetch(0, std::ssize(parts));
  }
  // All of it has been read; from here on nothing fails but for memory, and a row that is in memory
  // and in the store is no harm.
  for (const Fetched& part : parts) {
    const uint32_t* record = part.words.data();
    for (RowClass c : part.classes) {
      BringIn(c, record);
      ForgetIfOld(c, record, now);
      record += layout().of(c).words;
    }
  }
}

void TieredTable::BringIn(RowClass c, const uint32_t* record) {
  hot_.writer().BringIn(c, record);
  counts_.Add(c, -1);
}

void TieredTable::Prepare(const TableStep& step) {
  CheckHealth();
  CheckTableStep(config(), step);
  FetchRows(step);
  hot_.writer().Prepare(step);
  prepared_seconds_ = LastSeenSeconds(step.event_time);
}

int64_t TieredTable::ApplyPrepared() {
  const int64_t unwritten = hot_.writer().ApplyPrepared();
  now_ = std::max(now_, prepared_seconds_);
  SettleAfterStep();
  return unwritten;
}

int64_t TieredTable::Expire(int64_t now) {
  CheckHealth();
  const int64_t removed = hot_.writer().Expire(now);
  SettleAfterStep();
  return removed;
}

void TieredTable::Put(RowClass c, const uint32_t* record) {
  CheckHealth();
  const uint64_t key = RecordKey(record);
  if (!hot_.Contains(key)) {
    std::vector<uint32_t> old(layout().max_words());
    RowClass old_class;
    if (Get(key, &old_class, old.data())) BringIn(old_class, old.data());
  }
  hot_.writer().Put(c, record);
  now_ = std::max(now_, record[row_words::kLastSeen]);
  brought_in_ = 1;
  SettleAfterStep();
}

// A step forgets what was counted too long ago, and may count it no more; so what the store has of
// such a key must mean nothing from now on, whether or not the key stays in memory.
void TieredTable::ForgetIfOld(RowClass c, const uint32_t* record, uint32_t now) {
  if (c == RowClass::kWaiting && hot_.rules().WaitingIsOld(record, now)) Forget(RecordKey(record));
}

// --- Expiry: called by what runs it.

void TieredTable::Sweep(uint64_t first, uint64_t last,
                        FunctionRef<bool(RowClass c, const uint32_t* record)> goes,
                        FunctionRef<void(RowClass c, const uint32_t* record)> gone) {
  if (!store_has_records_.load(std::memory_order_relaxed)) return;
  store_->Scan(first, last, [&](RowClass c, const uint32_t* record) {
    const uint64_t key = RecordKey(record);
    if (removed_.Contains(config().Hash(key)) || hot_.Contains(key)) return;
    if (!goes(c, record)) return;
    removed_.Add(config().Hash(key));
    counts_.Add(c, -1);
    gone(c, record);
  });
}

void TieredTable::Forget(uint64_t key) {
  if (store_has_records_.load(std::memory_order_relaxed)) removed_.Add(config().Hash(key));
}

// --- What happens to the store between two steps.

void TieredTable::SettleAfterStep() {
  unsettled_ = nullptr;
  if (store_is_frozen()) return;
  try {
    FlushRemoved();
    Evict();
  } catch (...) {
    unsettled_ = std::current_exception();
  }
}

void TieredTable::FlushRemoved() {
  if (removed_.empty()) return;
  batch_.Clear();
  for (uint64_t place : removed_.places()) batch_.Erase(place);
  store_->Write(batch_);
  removed_.Clear();
}

void TieredTable::Evict() {
  const int64_t over = memory_rows_bytes() - rows_budget_;
  if (over <= 0) return;
  int64_t records = 0;
  for (int c = 0; c < kRowClasses; ++c) records += hot_.num_in_memory(static_cast<RowClass>(c));
  const int64_t bytes_each =
      std::max<int64_t>(memory_rows_bytes() / std::max<int64_t>(records, 1), 1);
  // In slices: what the step brought in, and some of what was left over before it.
  constexpr int64_t kSlice = 4096;
  const int64_t count =
      std::min((over + bytes_each - 1) / bytes_each, std::max(kSlice, 2 * brought_in_));
  const auto& victims = clock_.Choose(hot_, now_, count);

  std::vector<uint32_t> record(layout().max_words());
  RowClass c;
  batch_.Clear();
  for (const auto& victim : victims) {
    if (!hot_.Get(victim.key, &c, record.data())) continue;
    batch_.Put(victim.hash, c, record.data(), layout());
  }
  store_->Write(batch_);
  store_has_records_.store(true, std::memory_order_release);
  for (const auto& victim : victims) {
    if (!hot_.Get(victim.key, &c, record.data())) continue;
    hot_.writer().TakeOut(victim.key);
    counts_.Add(c, 1);
  }
}

}  // namespace catamaran
