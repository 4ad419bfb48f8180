// ops/metric/sequences.h
//
// Pairs of sequences of ids that metrics compare: dense [N, S] with optional lengths, or ragged
// [N, *S].

#pragma once

#include <algorithm>
#include <utility>

#include "catamaran/ops/metric/metric.h"

namespace catamaran {

// Where the operands of an op stand: two sequences, then their lengths.
struct SequencePlaces {
  int candidate, reference, candidate_lengths, reference_lengths;
};

inline OpBuilder& AddSequences(OpBuilder& op) {
  return op.In("candidate", "integers [N, S] or [N, *S]: what was produced")
      .In("reference", "integers [N, R] or [N, *R] of the same dtype: what was wanted")
      .OptionalIn("candidate_lengths", "i64 [N]: how many of the ids count")
      .OptionalIn("reference_lengths", "i64 [N]: how many of the ids count")
      .Traits(RaggedTraits());
}

inline bool WantSequences(InferContext& c, const SequencePlaces& at) {
  const std::pair<int, int> both[] = {{at.candidate, at.candidate_lengths},
                                      {at.reference, at.reference_lengths}};
  for (const auto& [ids, lengths] : both) {
    if (!c.WantTensor(ids) || !c.WantRank(ids, 2)) return false;
    const DType dtype = c.type(ids).dtype();
    if (dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kU64) {
      return c.Fail("ids are i32, i64 or u64, found " + c.type(ids).ToString());
    }
    if (!c.has(lengths)) continue;
    if (c.type(ids).is_ragged()) return c.Fail("a ragged value has its lengths already");
    if (!c.WantDType(lengths, DType::kI64) || !c.WantRank(lengths, 1)) return false;
    if (!c.Unify(c.type(ids).dim(0), c.type(lengths).dim(0), "numbers of sequences")) return false;
  }
  return c.WantSameDType(at.candidate, at.reference) &&
         c.Unify(c.type(at.candidate).dim(0), c.type(at.reference).dim(0), "numbers of sequences");
}

// One operand's sequences in a run.
template <class I>
class Sequences {
 public:
  Sequences(const KernelContext& c, int ids, int lengths)
      : ids_(c.in(ids).data<I>()),
        offsets_(c.in(ids).offsets),
        lengths_(c.has_in(lengths) ? c.in(lengths).data<int64_t>() : nullptr),
        count_(offsets_ ? c.in(ids).num_rows : c.in(ids).shape()[0]),
        width_(offsets_ ? 0 : c.in(ids).shape()[1]) {
    for (int64_t n = 0; n < count_ && lengths_; ++n) {
      if (lengths_[n] < 0 || lengths_[n] > width_) {
        Fail(ErrorCode::kBadData, "length {} of sequence {} is not within 0 to {}", lengths_[n], n,
             width_);
      }
    }
  }
  int64_t count() const { return count_; }
  bool is_dense() const { return offsets_ == nullptr; }
  const int64_t* lengths() const { return lengths_; }  // null: all ids of dense sequences count
  const I* ids(int64_t n) const { return ids_ + (offsets_ ? offsets_[n] : n * width_); }
  int64_t length(int64_t n) const {
    return lengths_ ? lengths_[n] : offsets_ ? offsets_[n + 1] - offsets_[n] : width_;
  }

 private:
  const I* ids_;
  const int64_t *offsets_, *lengths_;
  int64_t count_, width_;
};

// The longest that a sequence can be.
inline int64_t LongestSequence(const Slot& ids) {
  const Shape& shape = ids.shape();
  return shape[shape.rank() - 1];
}

}  // namespace catamaran
