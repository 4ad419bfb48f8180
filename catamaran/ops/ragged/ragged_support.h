// ops/ragged/ragged_support.h
//
// What the ops on sequences of different length share. A ragged value f32[B, *T, 16] is stored as
// values [T, 16], all sequences one after another, and offsets: sequence b is rows
// [offsets[b], offsets[b + 1]).

#pragma once

#include <string>
#include <vector>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/move.h"

namespace catamaran {

inline bool WantRagged(InferContext& c, int i, const std::string& hint = {}) {
  if (!c.WantTensor(i)) return false;
  if (c.type(i).is_ragged()) return true;
  return c.Fail("wants a ragged value such as f32[B, *T, 16], found " + c.type(i).ToString() +
                hint);
}

// One integer for each of `rows` sequences: i32, i64 or u64.
inline bool WantCounts(InferContext& c, int i, const char* what) {
  if (!c.WantTensor(i) || !c.WantDense(i) || !c.WantRank(i, 1)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64) return true;
  return c.Fail(std::string(what) + " are i32, i64 or u64, found " + std::string(Name(dtype)));
}

// The dimensions of the type from axis `first` on.
inline std::vector<Dim> DimsFrom(const Type& type, int first) {
  return {type.dims().begin() + first, type.dims().end()};
}

// `front` and then the dimensions of `type` from axis `first` on; ragged when `axis` is 1.
inline Type Joined(const Type& type, std::vector<Dim> front, int first, int ragged_axis) {
  for (const Dim& dim : DimsFrom(type, first)) front.push_back(dim);
  return Type::Tensor(type.dtype(), std::move(front), ragged_axis);
}

// [B, *T, …] without its ragged axis: a row for each sequence.
inline Type Pooled(const Type& x) { return Joined(x, {x.dim(0)}, 2, -1); }

// The numbers in one row of the stored values.
inline int64_t RowWidth(const Shape& stored) { return Product(stored, 1, stored.rank()); }
inline int64_t RowWidth(const Slot& slot) { return RowWidth(slot.shape()); }

// About the operations for one sequence, for Split.
inline int64_t SequenceCost(const Slot& ragged) {
  return 8 + ragged.size() / std::max<int64_t>(1, ragged.num_rows);
}

// Writes the offsets of sequences of these lengths and returns their total. A length that is
// negative or above `most` is an error.
inline int64_t OffsetsOf(const Slot& lengths, int64_t most, int64_t* offsets) {
  int64_t total = 0;
  DispatchIndex(
      lengths.tensor.dtype,
      [&]<class I>(I) {
        const I* of = lengths.data<I>();
        offsets[0] = 0;
        for (int64_t b = 0; b < lengths.size(); ++b) {
          if (static_cast<uint64_t>(of[b]) > static_cast<uint64_t>(most)) {
            Fail(ErrorCode::kBadData, "the length {} of sequence {} is not within 0 and {}", of[b],
                 b, most);
          }
          total += static_cast<int64_t>(of[b]);
          offsets[b + 1] = total;
        }
      },
      "lengths");
  return total;
}

// What an op with a gradient of its own emits to give `values` the type of `like`, where both have
// the same lengths but the dimensions have different names.
inline Var AsRaggedLike(Emitter& e, Var ragged, Var like) {
  return e.Emit("ragged_like", {e.Emit("ragged_values", {ragged}), like});
}

}  // namespace catamaran
