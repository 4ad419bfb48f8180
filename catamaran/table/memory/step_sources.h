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
  float factor = 1;                 // the gradient is this times gradient[0 … width)
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

  // Calls visit(occurrence) for those numbered [begin, end), in order.
  template <class F>
  void ForEach(int64_t begin, int64_t end, F&& visit) const;

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

  template <class F>
  void ForEachObserved(uint32_t s, int64_t begin, int64_t end, F&& visit) const;
  template <class F>
  void ForEachPushed(uint32_t s, int64_t begin, int64_t end, F&& visit) const;
  template <class F>
  void ForEachPooled(uint32_t s, int64_t begin, int64_t end, F&& visit) const;

  std::vector<Source> sources_;
  int64_t width_ = 0;
  int64_t size_ = 0;
  int64_t num_observed_ = 0;
};

// --- Inline.

template <class F>
void StepSources::ForEach(int64_t begin, int64_t end, F&& visit) const {
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
      ForEachObserved(s, from, to, visit);
    } else if (source.keys.pool == Pool::kNone) {
      ForEachPushed(s, from, to, visit);
    } else {
      ForEachPooled(s, from, to, visit);
    }
    begin = until;
  }
}

template <class F>
void StepSources::ForEachObserved(uint32_t s, int64_t begin, int64_t end, F&& visit) const {
  const Source& source = sources_[s];
  const TableObservation& o = *source.observation;
  const bool plain = o.offsets == nullptr && o.keys_per_group == 1;
  int64_t group = begin;
  if (o.offsets != nullptr) {
    // The group before the first that begins behind the key; groups may be empty.
    group = std::upper_bound(o.offsets, o.offsets + o.num_groups, begin) - o.offsets - 1;
    group = std::max<int64_t>(group, 0);
  }
  for (int64_t i = begin; i < end; ++i) {
    if (plain) {
      group = i;
    } else if (o.offsets != nullptr) {
      while (group < o.num_groups && o.offsets[group + 1] <= i) ++group;
    } else {
      group = i / o.keys_per_group;
    }
    StepOccurrence occurrence;
    occurrence.key = source.keys.Key(i);
    occurrence.show = o.show != nullptr ? o.show[o.show_for_all ? 0 : group] : 1.0f;
    occurrence.click = o.click != nullptr ? o.click[o.click_for_all ? 0 : group] : 0.0f;
    occurrence.source = s;
    visit(occurrence);
  }
}

template <class F>
void StepSources::ForEachPushed(uint32_t s, int64_t begin, int64_t end, F&& visit) const {
  const RowsSegment& keys = sources_[s].keys;
  const float* gradients = static_cast<const float*>(keys.gradients);
  StepOccurrence occurrence;
  occurrence.factor = static_cast<float>(keys.scale);
  occurrence.source = s;
  for (int64_t i = begin; i < end; ++i) {
    occurrence.key = keys.Key(i);
    occurrence.gradient = gradients + i * width_;
    visit(occurrence);
  }
}

template <class F>
void StepSources::ForEachPooled(uint32_t s, int64_t begin, int64_t end, F&& visit) const {
  const RowsSegment& keys = sources_[s].keys;
  const float* gradients = static_cast<const float*>(keys.gradients);
  const float* weights = static_cast<const float*>(keys.weights);
  const float scale = static_cast<float>(keys.scale);
  int64_t bag =
      keys.offsets == nullptr
          ? begin / keys.stride
          : std::upper_bound(keys.offsets, keys.offsets + keys.num_bags, begin) - keys.offsets - 1;
  StepOccurrence occurrence;
  occurrence.source = s;
  for (int64_t i = begin; i < end; ++bag) {
    const int64_t first = keys.offsets ? keys.offsets[bag] : bag * keys.stride;
    const int64_t last = keys.offsets ? keys.offsets[bag + 1] : (bag + 1) * keys.stride;
    const float factor = scale * BagFactor(keys.pool, weights, first, last);
    occurrence.gradient = gradients + bag * width_;
    for (; i < std::min(last, end); ++i) {
      occurrence.key = keys.Key(i);
      occurrence.factor = weights != nullptr ? factor * weights[i] : factor;
      visit(occurrence);
    }
  }
}

}  // namespace catamaran
