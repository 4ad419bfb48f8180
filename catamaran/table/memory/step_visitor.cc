#include "catamaran/table/memory/step_visitor.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {
namespace {

constexpr size_t kAhead = 32;                      // keys between the stages of a look-up
constexpr size_t kFlights = 128;                   // a power of two, at least twice that
alignas(64) constexpr uint32_t kNothing[16] = {};  // for RowFinder: keys are all that is read
constexpr int kPrefetchedWords = 128;  // of a row; then the processor sees the pattern itself

// All of a row. How many requests that makes does not depend on where in a line the row begins, so
// the processor never guesses it wrong; a line that is asked for twice costs nothing.
inline void AskForRow(const uint32_t* row, int words) {
  for (int w = 0; w < std::min(words, kPrefetchedWords); w += 16) PrefetchLineOf(row + w);
  PrefetchLineOf(row + words - 1);
}

}  // namespace

StepVisitor::StepVisitor(MemoryStore& store, const RowRules& rules, TableSketch* sketch,
                         std::span<const std::unique_ptr<RowChanges>> changes)
    : store_(store), rules_(rules), sketch_(sketch), changes_(changes) {
  rows_made_.resize(kMaxTableFeatures + 1);
  size_t words = 0;
  for (const RowLayout::Class& c : rules.layout().classes) {
    words = std::max(words, static_cast<size_t>(c.words));
  }
  for (auto* record : {&waiting_, &record_, &grown_}) record->resize(words);
  gradient_.resize(static_cast<size_t>(rules.config().width));
  scaled_gradients_.resize(gradient_.size() * kMaxUpdatedRows);
}

void StepVisitor::Visit(const TableStep& step, const StepSources& sources,
                        std::span<const StepRule> push_rules, StepPart& part) {
  step_ = &step;
  sources_ = &sources;
  part_ = &part;
  push_rules_ = push_rules;
  observed_ = !step.observations.empty();
  now_ = LastSeenSeconds(step.event_time);
  left_gradients_ = false;
  std::fill(rows_made_.begin(), rows_made_.end(), 0);
  scaled_ = std::any_of(step.pushes.begin(), step.pushes.end(),
                        [](const TablePush& push) { return push.scale != 1; });
  following_ = changes_.front()->following();

  const std::span<StepKey> keys = part.keys();
  if (late_.size() < keys.size()) late_.resize(keys.size());
  if (sketch_ == nullptr) {
    VisitRows(keys);
    VisitRowsAgain(keys);
  } else {
    // What a sketch admits depends on the order of the keys.
    num_late_ = keys.size();
    std::iota(late_.begin(), late_.begin() + static_cast<ptrdiff_t>(num_late_), 0);
  }
  VisitLate(keys);
}

void StepVisitor::VisitRows(std::span<const StepKey> keys) {
  struct Flight {
    const ShardDoor* door;
    const IndexLine* line;
    RowFinder::Sight sight;
  };
  std::array<Flight, kFlights> flights;
  FoundRows found;
  size_t num_late = 0;
  const RowFinder finder = store_.Finder(kNothing);
  const int words = rules_.layout().of(RowClass::kFull).words;
  const bool following = following_;
  const size_t n = keys.size();
  for (size_t i = 0; i < n + 2 * kAhead; ++i) {
    if (i < n) {
      Flight& flight = flights[i % kFlights];
      const uint64_t hash = keys[i].hash;
      flight.door = finder.DoorOf(hash);
      flight.line = finder.HomeLine(flight.door, hash);
      PrefetchLineOf(flight.line);
    }
    if (const size_t j = i - kAhead; j < n) {
      Flight& flight = flights[j % kFlights];
      flight.sight = finder.FirstSight(flight.door, flight.line, keys[j].hash);
      PrefetchLineOf(keys[j].gradient);
      AskForRow(flight.sight.row, words);
      if (following) ChangesFor(keys[j].hash).PrefetchSlot(flight.sight.handle);
    }
    if (const size_t k = i - 2 * kAhead; k < n) {
      Decide(keys[k], static_cast<uint32_t>(k), flights[k % kFlights].sight, found, num_late);
    }
  }
  WriteRows(found);
  num_late_ = num_late;
}

void StepVisitor::VisitRowsAgain(std::span<const StepKey> keys) {
  std::array<RowFinder::Sight, kFlights> sights;
  FoundRows found;
  const RowFinder finder = store_.Finder(kNothing);
  const int words = rules_.layout().of(RowClass::kFull).words;
  const size_t n = num_late_;
  size_t num_late = 0;
  for (size_t i = 0; i < n + 2 * kAhead; ++i) {
    if (i < n) finder.AskForSecondSight(keys[late_[i]].hash);
    if (const size_t j = i - kAhead; j < n) {
      const uint64_t hash = keys[late_[j]].hash;
      sights[j % kFlights] = finder.SecondSight(hash);
      AskForRow(sights[j % kFlights].row, words);
      if (following_) ChangesFor(hash).PrefetchSlot(sights[j % kFlights].handle);
    }
    if (const size_t k = i - 2 * kAhead; k < n) {
      const uint32_t place = late_[k];
      Decide(keys[place], place, sights[k % kFlights], found, num_late);
    }
  }
  WriteRows(found);
  num_late_ = num_late;
}

inline void StepVisitor::Decide(const StepKey& key, uint32_t place, RowFinder::Sight sight,
                                FoundRows& found, size_t& num_late) {
  const bool has_row = (sight.row != kNothing) & (RecordKey(sight.row) == key.key);
  if (!has_row) [[unlikely]] {
    late_[num_late++] = place;
    return;
  }
  found.rows[found.count++] = {&key, sight.row, sight.handle};
  if (found.count == found.rows.size()) WriteRows(found);
}

void StepVisitor::WriteRows(FoundRows& all) {
  const std::span<const Found> found(all.rows.data(), std::exchange(all.count, 0));
  // Under the thread sanitizer words are atomics, which vectors cannot write.
  if (CATAMARAN_ROW_WORDS_ARE_ATOMICS || !rules_.can_update_many()) {
    for (const Found& f : found) Write(*f.key, store_.shard_for(f.key->hash), f.handle);
    return;
  }
  if (following_) {
    for (const Found& f : found) ChangesFor(f.key->hash).BeforeSlotChange(f.handle);
  }
  std::array<uint32_t, kMaxUpdatedRows> tags;
  std::array<uint32_t*, kMaxUpdatedRows> rows;
  std::array<const float*, kMaxUpdatedRows> gradients;
  const StepRule* rule = push_rules_.data();  // of those
  size_t count = 0;
  const auto update = [&] {
    if (count == 0) return;
    rules_.UpdateMany(*rule, rows.data(), gradients.data(), static_cast<int64_t>(count));
    count = 0;
  };
  const bool observed = observed_, several_rules = push_rules_.size() > 1;
  const uint32_t now = now_;
  for (size_t i = 0; i < found.size(); ++i) {
    const StepKey& key = *found[i].key;
    uint32_t* const row = found[i].row;
    tags[i] = BeginRowWrite(row);
    if (!observed) {
      rules_.Fade(now, row);
    } else if (key.last_seen != StepKey::kNone) {
      rules_.Fade(now, row);
      SeeAll(key, row);
    }
    if (key.gradient == nullptr) continue;
    if (several_rules && &RuleOf(key) != rule) {
      update();
      rule = &RuleOf(key);
    }
    rows[count] = row;
    gradients[count] = GradientOf(key, scaled_gradients_.data() + count * gradient_.size());
    ++count;
  }
  update();
  for (size_t i = 0; i < found.size(); ++i) EndRowWrite(found[i].row, tags[i]);
}

void StepVisitor::VisitLate(std::span<StepKey> keys) {
  // Rows are added and moved here, so nothing but hashes and guesses is kept from stage to stage.
  std::array<RowHandle, kFlights> guesses;
  const size_t n = num_late_;
  for (size_t i = 0; i < n + 2 * kAhead; ++i) {
    if (i < n) {
      const uint64_t hash = keys[late_[i]].hash;
      const ShardIndex& index = store_.shard_for(hash).index();
      index.PrefetchLine(hash);
      index.PrefetchOverflow(hash);
    }
    if (const size_t j = i - kAhead; j < n) {
      guesses[j % kFlights] = PrefetchRow(keys[late_[j]].hash);
    }
    if (const size_t k = i - 2 * kAhead; k < n) {
      StepKey& key = keys[late_[k]];
      VisitKey(key, store_.shard_for(key.hash), guesses[k % kFlights]);
    }
  }
}

RowHandle StepVisitor::PrefetchRow(uint64_t hash) const {
  const RowHandle handle = store_.shard_for(hash).PrefetchRow(hash);
  if (handle && following_) ChangesFor(hash).PrefetchSlot(handle);
  return handle;
}

void StepVisitor::VisitKey(StepKey& key, Shard& shard, RowHandle guess) {
  const RowHandle handle = shard.Find(key.hash, key.key, guess);
  if (handle && handle.row_class() != RowClass::kWaiting) {
    key.has_row = true;
    if (handle.row_class() == RowClass::kNarrow) {
      WriteNarrow(key, shard, handle);
    } else {
      Write(key, shard, handle);
    }
  } else {
    key.has_row = VisitMissing(key, shard, handle);
    if (!key.has_row && key.gradient != nullptr) left_gradients_ = true;
  }
}

void StepVisitor::Write(const StepKey& key, Shard& shard, RowHandle handle) {
  const float* gradient = GradientOf(key);
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  uint32_t* record = record_.data();
  std::copy_n(shard.row(handle), rules_.layout().of(handle.row_class()).words, record);
#else
  const uint32_t feature = RecordFeature(shard.row(handle));
  uint32_t* record = shard.BeginWrite(handle);
#endif
  if (Counts(key)) {
    rules_.Fade(now_, record);
    SeeAll(key, record);
  }
  if (gradient != nullptr) Update(key, handle.row_class(), gradient, record);
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  shard.Store(handle, record);
#else
  shard.EndWrite(handle, feature);
#endif
}

void StepVisitor::WriteNarrow(const StepKey& key, Shard& shard, RowHandle handle) {
  uint32_t* record = record_.data();
  std::copy_n(shard.row(handle), rules_.layout().of(RowClass::kNarrow).words, record);
  if (Counts(key)) {
    rules_.Fade(now_, record);
    SeeAll(key, record);
  }
  RowClass c = RowClass::kNarrow;
  if (rules_.grows() && rules_.ShouldGrow(record, now_)) {
    rules_.Grow(record, step_->step, grown_.data());
    record = grown_.data();
    c = RowClass::kFull;
  }
  if (const float* gradient = GradientOf(key)) Update(key, c, gradient, record);
  if (c == RowClass::kNarrow) {
    shard.Store(handle, record);
  } else {
    shard.ChangeClass(handle, key.hash, c, record);
  }
}

bool StepVisitor::VisitMissing(const StepKey& key, Shard& shard, RowHandle waiting) {
  const TableConfig& config = rules_.config();
  const bool counts = Counts(key);
  // What was counted too long ago is forgotten.
  const bool old = waiting && rules_.WaitingIsOld(shard.row(waiting), now_);
  uint32_t* count = waiting_.data();
  bool counted = false;
  if (waiting && !old) {
    std::copy_n(shard.row(waiting), rules_.layout().of(RowClass::kWaiting).words, count);
    counted = true;
  } else if (counts && config.admit.kind == TableAdmit::Kind::kCount) {
    rules_.Make(RowClass::kWaiting, key.key, key.feature, now_, count);
    counted = true;
  }
  if (counted && counts) {
    rules_.Fade(now_, count);
    SeeAll(key, count);
  }

  if (!Admits(key)) {
    if (counted && counts) {
      if (waiting) {
        shard.Store(waiting, count);
      } else {
        shard.Insert(key.hash, RowClass::kWaiting, count);
      }
    } else if (old) {
      ChangesFor(key.hash).OnRemove(key.key);
      shard.Remove(waiting);
    }
    return false;
  }
  if (counted) {
    rules_.Admit(count, record_.data());
  } else {
    rules_.Make(rules_.first_class(), key.key, key.feature, now_, record_.data());
    SeeAll(key, record_.data());
  }
  Make(key, shard, waiting);
  return true;
}

bool StepVisitor::Admits(const StepKey& key) {
  const TableConfig& config = rules_.config();
  switch (config.admit.kind) {
    case TableAdmit::Kind::kNone:
      return true;
    case TableAdmit::Kind::kProbability:
      return DrawAdmits(config, key.key, step_->step);
    case TableAdmit::Kind::kCount:
      return Counts(key) && rules_.Count(Occurrences(key), waiting_.data());
    case TableAdmit::Kind::kSketch:
      return Counts(key) &&
             sketch_->Add(key.hash, Occurrences(key), step_->event_time) >= config.admit.count;
  }
  return false;
}

void StepVisitor::Make(const StepKey& key, Shard& shard, RowHandle waiting) {
  uint32_t* record = record_.data();
  RowClass c = rules_.first_class();
  if (rules_.grows() && rules_.ShouldGrow(record, now_)) {
    rules_.Grow(record, step_->step, grown_.data());
    record = grown_.data();
    c = RowClass::kFull;
  }
  if (const float* gradient = GradientOf(key)) Update(key, c, gradient, record);
  ++rows_made_[RecordFeature(record)];
  if (waiting) {
    shard.ChangeClass(waiting, key.hash, c, record);
  } else {
    shard.Insert(key.hash, c, record);
  }
}

int64_t StepVisitor::Occurrences(const StepKey& key) const {
  if (!observed_) return int64_t{key.pushes};
  int64_t occurrences = 0;
  part_->ForEachSeen(key, [&](float, float) { ++occurrences; });
  return occurrences;
}

void StepVisitor::Update(const StepKey& key, RowClass c, const float* gradient,
                         uint32_t* record) const {
  rules_.Update(RuleOf(key), c, gradient, record);
}

}  // namespace catamaran
