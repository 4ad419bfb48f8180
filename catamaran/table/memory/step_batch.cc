#include "catamaran/table/memory/step_batch.h"

#include <algorithm>

#include "catamaran/base/thread_pool.h"

namespace catamaran {
namespace {

constexpr int64_t kSumChunkFloats = int64_t{1} << 16;
constexpr int64_t kGatherChunk = 8192;  // occurrences that a thread sorts into parts at once

}  // namespace

void StepPart::Begin(const RowRules& rules, int64_t max_occurrences, bool keep_order) {
  rules_ = &rules;
  width_ = rules.config().width;
  keep_order_ = keep_order;
  size_t slots = 64;
  while (static_cast<int64_t>(slots) < 2 * max_occurrences) slots *= 2;
  if (slots_.size() < slots) slots_.resize(slots);
  mask_ = slots - 1;
  std::fill_n(slots_.data(), slots, 0);
  keys_.clear();
  seen_.clear();
  pushed_order_.clear();
  sums_per_chunk_ = std::max<int64_t>(1, kSumChunkFloats / width_);
  num_sums_ = 0;
}

void StepPart::Add(std::span<const StepOccurrence> occurrences, const StepSources& sources) {
  const uint64_t seed = Mix64(rules_->config().seed);
  uint64_t hashes[kBlock];
  while (!occurrences.empty()) {
    const size_t n = std::min<size_t>(kBlock, occurrences.size());
    for (size_t i = 0; i < n; ++i) {
      hashes[i] = Mix64(occurrences[i].key ^ seed);
      __builtin_prefetch(&slots_[hashes[i] & mask_], 1);
    }
    for (size_t i = 0; i < n; ++i) {
      const StepOccurrence& occurrence = occurrences[i];
      StepKey& key = FindOrAdd(occurrence, hashes[i], sources);
      if (occurrence.gradient == nullptr) {
        AddSeen(key, occurrence);
      } else {
        AddGradient(key, occurrence, sources);
        if (keep_order_) pushed_order_.push_back(static_cast<uint32_t>(&key - keys_.data()));
      }
    }
    occurrences = occurrences.subspan(n);
  }
}

StepKey& StepPart::FindOrAdd(const StepOccurrence& occurrence, uint64_t hash,
                             const StepSources& sources) {
  const uint64_t upper = hash & ~uint64_t{UINT32_MAX};
  for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const uint64_t slot = slots_[at];
    if (slot == 0) {
      StepKey key;
      key.key = occurrence.key;
      key.hash = hash;
      key.feature = static_cast<uint8_t>(sources.feature(occurrence.source));
      keys_.push_back(key);
      slots_[at] = upper | keys_.size();
      return keys_.back();
    }
    if ((slot ^ upper) <= UINT32_MAX) {
      StepKey& key = keys_[(slot & UINT32_MAX) - 1];
      if (key.hash == hash) return key;
    }
  }
}

void StepPart::AddSeen(StepKey& key, const StepOccurrence& occurrence) {
  const auto at = static_cast<uint32_t>(seen_.size());
  seen_.push_back({occurrence.show, occurrence.click, at});
  if (key.last_seen != StepKey::kNone) std::swap(seen_[at].next, seen_[key.last_seen].next);
  key.last_seen = at;
}

void StepPart::AddGradient(StepKey& key, const StepOccurrence& occurrence,
                           const StepSources& sources) {
  if (++key.pushes == 1) {
    key.gradient = occurrence.gradient;
    key.factor = occurrence.factor;
  } else {
    if (key.pushes == 2) {
      float* sum = NewSum();
      const float scale = static_cast<float>(sources.push(key.last_source).scale);
      rules_->AssignGradient(key.gradient, key.factor, scale, sum);
      key.gradient = sum;
      key.factor = 1;
    }
    const float scale = static_cast<float>(sources.push(occurrence.source).scale);
    // The sum is ours: NewSum made it.
    rules_->AddGradient(occurrence.gradient, occurrence.factor, scale,
                        const_cast<float*>(key.gradient));
  }
  key.last_source = occurrence.source;
}

float* StepPart::NewSum() {
  const auto chunk = static_cast<size_t>(num_sums_ / sums_per_chunk_);
  if (chunk == chunks_.size()) {
    chunks_.push_back(
        std::make_unique_for_overwrite<float[]>(static_cast<size_t>(sums_per_chunk_ * width_)));
  }
  return chunks_[chunk].get() + (num_sums_++ % sums_per_chunk_) * width_;
}

StepBatch::StepBatch(const RowRules& rules, int part_bits)
    : rules_(rules), part_bits_(part_bits), parts_(size_t{1} << part_bits) {}

void StepBatch::Gather(const TableStep& step, ThreadPool* pool, bool keep_order) {
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
  part.Begin(rules_, sources_.size(), keep_order);
  StepOccurrence block[64];
  size_t n = 0;
  sources_.ForEach(0, sources_.size(), [&](const StepOccurrence& occurrence) {
    block[n++] = occurrence;
    if (n < std::size(block)) return;
    part.Add(block, sources_);
    n = 0;
  });
  part.Add({block, n}, sources_);
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
      parts_[p].Begin(rules_, static_cast<int64_t>(count), keep_order);
      parts_[p].Add(std::span(by_part_).subspan(first, count), sources_);
    }
  });
}

}  // namespace catamaran
