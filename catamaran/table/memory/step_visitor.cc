#include "catamaran/table/memory/step_visitor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {
namespace {

constexpr size_t kAhead = 12;          // keys between the stages of a look-up
constexpr size_t kFlights = 64;        // a power of two, at least twice that
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
  pending_gradients_.resize(gradient_.size() * kMaxUpdatedRows);
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

  const std::span<StepKey> keys = part.keys();
  late_.clear();
  if (sketch_ == nullptr) {
    VisitRows(keys);
  } else {
    // What a sketch admits depends on the order of the keys.
    late_.resize(keys.size());
    std::iota(late_.begin(), late_.end(), 0);
  }
  VisitLate(keys);
}

void StepVisitor::VisitRows(std::span<StepKey> keys) {
  struct Flight {
    const IndexLine* line;
    Shard* shard;
    RowChanges* changes;
    const uint32_t* row;  // null: none at first sight
    RowHandle handle;
  };
  std::array<Flight, kFlights> flights;
  const int words = rules_.layout().of(RowClass::kFull).words;
  // Under the thread sanitizer words are atomics, which vectors cannot write.
  const bool together = !CATAMARAN_ROW_WORDS_ARE_ATOMICS && rules_.can_update_many();
  const size_t n = keys.size();
  for (size_t i = 0; i < n + 2 * kAhead; ++i) {
    if (i < n) {
      Flight& flight = flights[i % kFlights];
      const uint64_t hash = keys[i].hash;
      const int64_t s = store_.ShardOf(hash);
      flight.shard = &store_.shard(s);
      flight.changes = changes_[static_cast<size_t>(s)].get();
      flight.line = flight.shard->index().HomeLine(hash);
      PrefetchLineOf(flight.line);
    }
    if (const size_t j = i - kAhead; j < n) {
      Flight& flight = flights[j % kFlights];
      flight.row = nullptr;
      if (const EntryMask match = flight.line->Match(IndexLine::TagOf(keys[j].hash)); match != 0) {
        flight.handle = flight.line->Handle(std::countr_zero(match));
        if (flight.handle.row_class() == RowClass::kFull) {
          flight.row = flight.shard->row(flight.handle);
          AskForRow(flight.row, words);
          flight.changes->PrefetchSlot(flight.handle);
        }
      }
    }
    if (const size_t k = i - 2 * kAhead; k < n) {
      const Flight& flight = flights[k % kFlights];
      StepKey& key = keys[k];
      if (flight.row != nullptr && RecordKey(flight.row) == key.key) {
        key.has_row = true;
        if (together) {
          WriteLater(key, *flight.shard, *flight.changes, flight.handle);
        } else {
          Write(key, *flight.shard, *flight.changes, flight.handle);
        }
      } else {
        late_.push_back(static_cast<uint32_t>(k));
      }
    }
  }
  Flush();
}

void StepVisitor::WriteLater(const StepKey& key, Shard& shard, RowChanges& changes,
                             RowHandle handle) {
  changes.BeforeSlotChange(handle);
  const uint32_t feature = RecordFeature(shard.row(handle));
  uint32_t* record = shard.BeginAnnouncedWrite(handle);
  if (Counts(key)) {
    rules_.Fade(now_, record);
    SeeAll(key, record);
  }
  if (key.gradient == nullptr) {
    EndRowWrite(record, feature);
    return;
  }
  const StepRule& rule = RuleOf(key);
  if (pending_.count == kMaxUpdatedRows || (pending_.count > 0 && pending_.rule != &rule)) Flush();
  const auto i = static_cast<size_t>(pending_.count++);
  pending_.rule = &rule;
  pending_.records[i] = record;
  pending_.gradients[i] = GradientOf(key, pending_gradients_.data() + i * gradient_.size());
  pending_.features[i] = feature;
}

void StepVisitor::Flush() {
  if (pending_.count == 0) return;
  rules_.UpdateMany(*pending_.rule, pending_.records.data(), pending_.gradients.data(),
                    pending_.count);
  for (size_t i = 0; i < static_cast<size_t>(pending_.count); ++i) {
    EndRowWrite(pending_.records[i], pending_.features[i]);
  }
  pending_.count = 0;
}

void StepVisitor::VisitLate(std::span<StepKey> keys) {
  // Rows are added and moved here, so nothing but hashes and guesses is kept from stage to stage.
  std::array<RowHandle, kFlights> guesses;
  const size_t n = late_.size();
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

// Without branches on what is found: the processor would guess them wrong for every other key, and
// waste what it has begun for the next ones.
RowHandle StepVisitor::PrefetchRow(uint64_t hash) const {
  const auto s = static_cast<size_t>(store_.ShardOf(hash));
  const Shard& shard = store_.shard(static_cast<int64_t>(s));
  const IndexLine* line = shard.index().HomeLine(hash);
  const EntryMask match = line->Match(IndexLine::TagOf(hash));
  // Where nothing matches it is the first of the waiting rows, and is not used.
  const uint32_t found = line->Handle(std::countr_zero(match | EntryMask{1} << 11)).bits();
  const RowHandle handle = RowHandle::FromBits(match != 0 ? found : 0);
  const RowClass c = handle.row_class();
  const uint32_t* row = shard.rows().of(c).row(handle.index());
  AskForRow(row, rules_.layout().of(c).words);
  changes_[s]->PrefetchSlot(handle);
  return match != 0 ? handle : kNoRow;
}

void StepVisitor::VisitKey(StepKey& key, Shard& shard, RowHandle guess) {
  const RowHandle handle = shard.Find(key.hash, key.key, guess);
  if (handle && handle.row_class() != RowClass::kWaiting) {
    key.has_row = true;
    if (handle.row_class() == RowClass::kNarrow) {
      WriteNarrow(key, shard, handle);
    } else {
      Write(key, shard, *changes_[static_cast<size_t>(store_.ShardOf(key.hash))], handle);
    }
  } else {
    key.has_row = VisitMissing(key, shard, handle);
    if (!key.has_row && key.gradient != nullptr) left_gradients_ = true;
  }
}

void StepVisitor::Write(const StepKey& key, Shard& shard, RowChanges& changes, RowHandle handle) {
  changes.BeforeSlotChange(handle);
  const float* gradient = GradientOf(key);
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  uint32_t* record = record_.data();
  std::copy_n(shard.row(handle), rules_.layout().of(handle.row_class()).words, record);
#else
  const uint32_t feature = RecordFeature(shard.row(handle));
  uint32_t* record = shard.BeginAnnouncedWrite(handle);
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
      changes_[static_cast<size_t>(store_.ShardOf(key.hash))]->OnRemove(key.key);
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

const float* StepVisitor::GradientOf(const StepKey& key, float* scaled) const {
  if (key.gradient == nullptr || key.summed()) return key.gradient;
  const float scale = static_cast<float>(sources_->push(key.last_source).scale);
  if (key.factor == 1 && scale == 1) return key.gradient;
  rules_.AssignGradient(key.gradient, key.factor, scale, scaled);
  return scaled;
}

const StepRule& StepVisitor::RuleOf(const StepKey& key) const {
  const auto push = static_cast<size_t>(&sources_->push(key.last_source) - step_->pushes.data());
  return push_rules_[push];
}

void StepVisitor::Update(const StepKey& key, RowClass c, const float* gradient,
                         uint32_t* record) const {
  rules_.Update(RuleOf(key), c, gradient, record);
}

}  // namespace catamaran
