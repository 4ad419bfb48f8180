// table/memory/step_batch.h
//
// The keys of one step, each once, with all that the step does to it: what it was shown, and the
// sum of its gradients. A small step is one part; a large one is split by the top bits of the hash
// of its keys, so that a thread can take a part, and a part lies in one shard.
//
// A gradient that is the only one of its key stays where it lies and is not copied; the others are
// added up while the occurrences go by, in the order of the batch, so gradients are read in the
// order in which they lie in memory. All memory is kept for the next step.
//
// Thread safety: different parts may be used by different threads.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catamaran/table/memory/step_sources.h"
#include "catamaran/table/row_rules.h"

namespace catamaran {

// A key of a step.
struct StepKey {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint64_t key = 0;
  uint64_t hash = 0;
  // The gradient of the key is gradient[0 … width) times factor times scale. If there were several,
  // they are summed, with factors and scales, and these are 1.
  const float* gradient = nullptr;
  float factor = 1;
  float scale = 1;
  uint32_t pushes = 0;           // occurrences in pushes
  uint32_t last_seen = kNone;    // its last observation; see StepPart::Seen
  uint32_t last_source = kNone;  // of its last push
  uint8_t feature = 0;           // of its first occurrence
  bool has_row = true;           // whoever applies the step says if not

  bool summed() const { return pushes > 1; }
};

class StepPart {
 public:
  // An observation of a key. Those of one key form a ring: next of the last is the first.
  struct Seen {
    float show, click;
    uint32_t next;
  };

  // Forgets the step before; there will be at most that many occurrences.
  void Begin(const StepSources& sources, const RowRules& rules, int64_t max_occurrences,
             bool keep_order);
  // Adds the occurrences of a run (StepSources::ForEachRun).
  template <class Run>
  void Add(Run run);

  // In the order of their first occurrence.
  std::span<StepKey> keys() { return {keys_.data(), num_keys_}; }
  std::span<const StepKey> keys() const { return {keys_.data(), num_keys_}; }

  // Calls visit(show, click) for each observation of the key, in the order of the batch.
  template <class F>
  void ForEachSeen(const StepKey& key, F&& visit) const {
    if (key.last_seen == StepKey::kNone) return;
    uint32_t at = key.last_seen;
    do {
      at = seen_[at].next;
      visit(seen_[at].show, seen_[at].click);
    } while (at != key.last_seen);
  }

  // With keep_order: the place among keys() of each pushed occurrence, in the order of the batch.
  std::span<const uint32_t> pushed_order() const { return pushed_order_; }

 private:
  static constexpr int64_t kBlock = 64;

  void AddSeen(StepKey& key, float show, float click);
  // Makes a sum of the only gradient that a key has so far.
  void BeginSum(StepKey& key);

  const StepSources* sources_ = nullptr;
  const RowRules* rules_ = nullptr;
  int64_t width_ = 0;
  bool keep_order_ = false;
  // Open addressing; 0: free. The low bits, as many as there are bits in the number of a slot, are
  // the place among the keys + 1, the others bits of the hash.
  std::vector<uint32_t> slots_;
  uint32_t place_mask_ = 0;
  std::vector<StepKey> keys_;  // the first num_keys_ of them
  size_t num_keys_ = 0;
  std::vector<Seen> seen_;
  std::vector<uint32_t> pushed_order_;
  // Sums lie in chunks, which do not move.
  std::vector<std::unique_ptr<float[]>> chunks_;
  int64_t sums_per_chunk_ = 0;
  int64_t num_sums_ = 0;
};

class StepBatch {
 public:
  // At most 2^part_bits parts. `rules` outlives it.
  StepBatch(const RowRules& rules, int part_bits);

  // The step must stay as it is as long as the batch is used. With a pool: many parts, made by
  // its threads; without: one. keep_order: ForEachPushed will be called.
  void Gather(const TableStep& step, ThreadPool* pool, bool keep_order);

  const StepSources& sources() const { return sources_; }
  std::span<StepPart> parts() { return {parts_.data(), num_parts_}; }

  // Calls visit(key, occurrence) for each pushed occurrence, in the order of the batch.
  template <class F>
  void ForEachPushed(F&& visit) const;

 private:
  void GatherOnePart(bool keep_order);
  void GatherParts(ThreadPool& pool, bool keep_order);
  size_t PartOf(uint64_t hash) const {
    return num_parts_ == 1 ? 0 : static_cast<size_t>(hash >> (64 - part_bits_));
  }

  const RowRules& rules_;
  const int part_bits_;
  StepSources sources_;
  std::vector<StepPart> parts_;
  size_t num_parts_ = 0;
  // Of a step in many parts: its occurrences by part, and where those of each chunk of the step
  // go.
  std::vector<StepOccurrence> by_part_;
  std::vector<int64_t> place_;
  std::vector<int64_t> part_begin_;
  mutable std::vector<size_t> cursor_;
};

template <class F>
void StepBatch::ForEachPushed(F&& visit) const {
  cursor_.assign(num_parts_, 0);
  sources_.ForEach(sources_.num_observed(), sources_.size(), [&](const StepOccurrence& o) {
    const size_t p = PartOf(rules_.config().Hash(o.key));
    const StepPart& part = parts_[p];
    visit(part.keys()[part.pushed_order()[cursor_[p]++]], o);
  });
}

}  // namespace catamaran
