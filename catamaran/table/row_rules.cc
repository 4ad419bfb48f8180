#include "catamaran/table/row_rules.h"

#include <algorithm>

namespace catamaran {
namespace {

constexpr uint32_t kCorrections = 1024;

}  // namespace

RowRules::RowRules(const TableConfig& config, Isa isa)
    : config_(config),
      layout_(config),
      codec_(config, isa),
      grows_(config.grow_at.has_value() && config.width > 1) {
  if (config_.score.half_life > 0) {
    half_lives_per_second_ =
        static_cast<double>(kNanosecondsPerSecond) / static_cast<double>(config_.score.half_life);
  }
  waiting_limit_ =
      config_.admit.time_to_live > 0 ? config_.admit.time_to_live : config_.expire.unseen;
  for (const std::string& name : config_.features) salts_.push_back(FeatureSalt(name));
  if (!config_.optimizer) return;
  for (size_t k = 0; k < config_.optimizer->slots().size(); ++k) {
    slot_start_[k] = static_cast<float>(config_.optimizer->SlotInitial(static_cast<int>(k)));
  }
  if (layout_.counts_updates) {
    const rules::Hyper& h = config_.optimizer->hyper;
    for (uint32_t n = 1; n <= kCorrections; ++n) {
      const double fix1 = 1 / (1 - std::pow(h.beta1, static_cast<double>(n)));
      const double root = 1 / std::sqrt(1 - std::pow(h.beta2, static_cast<double>(n)));
      corrections_.push_back({fix1, root});
    }
  }
}

void RowRules::FillSlots(RowClass c, uint32_t* record) const {
  const RowLayout::Class& row = layout_.of(c);
  for (size_t k = 0; k < static_cast<size_t>(row.num_slots); ++k) {
    for (int i = 0; i < row.slot_words[k]; ++i) {
      SetRecordFloat(record, row.slot[k] + i, slot_start_[k]);
    }
  }
}

void RowRules::Make(RowClass c, uint64_t key, int feature, uint32_t now, uint32_t* record) const {
  const RowLayout::Class& row = layout_.of(c);
  record[row_words::kShow] = 0;
  record[row_words::kClick] = 0;
  record[row_words::kLastSeen] = now;
  record[row_words::kTag] = static_cast<uint32_t>(feature);
  SetRecordKey(record, key);
  if (c == RowClass::kWaiting) {
    record[row_words::kCount] = 0;
    return;
  }
  if (layout_.counts_updates) record[row_words::kUpdates] = 0;
  float values[kMaxTableWidth];
  FillInitialRow(config_, key, values);
  codec_.Encode(values, row.columns, key, kInitialStep, record + row.embedding);
  FillSlots(c, record);
}

void RowRules::Admit(const uint32_t* waiting, uint32_t* record) const {
  Make(first_class(), RecordKey(waiting), static_cast<int>(RecordFeature(waiting)),
       waiting[row_words::kLastSeen], record);
  record[row_words::kShow] = waiting[row_words::kShow];
  record[row_words::kClick] = waiting[row_words::kClick];
}

void RowRules::Grow(const uint32_t* narrow, int64_t step, uint32_t* full) const {
  const RowLayout::Class& from = layout_.of(RowClass::kNarrow);
  const RowLayout::Class& to = layout_.of(RowClass::kFull);
  const uint64_t key = RecordKey(narrow);
  std::copy_n(narrow, from.embedding, full);
  full[row_words::kTag] = RecordFeature(narrow);
  float values[kMaxTableWidth];
  FillInitialRow(config_, key, values);
  codec_.Decode(narrow + from.embedding, 1, values);
  codec_.EncodeGrown(values, to.columns, key, step, full + to.embedding);
  FillSlots(RowClass::kFull, full);
  for (size_t k = 0; k < static_cast<size_t>(to.num_slots); ++k) {
    full[to.slot[k]] = narrow[from.slot[k]];
  }
}

bool RowRules::Count(int64_t occurrences, uint32_t* waiting) const {
  const int64_t count =
      std::min(int64_t{waiting[row_words::kCount]} + occurrences, int64_t{UINT32_MAX});
  waiting[row_words::kCount] = static_cast<uint32_t>(count);
  return count >= config_.admit.count;
}

bool RowRules::IsOld(RowClass c, const uint32_t* record, uint32_t now) const {
  if (c == RowClass::kWaiting) return WaitingIsOld(record, now);
  if (config_.expire.unseen > 0 && IsUnseenFor(record, now, config_.expire.unseen)) return true;
  // Written so that a score that is not a number is below every limit.
  return config_.expire.min_score && !(Score(record, now) >= *config_.expire.min_score);
}

StepRule RowRules::ForStep(int64_t step, double lr_scale) const {
  const Optimizer& optimizer = *config_.optimizer;
  const double lr = optimizer.lr * lr_scale;
  return {step, lr, rules::FactorsOf<float>(optimizer.rule, optimizer.hyper, lr, 1)};
}

rules::Factors<float> RowRules::FactorsOf(const StepRule& rule, uint32_t update) const {
  const Optimizer& optimizer = *config_.optimizer;
  if (update > corrections_.size()) {
    return rules::FactorsOf<float>(optimizer.rule, optimizer.hyper, rule.lr, update);
  }
  const Correction& correction = corrections_[update - 1];
  rules::Factors<float> factors = rule.factors;
  if (optimizer.rule != rules::Rule::kLamb) {
    factors.rate = static_cast<float>(rule.lr * correction.fix1);
  }
  factors.root = static_cast<float>(correction.root);
  factors.fix1 = static_cast<float>(correction.fix1);
  return factors;
}

bool RowRules::Update(const StepRule& rule, RowClass c, const float* gradient,
                      uint32_t* record) const {
  const RowLayout::Class& row = layout_.of(c);
  float* slots[kMaxSlots] = {};
  for (size_t k = 0; k < static_cast<size_t>(row.num_slots); ++k) {
    slots[k] = reinterpret_cast<float*>(record + row.slot[k]);
  }
  const auto apply = [&](float* values) {
    if (!layout_.counts_updates) {
      return codec_.kernels().update(rule.factors, values, gradient, slots, row.columns);
    }
    uint32_t& updates = record[row_words::kUpdates];
    if (updates != UINT32_MAX) ++updates;
    return codec_.kernels().update(FactorsOf(rule, updates), values, gradient, slots, row.columns);
  };
  if (codec_.store() == RowStore::kF32) {
    return apply(reinterpret_cast<float*>(record + row.embedding));
  }
  float values[kMaxTableWidth];
  codec_.Decode(record + row.embedding, row.columns, values);
  const bool kept = apply(values);
  codec_.Encode(values, row.columns, RecordKey(record), rule.step, record + row.embedding);
  return kept;
}

void RowRules::ReadInitial(uint64_t key, float* out) const {
  const int columns = layout_.of(first_class()).columns;
  if (codec_.store() == RowStore::kF32) {
    FillInitialRow(config_, key, out);
  } else {
    float values[kMaxTableWidth];
    uint32_t words[kMaxTableWidth];
    FillInitialRow(config_, key, values);
    codec_.Encode(values, columns, key, kInitialStep, words);
    codec_.Decode(words, columns, out);
  }
  std::fill(out + columns, out + config_.width, 0.0f);
}

}  // namespace catamaran
