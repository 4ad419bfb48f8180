// table/expiry.h
//
// Which records are looked at after a step, and which of them go. Expiry runs in passes over the
// whole table, in the order of hashes, a slice after each step; so no step waits for more than a
// slice, and what a pass does depends on the steps alone: a range of hashes holds the same records
// whatever the home, and records of a range may be visited in any order.
//
// A sweep removes what RowRules::IsOld calls old (unseen for too long, score too low, counted too
// long ago). It begins when event time has moved on by 1/64 of the shortest time in the policies
// since the last one began (at least a second; an hour when the policies name no time).
//
// When the records (AccountedBytes, waiting ones too) are more than the byte budget, a measuring
// pass adds up bytes by score, and a removing pass then takes the worst, until 95 % of the budget
// is left; records with about the score where that line falls are chosen by hash. Both remove what
// is old on the way. The slice after a step is at least 4,096 records and 64 times as many as the
// step added, so both passes are over before the table has grown by another 2/64 of itself:
//
//   after a step the records exceed the budget by at most 5 % (kBudgetMargin)
//
// A home does this at the end of Apply:
//
//   expiry.EndStep(step.event_time, counts);
//   while (auto range = expiry.Next(counts)) {
//     for (each record with range->first <= hash <= range->last)
//       if (expiry.Goes(c, record, hash)) remove it, --counts[c];
//   }
//
// A range that Next gives holds about 4,096 records. A visit that fails half way is begun again by
// RepeatRange: records that were removed are gone, all others are asked about again.
//
// Thread safety: none. One thread visits at a time.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/table/row_rules.h"

namespace catamaran {

// Both ends belong to it.
struct HashRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

// How many records there are of each class.
using RowCounts = std::array<int64_t, kRowClasses>;
int64_t AccountedBytes(const RowLayout& layout, const RowCounts& counts);

class Expiry {
 public:
  static constexpr int64_t kSliceRows = 4096;
  static constexpr double kBudgetMargin = 0.05;  // above the budget, and below it after a pass

  // `rules` must outlive this.
  explicit Expiry(const RowRules& rules);

  // False: the policies remove nothing, Next never gives a range.
  bool active() const { return sweeps_ || budget_ > 0; }

  // A step is over; `counts` before anything is removed.
  void EndStep(int64_t event_time, const RowCounts& counts);
  // All that is old at event time `now`, in whole passes; a pass that was under way is given up.
  // Then Next, as after a step.
  void BeginAll(int64_t now, const RowCounts& counts);
  // The next range to visit, until nothing more is due. `counts` as they are at this moment.
  std::optional<HashRange> Next(const RowCounts& counts);
  // Whether the record goes. To be asked once of each record in the range that Next gave last.
  bool Goes(RowClass c, const uint32_t* record, uint64_t hash);
  // The range that Next gave last is visited again, from its beginning.
  void RepeatRange();

  // Whether a pass is under way.
  bool in_pass() const { return pass_ != Pass::kNone; }

  std::string Save() const;
  void Load(std::string_view bytes);

 private:
  enum class Pass : uint8_t { kNone, kSweep, kMeasure, kRemove };

  bool OverBudget(const RowCounts& counts) const {
    return budget_ > 0 && AccountedBytes(rules_.layout(), counts) > budget_;
  }
  void Begin(Pass pass, const RowCounts& counts);
  // After the last range of a pass.
  void FinishPass(const RowCounts& counts);
  // Chooses the line between what stays and what goes.
  void BeginRemoving(const RowCounts& counts);
  size_t BinOf(const uint32_t* record) const;

  const RowRules& rules_;
  const bool sweeps_;
  const int64_t budget_;  // bytes; 0: none
  int64_t period_ = 0;    // of sweeps, in nanoseconds

  // Everything below is saved.
  bool started_ = false;
  int64_t now_ = 0;         // the latest event time
  int64_t next_sweep_ = 0;  // an event time
  int64_t bytes_ = 0;       // accounted, after the step before
  Pass pass_ = Pass::kNone;
  int64_t pass_time_ = 0;           // when it began: what scores are compared at
  int64_t pass_rows_ = 0;           // records when it began, or more
  uint64_t cursor_ = 0;             // the first hash that was not visited
  uint64_t passes_ = 0;             // so far; a seed for the choice by hash
  uint32_t line_bin_ = 0;           // kRemove: bins below it go
  uint64_t line_draw_ = 0;          // and of this one those whose draw is below
  std::vector<int64_t> histogram_;  // accounted bytes by bin of score; empty but when measuring

  // Within one step.
  std::vector<int64_t> in_range_;  // what the range that was given last adds to histogram_
  bool pass_over_ = false;         // the range that was given last is the last of its pass
  int64_t rows_left_ = 0;          // to visit after this step
  bool whole_ = false;             // BeginAll: as many as there are
};

}  // namespace catamaran
