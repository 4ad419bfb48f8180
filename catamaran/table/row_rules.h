// table/row_rules.h
//
// What happens to one record, whatever home it lives in: how it is made, seen, counted, scored,
// grown, updated and called old. A home decides where records lie and in which order keys are
// visited; all that a record then holds is decided here.
//
// What one step does to a key, in this order:
//
//   1. Its occurrences that count (those in observations where the step observes anything; else
//      those in pushes, with show 0 and click 0). The record, if there is one, is faded to the
//      step's time once (Fade), then each occurrence is added in the order of the batch (See).
//   2. Admission, if the key has no row. Forget first where WaitingIsOld. By policy:
//        kNone         every key that occurs in the step, in an observation or a push
//        kProbability  the same, if DrawAdmits(config, key, step)
//        kCount        Count(occurrences that count) says so; else the key waits: its record is of
//                      class kWaiting and keeps what was seen
//        kSketch       TableSketch::Add(hash, occurrences that count) >= admit.count; keys of one
//                      bucket are added in the order of their first occurrences in the step
//      A key admitted from kWaiting takes what its record held along (Admit); else its row is Made
//      and sees the occurrences of this step. An occurrence in a push of a step that observes lets
//      a key in by kNone or kProbability and touches the metadata of no record but one so made,
//      which was last seen now.
//   3. Growth: a narrow row with ShouldGrow at the step's time is Grown.
//   4. The gradient, if any: the first occurrence is assigned (gradient * factor * scale, in this
//      order, in float; factor as ForEachRow gives it, scale the push's), later ones added, in the
//      order of the batch over all pushes; then one Update with the lr_scale of the last push that
//      holds the key. A narrow row uses column 0 alone.
//
// A row belongs to the feature (FeatureOf) of the occurrence that made its record.
//
// Thread safety: RowRules is immutable; a record belongs to the caller during a call. Sequence bits
// (word 3) are kept by everything that works in place and zero in what is made.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "catamaran/table/row_codec.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

// What the updates of one step with one learning-rate scale have in common.
struct StepRule {
  int64_t step = 0;
  double lr = 0;
  rules::Factors<float> factors;  // of the first update of a row, if the optimizer counts them
};

class RowRules {
 public:
  // REQUIRES: CheckTableConfig(config).
  explicit RowRules(const TableConfig& config, Isa isa = DetectIsa());

  const TableConfig& config() const { return config_; }
  const RowLayout& layout() const { return layout_; }
  const RowCodec& codec() const { return codec_; }
  // Whether rows grow, and the class of a row when it is made: kNarrow if so, else kFull.
  bool grows() const { return grows_; }
  RowClass first_class() const { return grows_ ? RowClass::kNarrow : RowClass::kFull; }
  // The number of the feature that occurrences belong to: the one they say, else the one with
  // their salt.
  int FeatureOf(int feature, uint64_t salt) const {
    if (feature != 0 || salt == 0) return feature;
    for (size_t i = 0; i < salts_.size(); ++i) {
      if (salts_[i] == salt) return static_cast<int>(i) + 1;
    }
    return 0;
  }

  // --- Making.

  // A record that has seen nothing: no shows, no clicks, no updates, a count of 0; the embedding
  // and slots as they begin. Writes all layout().of(c).words.
  void Make(RowClass c, uint64_t key, int feature, uint32_t now, uint32_t* record) const;
  // A new row, of first_class(), that takes over what `waiting` has seen.
  void Admit(const uint32_t* waiting, uint32_t* record) const;
  // What a narrow row becomes: column 0 with its slots, what there is once a row, and all metadata
  // stay; the other columns and their slots are as in a row that is made.
  void Grow(const uint32_t* narrow, int64_t step, uint32_t* full) const;

  // --- Seeing. `now` is LastSeenSeconds(event time).

  // Brings shows and clicks to `now`, which becomes the time of last sight. A time before that
  // changes nothing.
  void Fade(uint32_t now, uint32_t* record) const {
    const uint32_t seen = record[row_words::kLastSeen];
    if (now <= seen) return;
    record[row_words::kLastSeen] = now;
    if (half_lives_per_second_ == 0) return;
    const float factor = FadeFactor(now - seen);
    SetRecordFloat(record, row_words::kShow, RecordFloat(record, row_words::kShow) * factor);
    SetRecordFloat(record, row_words::kClick, RecordFloat(record, row_words::kClick) * factor);
  }
  // Whether there is more to that than the time.
  bool fades() const { return half_lives_per_second_ != 0; }
  // One occurrence.
  static void See(float show, float click, uint32_t* record) {
    SetRecordFloat(record, row_words::kShow, RecordFloat(record, row_words::kShow) + show);
    SetRecordFloat(record, row_words::kClick, RecordFloat(record, row_words::kClick) + click);
  }
  // Adds occurrences to a waiting record; true if they admit the key. (Counts stop at the largest
  // that the word holds.)
  bool Count(int64_t occurrences, uint32_t* waiting) const;
  // Whether a waiting record is so old that it counts as not there.
  bool WaitingIsOld(const uint32_t* waiting, uint32_t now) const {
    return waiting_limit_ > 0 && IsUnseenFor(waiting, now, waiting_limit_);
  }

  // --- Judging.

  double Score(const uint32_t* record, uint32_t now) const {
    double show = static_cast<double>(RecordFloat(record, row_words::kShow));
    double click = static_cast<double>(RecordFloat(record, row_words::kClick));
    const uint32_t seen = record[row_words::kLastSeen];
    if (half_lives_per_second_ != 0 && now > seen) {
      const double factor = static_cast<double>(FadeFactor(now - seen));
      show *= factor;
      click *= factor;
    }
    return config_.score.show_weight * (show - click) + config_.score.click_weight * click;
  }
  // REQUIRES: a narrow row.
  bool ShouldGrow(const uint32_t* record, uint32_t now) const {
    return Score(record, now) >= *config_.grow_at;
  }
  // Whether the policies other than the byte budget call it old.
  bool IsOld(RowClass c, const uint32_t* record, uint32_t now) const;

  // --- Gradients.

  // REQUIRES: the table has an optimizer, for these three.
  StepRule ForStep(int64_t step, double lr_scale) const;
  void AssignGradient(const float* gradient, float factor, float scale, float* sum) const {
    codec_.kernels().assign(gradient, factor, scale, config_.width, sum);
  }
  void AddGradient(const float* gradient, float factor, float scale, float* sum) const {
    codec_.kernels().add(gradient, factor, scale, config_.width, sum);
  }
  // One step of the optimizer on a row that is not waiting. In f32 it works in place. `gradient`
  // has width() numbers; those of columns that the row lacks are not read. Returns whether a number
  // was kept as it was, since the next one is not finite.
  bool Update(const StepRule& rule, RowClass c, const float* gradient, uint32_t* record) const;

  // What is all that an update of rows of the full width has to know, if it is that plain; else 0
  // columns.
  RowwiseStep RowwiseOf(const StepRule& rule) const {
    if (codec_.store() != RowStore::kF32 || !IsPlainRowwise(rule.factors, config_.width)) return {};
    return {rule.factors.rate, rule.factors.epsilon, config_.width};
  }

  // --- Reading.

  // The width() numbers that a program sees of a row that is not waiting.
  void Read(RowClass c, const uint32_t* record, float* out) const {
    const RowLayout::Class& row = layout_.of(c);
    codec_.Decode(record + row.embedding, row.columns, out);
    for (int64_t i = row.columns; i < config_.width; ++i) out[i] = 0;
  }
  // What the row of `key` would read as if it were made now, before any gradient; and so what keys
  // without a row read as under Unadmitted::kInit.
  void ReadInitial(uint64_t key, float* out) const;

 private:
  static bool IsUnseenFor(const uint32_t* record, uint32_t now, int64_t nanoseconds) {
    const int64_t seconds = int64_t{now} - int64_t{record[row_words::kLastSeen]};
    return seconds > nanoseconds / kNanosecondsPerSecond;
  }
  float FadeFactor(uint32_t seconds) const {
    return static_cast<float>(std::exp2(-static_cast<double>(seconds) * half_lives_per_second_));
  }
  void FillSlots(RowClass c, uint32_t* record) const;
  // As rules::FactorsOf for the n-th update.
  rules::Factors<float> FactorsOf(const StepRule& rule, uint32_t update) const;

  const TableConfig config_;
  const RowLayout layout_;
  const RowCodec codec_;
  bool grows_;
  double half_lives_per_second_ = 0;
  int64_t waiting_limit_ = 0;
  std::vector<uint64_t> salts_;  // of the features
  std::array<float, kMaxSlots> slot_start_{};
  // What FactorsOf computes from the number of the update alone, for the first ones: [n - 1].
  struct Correction {
    double fix1, root;
  };
  std::vector<Correction> corrections_;
};

}  // namespace catamaran
