#include "catamaran/table/memory/step_visitor.h"

#include <algorithm>
#include <array>
#include <bit>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {
namespace {

// How many keys lie between the stages of a look-up.
constexpr size_t kIndexAhead = 32;
constexpr size_t kRowAhead = 16;
constexpr int kPrefetchedWords = 128;  // of a row; then the processor sees the pattern itself
constexpr size_t kGuesses = 32;  // a power of two, at least kRowAhead

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
  const size_t n = keys.size();
  std::array<RowHandle, kGuesses> guesses;
  for (size_t i = 0; i < n + kIndexAhead; ++i) {
    if (i < n) store_.shard_for(keys[i].hash).PrefetchIndex(keys[i].hash);
    if (i >= kIndexAhead - kRowAhead) {
      const size_t k = i - (kIndexAhead - kRowAhead);
      if (k < n) {
        guesses[k % kGuesses] = PrefetchRow(keys[k].hash);
      }
    }
    if (i >= kIndexAhead) {
      const size_t k = i - kIndexAhead;
      VisitKey(keys[k], store_.shard_for(keys[k].hash), guesses[k % kGuesses]);
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
  const int words = rules_.layout().of(c).words;
  for (int w = 0; w < std::min(words, kPrefetchedWords); w += 16) PrefetchLineOf(row + w);
  PrefetchLineOf(row + words - 1);
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

const float* StepVisitor::GradientOf(const StepKey& key) {
  if (key.gradient == nullptr || key.summed()) return key.gradient;
  const float scale = static_cast<float>(sources_->push(key.last_source).scale);
  if (key.factor == 1 && scale == 1) return key.gradient;
  rules_.AssignGradient(key.gradient, key.factor, scale, gradient_.data());
  return gradient_.data();
}

void StepVisitor::Update(const StepKey& key, RowClass c, const float* gradient,
                         uint32_t* record) const {
  const auto push = static_cast<size_t>(&sources_->push(key.last_source) - step_->pushes.data());
  rules_.Update(push_rules_[push], c, gradient, record);
}

}  // namespace catamaran
