#include "catamaran/table/memory/step_visitor.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_search.h"
#include "catamaran/table/memory/stages.h"

namespace catamaran {
namespace {

alignas(64) constexpr uint32_t kNothing[16] = {};  // for RowFinder: keys are all that is read
constexpr int kPrefetchedWords = 128;  // of a row; then the processor sees the pattern itself

// Asks for all of a row. How many requests that makes does not depend on where in a line the row
// begins, so the processor never guesses it wrong; a line that is asked for twice costs nothing.
class RowRequest {
 public:
  explicit RowRequest(int words) : middle_(std::min(16, words - 1)), last_(words - 1) {}
  void operator()(const uint32_t* row) const {
    PrefetchLineOf(row);
    PrefetchLineOf(row + middle_);
    PrefetchLineOf(row + last_);
    for (ptrdiff_t w = 32; w < std::min<ptrdiff_t>(last_, kPrefetchedWords); w += 16) {
      PrefetchLineOf(row + w);
    }
  }

 private:
  ptrdiff_t middle_, last_;
};

}  // namespace

StepVisitor::StepVisitor(MemoryStore& store, const RowRules& rules, TableSketch* sketch,
                         std::span<const std::unique_ptr<RowChanges>> changes)
    : store_(store),
      rules_(rules),
      sketch_(sketch),
      changes_(changes),
      push_rowwise_(RowwisePushFor(rules.codec().isa())) {
  rows_made_.resize(kMaxTableFeatures + 1);
  size_t words = 0;
  for (const RowLayout::Class& c : rules.layout().classes) {
    words = std::max(words, static_cast<size_t>(c.words));
  }
  for (auto* record : {&waiting_, &record_, &grown_}) record->resize(words);
  gradient_.resize(static_cast<size_t>(rules.config().width));
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
  unwritten_ = 0;
  std::fill(rows_made_.begin(), rows_made_.end(), 0);
  following_ = changes_.front()->following();

  const std::span<StepKey> keys = part.keys();
  const RowwiseStep rowwise =
      !observed_ && push_rules.size() == 1 ? rules_.RowwiseOf(push_rules.front()) : RowwiseStep();
  if (sketch_ == nullptr) {
    const bool plain_rowwise =
        rowwise.columns > 0 && !rules_.fades() && !CATAMARAN_ROW_WORDS_ARE_ATOMICS;
    const RowLayout::Class& full = rules_.layout().of(RowClass::kFull);
    const RowwisePush push{.finder = store_.Finder(kNothing),
                           .changes = following_ ? changes_.data() : nullptr,
                           .step = rowwise,
                           .row_words = full.words,
                           .embedding = full.embedding,
                           .last_seen = now_,
                           .unwritten = &unwritten_};
    num_late_ = plain_rowwise ? push_rowwise_(push, keys.data(), keys.size(), late_.data())
                              : VisitRows(keys, late_.data());
    std::sort(late_.begin(), late_.begin() + static_cast<ptrdiff_t>(num_late_));
  } else {
    // What a sketch admits depends on the order of the keys.
    num_late_ = keys.size();
    std::iota(late_.begin(), late_.begin() + static_cast<ptrdiff_t>(num_late_), 0);
  }
  VisitLate(keys);
}

void StepVisitor::WriteRow(const StepKey& key, uint32_t* row, RowHandle handle) {
  // Under the thread sanitizer words are atomics, which vectors cannot write.
  if constexpr (CATAMARAN_ROW_WORDS_ARE_ATOMICS) {
    Write(key, store_.shard_for(key.hash), handle);
    return;
  }
  if (following_) ChangesFor(key.hash).BeforeSlotChange(handle);
  const uint32_t tag = BeginRowWrite(row);
  if (Counts(key)) {
    rules_.Fade(now_, row);
    SeeAll(key, row);
  }
  if (const float* gradient = GradientOf(key)) Update(key, RowClass::kFull, gradient, row);
  EndRowWrite(row, tag);
}

size_t StepVisitor::VisitRows(std::span<const StepKey> all, uint32_t* lost) {
  struct Flight {
    const ShardDoor* door;
    const IndexLine* line;
    uint32_t* row;
    RowHandle handle;
  };
  std::array<Flight, kStageFlights> flights;
  const RowFinder finder = store_.Finder(kNothing);
  const RowRequest ask(rules_.layout().of(RowClass::kFull).words);
  const bool following = following_;
  const StepKey* const keys = all.data();
  const auto ask_for_line = [&](size_t i) {
    Flight& flight = flights[i % kStageFlights];
    const uint64_t hash = keys[i].hash;
    flight.door = finder.DoorOf(hash);
    flight.line = finder.HomeLine(flight.door, hash);
    PrefetchLineOf(flight.line);
  };
  const auto ask_for_row = [&](size_t i) {
    Flight& flight = flights[i % kStageFlights];
    const auto [row, handle] = finder.FirstSight(flight.door, flight.line, keys[i].hash);
    ask(row);
    flight.row = row;
    flight.handle = handle;
    if (following) ChangesFor(keys[i].hash).PrefetchSlot(handle);
  };
  RowSearches searches;
  size_t num_lost = 0;
  const auto ask_late = [&](const uint32_t* row) { ask(row); };
  const auto write = [&](uint32_t* row, RowHandle handle, uint32_t i) {
    if (RecordKey(row) != keys[i].key || row == kNothing) return false;
    WriteRow(keys[i], row, handle);
    return true;
  };
  const auto search = [&] {
    searches.Step(finder, ask_late, write, [&](uint32_t i) { lost[num_lost++] = i; });
  };
  InStages(all.size(), ask_for_line, ask_for_row, [&](size_t i) {
    if (i % (kStageGroup * kGroupsToSearch) == 0) search();
    const Flight& flight = flights[i % kStageFlights];
    const auto place = static_cast<uint32_t>(i);
    if (!write(flight.row, flight.handle, place) && !searches.Add(keys[i].hash, place)) {
      lost[num_lost++] = place;
    }
  });
  while (!searches.empty()) search();
  return num_lost;
}

void StepVisitor::VisitLate(std::span<StepKey> keys) {
  // Rows are added and moved here, so nothing but hashes and guesses is kept from stage to stage.
  std::array<RowHandle, kStageFlights> guesses;
  const auto ask_for_lines = [&](size_t i) {
    const uint64_t hash = keys[late_[i]].hash;
    const ShardIndex& index = store_.shard_for(hash).index();
    index.PrefetchLine(hash);
    index.PrefetchOverflow(hash);
  };
  const auto ask_for_row = [&](size_t i) {
    guesses[i % kStageFlights] = PrefetchRow(keys[late_[i]].hash);
  };
  const auto visit = [&](size_t i) {
    StepKey& key = keys[late_[i]];
    VisitKey(key, store_.shard_for(key.hash), guesses[i % kStageFlights]);
  };
  InStages(num_late_, ask_for_lines, ask_for_row, visit);
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

void StepVisitor::Update(const StepKey& key, RowClass c, const float* gradient, uint32_t* record) {
  unwritten_ += rules_.Update(RuleOf(key), c, gradient, record) ? 1 : 0;
}

}  // namespace catamaran
