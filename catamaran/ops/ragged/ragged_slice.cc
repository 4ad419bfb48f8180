// ops/ragged/ragged_slice.cc
//
// ragged_slice(x, begin, end): a piece of each sequence; and its gradient as an op.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

// has_end 0: to the end of each sequence.
struct RaggedSliceSizes {
  int64_t rows, width, begin, end, has_end;
};

// Sequence b has `length` elements; its piece is [*first, *last). begins and ends, one a sequence,
// stand before the common ones; either may be null.
inline void RaggedSliceRange(const int64_t* begins, const int64_t* ends, int64_t b, int64_t length,
                             const RaggedSliceSizes& s, int64_t* first, int64_t* last) {
  int64_t from = begins ? begins[b] : s.begin;
  int64_t to = ends ? ends[b] : s.has_end ? s.end : length;
  if (from < 0) from += length;
  if (to < 0) to += length;
  *first = std::min(std::max<int64_t>(from, 0), length);
  *last = std::max(std::min(to, length), *first);
}

template <class T>
void RaggedSlice(const T* x, const int64_t* offsets, const int64_t* begins, const int64_t* ends,
                 T* y, int64_t* y_offsets, const RaggedSliceSizes& s) {
  int64_t at = 0;
  y_offsets[0] = 0;
  for (int64_t b = 0; b < s.rows; ++b) {
    int64_t first, last;
    RaggedSliceRange(begins, ends, b, offsets[b + 1] - offsets[b], s, &first, &last);
    std::copy_n(x + (offsets[b] + first) * s.width, (last - first) * s.width, y + at * s.width);
    at += last - first;
    y_offsets[b + 1] = at;
  }
}

template <class T>
void RaggedSliceGrad(const T* dy, const int64_t* offsets, const int64_t* begins,
                     const int64_t* ends, T* dx, const RaggedSliceSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t length = offsets[b + 1] - offsets[b];
    int64_t first, last;
    RaggedSliceRange(begins, ends, b, length, s, &first, &last);
    T* to = dx + offsets[b] * s.width;
    std::fill_n(to, first * s.width, T(0));
    std::copy_n(dy, (last - first) * s.width, to + first * s.width);
    std::fill_n(to + last * s.width, (length - last) * s.width, T(0));
    dy += (last - first) * s.width;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedSliceSizes;

const int64_t* Optional(const KernelContext& c, int i) {
  return c.has_in(i) ? c.in(i).data<const int64_t>() : nullptr;
}

RaggedSliceSizes RunSizes(const KernelContext& c, const Slot& x) {
  RaggedSliceSizes s = c.sizes<RaggedSliceSizes>();
  s.rows = x.num_rows;
  return s;
}

KernelStatus RunSlice(KernelContext& c) {
  const Slot& x = c.in(0);
  const RaggedSliceSizes s = RunSizes(c, x);
  DispatchWidth(x.tensor.dtype, [&]<class T>(T) {
    reference::RaggedSlice(x.data<const T>(), x.offsets, Optional(c, 1), Optional(c, 2),
                           c.out().data<T>(), c.new_offsets, s);
  });
  c.DecideSize(c.new_offsets[s.rows]);
  return KernelStatus::kDone;
}

KernelStatus RunSliceGrad(KernelContext& c) {
  const Slot& x = c.in(1);
  const RaggedSliceSizes s = RunSizes(c, x);
  DispatchWidth(x.tensor.dtype, [&]<class T>(T) {
    reference::RaggedSliceGrad(c.in(0).data<const T>(), x.offsets, Optional(c, 2), Optional(c, 3),
                               c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// begins and ends from operand `first` on.
bool WantBounds(InferContext& c, int first, const Dim& rows) {
  for (int i = first; i < first + 2; ++i) {
    if (!c.has(i)) continue;
    if (!c.WantDType(i, DType::kI64) || !c.WantDense(i) || !c.WantRank(i, 1)) return false;
    if (!c.Unify(rows, c.type(i).dim(0), "the numbers of sequences")) return false;
  }
  return true;
}

OpBuilder& AddBounds(OpBuilder& op, int x) {
  return op.Group("ragged")
      .OptionalIn("begins", "i64[B]: where the piece of each sequence begins, in place of `begin`")
      .OptionalIn("ends", "i64[B]: where it ends, in place of `end`")
      .WithAttr("begin", AttrKind::kInt, 0, "the first element; negative counts from the end")
      .OptionalAttr("end", AttrKind::kInt,
                    "behind the last element; negative counts from the end; none: all that follow")
      .Traits(RaggedTraits())
      .Sizes("RaggedSliceSizes", [x](const KernelQuery& q, Words& words) {
        const Attr& end = q.op->attr("end");
        const size_t at = static_cast<size_t>(x);
        words << q.in[at]->num_rows << RowWidth(*q.in[at]) << q.op->attr("begin").AsInt()
              << (end.empty() ? int64_t{0} : end.AsInt()) << !end.empty();
      });
}

std::vector<NamedAttr> BoundsOf(const GradContext& c) {
  std::vector<NamedAttr> attrs = {{"begin", c.attr("begin")}};
  if (!c.attr("end").empty()) attrs.push_back({"end", c.attr("end")});
  return attrs;
}

Var OperandOrNone(const GradContext& c, int i) { return c.has_operand(i) ? c.operand(i) : Var(); }

}  // namespace

void DefineRaggedSlice(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_slice");
  op.In("x", "[B, *T, …]");
  AddBounds(op, 0)
      .Doc(
          "A piece of each sequence, as Python's x[begin:end]: negative numbers count from the end "
          "of the sequence, and what reaches beyond it is cut, to nothing if need be. The lengths "
          "of the result are its own.")
      .Formula("y[b, t, …] = x[b, begin + t, …] for begin + t < end")
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0) || !WantBounds(c, 1, c.type(0).dim(0))) return;
        c.SetResult(Joined(c.type(0), {c.type(0).dim(0), c.FreshDim()}, 2, 1));
      })
      .SizeBound([](const Op& op) { return op.operand(0)->type.dim(1); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0,
                  c.emit().Emit("ragged_slice_grad",
                                {c.grad(), c.operand(0), OperandOrNone(c, 1), OperandOrNone(c, 2)},
                                BoundsOf(c)));
      })
      .Reference("RaggedSlice", RunSlice)
      .TakesHalf()
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5})},
                  .attrs = {{"begin", 1}},
                  .ragged_lengths = {{3, 0, 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"begin", -2}, {"end", -1}},
                  .ragged_lengths = {{1, 3, 0, 2}}})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1)},
                  .attrs = {{"begin", 2}, {"end", 1}},
                  .ragged_lengths = {{3, 3}},
                  .note = "nothing"})
      .AddSample({.inputs = {Uniform({6}, -1, 1), Ints({2}, {1, -1}), Ints({2}, {9, 3})},
                  .ragged_lengths = {{3, 3}}})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1), Tensor(), Ints({2}, {0, 2})},
                  .attrs = {{"begin", 1}},
                  .ragged_lengths = {{3, 3}}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9)},
                  .attrs = {{"begin", -9}, {"end", 9}},
                  .ragged_lengths = {{3, 1}}})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedSliceGrad(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_slice_grad");
  op.In("dy", "as the result of ragged_slice").In("x", "[B, *T, …]; only its lengths matter");
  AddBounds(op, 1)
      .Doc("The gradient of ragged_slice: dy in its place in each sequence, zeros around it.")
      .Formula("dx[b, begin + t, …] = dy[b, t, …], else 0")
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0) || !WantRagged(c, 1) || !WantBounds(c, 2, c.type(1).dim(0))) return;
        if (!c.WantSameDType(0, 1) || !c.WantRank(0, c.type(1).rank())) return;
        c.SetResult(c.type(1));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var piece = c.emit().Emit(
            "ragged_slice", {c.grad(), OperandOrNone(c, 2), OperandOrNone(c, 3)}, BoundsOf(c));
        c.SetGrad(0, AsRaggedLike(c.emit(), piece, c.operand(0)));
      })
      .Reference("RaggedSliceGrad", RunSliceGrad)
      .TakesHalf()
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Uniform({5}, -1, 1)},
                  .attrs = {{"begin", 1}},
                  .ragged_lengths = {{2, 0, 1}, {3, 0, 2}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1), Uniform({6, 3}, -1, 1)},
                  .attrs = {{"begin", -2}, {"end", -1}},
                  .ragged_lengths = {{0, 1, 0, 1}, {1, 3, 0, 2}}});
}

}  // namespace catamaran
