#include "catamaran/table/memory/step_batch.h"

#include <algorithm>

#include "catamaran/base/thread_pool.h"

namespace catamaran {
namespace {

constexpr int64_t kSumChunkFloats = int64_t{1} << 16;
constexpr int64_t kGatherChunk = 8192;  // occurrences that a thread sorts into parts at once

// Occurrences that somebody has put side by side.
class OccurrenceRun {
 public:
  OccurrenceRun(const StepSources& sources, std::span<const StepOccurrence> occurrences)
      : sources_(sources), occurrences_(occurrences) {}
  int64_t size() const { return static_cast<int64_t>(occurrences_.size()); }
  uint64_t Key(int64_t i) const { return occurrences_[static_cast<size_t>(i)].key; }
  StepOccurrence Next(uint64_t) { return occurrences_[next_++]; }
  int feature_of(const StepOccurrence& occurrence) const {
    return sources_.feature(occurrence.source);
  }

 private:
  const StepSources& sources_;
  std::span<const StepOccurrence> occurrences_;
  size_t next_ = 0;
};

}  // namespace

void StepPart::Begin(const StepSources& sources, const RowRules& rules, int64_t max_occurrences,
                     bool keep_order) {
  sources_ = &sources;
  rules_ = &rules;
  width_ = rules.config().width;
  keep_order_ = keep_order;
  // Few keys fall on a slot that is taken, so the processor rarely guesses wrong that one is free.
  int bits = 8;
  while (bits < 32 && (int64_t{1} << bits) < 4 * max_occurrences) ++bits;
  const size_t slots = size_t{1} << bits;
  if (slots_.size() < slots) slots_.resize(slots);
  place_mask_ = static_cast<uint32_t>(slots - 1);
  std::fill_n(slots_.data(), slots, 0);
  if (keys_.size() < static_cast<size_t>(max_occurrences)) {
    keys_.resize(static_cast<size_t>(max_occurrences));
  }
  num_keys_ = 0;
  seen_.clear();
  pushed_order_.clear();
  sums_per_chunk_ = std::max<int64_t>(1, kSumChunkFloats / width_);
  num_sums_ = 0;
}

template <class Run>
void StepPart::Add(Run run) {
  const uint64_t seed = Mix64(rules_->config().seed);
  const auto add = rules_->codec().kernels().add;
  const int64_t width = width_;
  const uint32_t place_mask = place_mask_, tag_mask = ~place_mask;
  const bool keep_order = keep_order_;
  uint32_t* const slots = slots_.data();
  StepKey* const all = keys_.data();
  size_t num_keys = num_keys_;
  uint64_t keys[kBlock], hashes[kBlock];
  for (int64_t first = 0; first < run.size(); first += kBlock) {
    const int64_t n = std::min(kBlock, run.size() - first);
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = run.Key(first + i);
      hashes[i] = Mix64(keys[i] ^ seed);
      __builtin_prefetch(&slots[hashes[i] & place_mask], 1);
    }
    for (int64_t i = 0; i < n; ++i) {
      const StepOccurrence occurrence = run.Next(keys[i]);
      const bool pushed = occurrence.gradient != nullptr;
      const uint64_t hash = hashes[i];
      const uint32_t tag = static_cast<uint32_t>(hash >> 32) & tag_mask;
      size_t place = 0;
      for (uint64_t at = hash & place_mask;; at = (at + 1) & place_mask) {
        const uint32_t slot = slots[at];
        if (slot == 0) {
          place = num_keys++;
          slots[at] = tag | static_cast<uint32_t>(num_keys);
          all[place] = {.key = keys[i],
                        .hash = hash,
                        .gradient = occurrence.gradient,
                        .factor = occurrence.factor,
                        .scale = occurrence.scale,
                        .pushes = pushed ? 1u : 0u,
                        .last_source = pushed ? occurrence.source : StepKey::kNone,
                        .feature = static_cast<uint8_t>(run.feature_of(occurrence)),
                        .has_row = true};
          if (!pushed) AddSeen(all[place], occurrence.show, occurrence.click);
          break;
        }
        if (((slot ^ tag) & tag_mask) != 0) continue;
        place = (slot & place_mask) - 1;
        StepKey& key = all[place];
        if (key.hash != hash) continue;
        if (!pushed) {
          AddSeen(key, occurrence.show, occurrence.click);
        } else if (++key.pushes == 1) {
          key.gradient = occurrence.gradient;
          key.factor = occurrence.factor;
          key.scale = occurrence.scale;
          key.last_source = occurrence.source;
        } else {
          if (key.pushes == 2) BeginSum(key);
          // The sum is ours.
          add(occurrence.gradient, occurrence.factor, occurrence.scale, width,
              const_cast<float*>(key.gradient));
          key.last_source = occurrence.source;
        }
        break;
      }
      if (keep_order && pushed) pushed_order_.push_back(static_cast<uint32_t>(place));
    }
  }
  num_keys_ = num_keys;
}

void StepPart::AddSeen(StepKey& key, float show, float click) {
  const auto at = static_cast<uint32_t>(seen_.size());
  seen_.push_back({show, click, at});
  if (key.last_seen != StepKey::kNone) std::swap(seen_[at].next, seen_[key.last_seen].next);
  key.last_seen = at;
}

void StepPart::BeginSum(StepKey& key) {
  const auto chunk = static_cast<size_t>(num_sums_ / sums_per_chunk_);
  if (chunk == chunks_.size()) {
    chunks_.push_back(
        std::make_unique_for_overwrite<float[]>(static_cast<size_t>(sums_per_chunk_ * width_)));
  }
  float* sum = chunks_[chunk].get() + (num_sums_++ % sums_per_chunk_) * width_;
  rules_->AssignGradient(key.gradient, key.factor, key.scale, sum);
  key.gradient = sum;
  key.factor = key.scale = 1;
}

StepBatch::StepBatch(const RowRules& rules, int part_bits)
    : rules_(rules), part_bits_(part_bits), parts_(size_t{1} << part_bits) {}

void StepBatch::Gather(const TableStep& step, ThreadPool* pool, bool keep_order) {
  cursor_.reserve(parts_.size());
  sources_.Reset(step, rules_);
  if (pool != nullptr && part_bits_ > 0) {
    GatherParts(*pool, keep_order);
  } else {
    GatherOnePart(keep_order);
  }
}

void StepBatch::GatherOnePart(bool keep_order) {
  num_parts_ = 1;
  StepPart& part = parts_[0];
  part.Begin(sources_, rules_, sources_.size(), keep_order);
  sources_.ForEachRun(0, sources_.size(), [&](auto run) { part.Add(run); });
}

void StepBatch::GatherParts(ThreadPool& pool, bool keep_order) {
  num_parts_ = parts_.size();
  const int64_t size = sources_.size();
  const int64_t chunks = (size + kGatherChunk - 1) / kGatherChunk;
  const auto parts = static_cast<int64_t>(num_parts_);
  // place_[chunk, part]: first how many of the chunk belong to the part, then where they go.
  place_.assign(static_cast<size_t>(chunks * parts), 0);
  const auto for_chunk = [&](int64_t chunk, auto&& visit) {
    const int64_t begin = chunk * kGatherChunk;
    sources_.ForEach(begin, std::min(begin + kGatherChunk, size), [&](const StepOccurrence& o) {
      visit(place_[static_cast<size_t>(chunk * parts) + PartOf(rules_.config().Hash(o.key))], o);
    });
  };
  pool.ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for_chunk(c, [](int64_t& count, const StepOccurrence&) { ++count; });
    }
  });
  part_begin_.resize(num_parts_ + 1);
  int64_t at = 0;
  for (int64_t p = 0; p < parts; ++p) {
    part_begin_[static_cast<size_t>(p)] = at;
    for (int64_t c = 0; c < chunks; ++c) {
      at += std::exchange(place_[static_cast<size_t>(c * parts + p)], at);
    }
  }
  part_begin_[num_parts_] = at;
  if (by_part_.size() < static_cast<size_t>(size)) by_part_.resize(static_cast<size_t>(size));
  pool.ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for_chunk(c, [&](int64_t& place, const StepOccurrence& o) {
        by_part_[static_cast<size_t>(place++)] = o;
      });
    }
  });
  pool.ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (auto p = static_cast<size_t>(begin); p < static_cast<size_t>(end); ++p) {
      const auto first = static_cast<size_t>(part_begin_[p]);
      const auto count = static_cast<size_t>(part_begin_[p + 1]) - first;
      parts_[p].Begin(sources_, rules_, static_cast<int64_t>(count), keep_order);
      parts_[p].Add(OccurrenceRun(sources_, std::span(by_part_).subspan(first, count)));
    }
  });
}

}  // namespace catamaran
