// ops/loss/loss.h
//
// What losses over classes and over rows share. A loss gives one number an element or one a row
// and reduces no further: the program says mean(…) or sum(…).

#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

// [B, C] becomes [B], [B, *T, C] becomes [B, *T].
inline Type WithoutLastAxis(const Type& type) {
  return Type::Tensor(type.dtype(), {type.dims().begin(), type.dims().end() - 1},
                      type.ragged_axis());
}

// Operand `rows` has the shape of operand `whole` without its last axis.
inline bool UnifyRows(InferContext& c, int whole, int rows, std::string_view what) {
  return c.UnifyTypes(WithoutLastAxis(c.type(whole)).WithDType(c.type(rows).dtype()), c.type(rows),
                      what);
}

// Scores [..., C] in operand i; the last axis is not the ragged one.
inline bool WantScores(InferContext& c, int i) {
  if (!c.WantFloat(i) || !c.WantMinRank(i, 1)) return false;
  return c.type(i).ragged_axis() != c.type(i).rank() - 1 ||
         c.Fail("the classes are the last axis, which cannot be ragged");
}

inline bool IsClassType(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64;
}

// Class numbers in operand `labels`, one for each row of operand `scores`.
inline bool WantClasses(InferContext& c, int scores, int labels) {
  if (!c.WantTensor(labels)) return false;
  const DType dtype = c.type(labels).dtype();
  if (!IsClassType(dtype)) {
    return c.Fail("labels are i32, i64 or u64 class numbers, found " + std::string(Name(dtype)));
  }
  return UnifyRows(c, scores, labels, "scores and labels");
}

// Optional weights [C] in operand `weights`, of the dtype of the scores.
inline bool WantClassWeights(InferContext& c, int scores, int weights) {
  if (!c.has(weights)) return true;
  if (!c.WantFloat(weights) || !c.WantRank(weights, 1) || !c.WantDense(weights)) return false;
  if (!c.WantSameDType(scores, weights)) return false;
  return c.Unify(c.type(scores).dim(c.type(scores).rank() - 1), c.type(weights).dim(0), "classes");
}

// The gradient of a loss by rows: operand `dy` is as the rows of operand `scores`.
inline bool WantRowGradient(InferContext& c, int scores, int dy) {
  return c.WantFloat(dy) && c.WantSameDType(scores, dy) && UnifyRows(c, scores, dy, "rows and dy");
}

// An attribute that names the label to leave out; this where there is none.
inline constexpr int64_t kNoLabel = std::numeric_limits<int64_t>::min();
inline int64_t IgnoredLabel(const Op& op) {
  const Attr& attr = op.attr("ignore_index");
  return attr.empty() ? kNoLabel : attr.AsInt();
}

// Fails on a label that is neither one of the classes nor `ignored`.
template <class I>
void CheckLabels(const I* labels, int64_t count, int64_t classes, int64_t ignored = kNoLabel) {
  for (int64_t r = 0; r < count; ++r) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if ((label < 0 || label >= classes) && label != ignored) {
      Fail(ErrorCode::kBadData, "label {} of example {} is not one of the {} classes", labels[r], r,
           classes);
    }
  }
}

// The operand, or null where it was left out.
template <class T>
const T* OptionalData(const KernelContext& c, int i) {
  return c.has_in(i) ? c.in(i).data<T>() : nullptr;
}

inline int64_t RowCount(const KernelContext& c, int i) { return RowsOf(c.in(i), LastDim(c.in(i))); }

// [...] as [..., 1], to multiply rows with; for gradient rules.
inline Var AsColumn(Var x) {
  std::vector<Dim> dims(x.type().dims().begin(), x.type().dims().end());
  dims.push_back(Dim(1));
  return x.emitter()->Emit("reshape", {x}, {{"shape", Attr::Dims(dims)}});
}

// The sum over the last axis, which goes.
inline Var SumLast(Var x) { return x.emitter()->Emit("sum", {x}, {{"axes", Attr::Ints({-1})}}); }

// Ones of the shape of x.
inline Var OnesLike(Var x) {
  Emitter& e = *x.emitter();
  return e.Emit("expand_like", {e.Constant(1.0, x.type().dtype()), x});
}

}  // namespace catamaran
