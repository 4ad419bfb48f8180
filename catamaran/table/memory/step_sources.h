// table/memory/step_sources.h
//
// Everything that one step says about keys as one numbered sequence of occurrences: those of its
// observations, then those of its pushes, in the order of the batch. A pooled gradient stays where
// it is: an occurrence points to the gradient of its bag. Any range of the sequence can be walked
// by itself, so that threads can share a large step.
//
// Thread safety: const methods may be called concurrently.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "catamaran/table/row_rules.h"
#include "catamaran/table/table.h"

namespace catamaran {

struct StepOccurrence {
  uint64_t key = 0;
  const float* gradient = nullptr;  // null: an observation
  float factor = 1;                 // the gradient is this times scale times gradient[0 … width)
  float scale = 1;                  // of its push
  float show = 0;
  float click = 0;
  uint32_t source = 0;
};

class StepSources {
 public:
  // Begins a new step, which must stay as it is until the next. Keeps its memory.
  void Reset(const TableStep& step, const RowRules& rules);

  // Occurrences in all, and of those the observations, which come first.
  int64_t size() const { return size_; }
  int64_t num_observed() const { return num_observed_; }

  // Calls visit(run) for the runs that those numbered [begin, end) fall into, in order: occurrences
  // of one source, one after another. A run has
  //   int64_t size()
  //   uint64_t Key(i)
  //   StepOccurrence Next(key)      the next one, from the first on; key is its Key
  //   int feature_of(occurrence)
  template <class F>
  void ForEachRun(int64_t begin, int64_t end, F&& visit) const;

  // Calls visit(occurrence) for those numbered [begin, end), in order.
  template <class F>
  void ForEach(int64_t begin, int64_t end, F&& visit) const {
    ForEachRun(begin, end, [&](auto run) {
      for (int64_t i = 0; i < run.size(); ++i) visit(run.Next(run.Key(i)));
    });
  }

  // Of the source of an occurrence.
  int feature(uint32_t source) const { return sources_[source].keys.feature; }
  const TablePush& push(uint32_t source) const { return *sources_[source].push; }

 private:
  struct Source {
    RowsSegment keys;
    const TableObservation* observation = nullptr;
    const TablePush* push = nullptr;
    int64_t begin = 0;  // number of its first occurrence
    int64_t count = 0;
    int64_t first_key = 0;  // position of the first occurrence among the keys
  };

  class Run;
  class ObservedRun;
  class PushedRun;
  class PooledRun;

  std::vector<Source> sources_;
  int64_t width_ = 0;
  int64_t size_ = 0;
  int64_t num_observed_ = 0;
};

// --- Inline.

// Keys [begin, end) of a source.
class StepSources::Run {
 public:
  Run(const Source& source, uint32_t number, int64_t begin, int64_t end)
      : source_(source), number_(number), at_(begin), begin_(begin), size_(end - begin) {}
  int64_t size() const { return size_; }
  uint64_t Key(int64_t i) const { return source_.keys.Key(begin_ + i); }
  int feature_of(const StepOccurrence&) const { return source_.keys.feature; }

 protected:
  const Source& source_;
  const uint32_t number_;
  int64_t at_;  // the next one

 private:
  const int64_t begin_, size_;
};

class StepSources::ObservedRun : public Run {
 public:
  ObservedRun(const Source& source, uint32_t number, int64_t begin, int64_t end)
      : Run(source, number, begin, end), o_(*source.observation), group_(begin) {
    if (o_.offsets == nullptr) return;
    // The group before the first that begins behind the key; groups may be empty.
    group_ = std::upper_bound(o_.offsets, o_.offsets + o_.num_groups, begin) - o_.offsets - 1;
    group_ = std::max<int64_t>(group_, 0);
  }
  StepOccurrence Next(uint64_t key) {
    if (o_.offsets != nullptr) {
      while (group_ < o_.num_groups && o_.offsets[group_ + 1] <= at_) ++group_;
    } else {
      group_ = o_.keys_per_group == 1 ? at_ : at_ / o_.keys_per_group;
    }
    ++at_;
    return {.key = key,
            .show = o_.show != nullptr ? o_.show[o_.show_for_all ? 0 : group_] : 1.0f,
            .click = o_.click != nullptr ? o_.click[o_.click_for_all ? 0 : group_] : 0.0f,
            .source = number_};
  }

 private:
  const TableObservation& o_;
  int64_t group_;
};

class StepSources::PushedRun : public Run {
 public:
  PushedRun(const Source& source, uint32_t number, int64_t begin, int64_t end, int64_t width)
      : Run(source, number, begin, end),
        gradient_(static_cast<const float*>(source.keys.gradients) + begin * width),
        width_(width),
        factor_(static_cast<float>(source.keys.scale)),
        scale_(static_cast<float>(source.push->scale)) {}
  StepOccurrence Next(uint64_t key) {
    const float* const gradient = gradient_;
    gradient_ += width_;
    return {
        .key = key, .gradient = gradient, .factor = factor_, .scale = scale_, .source = number_};
  }

 private:
  const float* gradient_;  // of the next one
  const int64_t width_;
  const float factor_, scale_;
};

class StepSources::PooledRun : public Run {
 public:
  PooledRun(const Source& source, uint32_t number, int64_t begin, int64_t end, int64_t width)
      : Run(source, number, begin, end),
        keys_(source.keys),
        width_(width),
        scale_(static_cast<float>(source.push->scale)) {
    bag_ = keys_.offsets == nullptr
               ? begin / keys_.stride
               : std::upper_bound(keys_.offsets, keys_.offsets + keys_.num_bags, begin) -
                     keys_.offsets - 1;
    BeginBag();
  }
  StepOccurrence Next(uint64_t key) {
    while (at_ >= bag_end_) {
      ++bag_;
      BeginBag();
    }
    const float factor = weights() != nullptr ? factor_ * weights()[at_] : factor_;
    ++at_;
    return {
        .key = key, .gradient = gradient_, .factor = factor, .scale = scale_, .source = number_};
  }

 private:
  const float* weights() const { return static_cast<const float*>(keys_.weights); }
  void BeginBag() {
    const int64_t first = keys_.offsets ? keys_.offsets[bag_] : bag_ * keys_.stride;
    bag_end_ = keys_.offsets ? keys_.offsets[bag_ + 1] : (bag_ + 1) * keys_.stride;
    if (first == bag_end_) return;  // an empty bag has no factor
    factor_ = static_cast<float>(keys_.scale) * BagFactor(keys_.pool, weights(), first, bag_end_);
    gradient_ = static_cast<const float*>(keys_.gradients) + bag_ * width_;
  }

  const RowsSegment& keys_;
  const int64_t width_;
  const float scale_;
  int64_t bag_, bag_end_;
  float factor_ = 1;
  const float* gradient_ = nullptr;
};

template <class F>
void StepSources::ForEachRun(int64_t begin, int64_t end, F&& visit) const {
  if (begin >= end) return;
  const auto after = std::upper_bound(sources_.begin(), sources_.end(), begin,
                                      [](int64_t i, const Source& s) { return i < s.begin; });
  for (auto s = static_cast<uint32_t>(after - sources_.begin()) - 1; begin < end; ++s) {
    const Source& source = sources_[s];
    const int64_t until = std::min(end, source.begin + source.count);
    if (begin >= until) continue;
    // Positions among the keys of the source.
    const int64_t from = begin - source.begin + source.first_key;
    const int64_t to = from + (until - begin);
    if (source.observation != nullptr) {
      visit(ObservedRun(source, s, from, to));
    } else if (source.keys.pool == Pool::kNone) {
      visit(PushedRun(source, s, from, to, width_));
    } else {
      visit(PooledRun(source, s, from, to, width_));
    }
    begin = until;
  }
}

}  // namespace catamaran
