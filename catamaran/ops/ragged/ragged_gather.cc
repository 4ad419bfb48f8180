// ops/ragged/ragged_gather.cc
//
// ragged_gather(x, rows): whole sequences, by their numbers; and its gradient as an op.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedGatherSizes {
  int64_t count, width, total;  // sequences chosen; numbers of an element; elements of x
};

template <class T, class I>
void RaggedGather(const T* x, const int64_t* offsets, const I* rows, T* y, int64_t* y_offsets,
                  const RaggedGatherSizes& s) {
  int64_t at = 0;
  y_offsets[0] = 0;
  for (int64_t k = 0; k < s.count; ++k) {
    const int64_t begin = offsets[rows[k]], length = offsets[rows[k] + 1] - begin;
    std::copy_n(x + begin * s.width, length * s.width, y + at * s.width);
    at += length;
    y_offsets[k + 1] = at;
  }
}

// A sequence that was chosen more than once gets the sum.
template <class T, class I>
void RaggedGatherGrad(const T* dy, const int64_t* offsets, const I* rows, T* dx,
                      const RaggedGatherSizes& s) {
  std::fill_n(dx, s.total * s.width, T(0));
  for (int64_t k = 0; k < s.count; ++k) {
    T* to = dx + offsets[rows[k]] * s.width;
    const int64_t count = (offsets[rows[k] + 1] - offsets[rows[k]]) * s.width;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(to[i] + dy[i]);
    dy += count;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedGatherSizes;

template <class I>
void CheckRows(const I* rows, int64_t count, int64_t num_rows) {
  for (int64_t k = 0; k < count; ++k) {
    if (static_cast<uint64_t>(rows[k]) >= static_cast<uint64_t>(num_rows)) {
      Fail(ErrorCode::kBadData, "row {} at position {} is outside of the {} sequences", rows[k], k,
           num_rows);
    }
  }
}

KernelStatus RunGather(KernelContext& c) {
  const Slot& x = c.in(0);
  const RaggedGatherSizes s = {c.in(1).size(), RowWidth(x), x.shape()[0]};
  const int64_t capacity = c.out().shape()[0];
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const I* rows = c.in(1).data<const I>();
        CheckRows(rows, s.count, x.num_rows);
        int64_t total = 0;
        for (int64_t k = 0; k < s.count; ++k) total += x.offsets[rows[k] + 1] - x.offsets[rows[k]];
        if (total > capacity) {
          Fail(ErrorCode::kBadData, "the chosen sequences have {} elements, more than the limit {}",
               total, capacity);
        }
        DispatchWidth(x.tensor.dtype, [&]<class T>(T) {
          reference::RaggedGather(x.data<const T>(), x.offsets, rows, c.out().data<T>(),
                                  c.new_offsets, s);
        });
        c.DecideSize(total);
      },
      "ragged_gather");
  return KernelStatus::kDone;
}

KernelStatus RunGatherGrad(KernelContext& c) {
  const Slot& x = c.in(1);
  const RaggedGatherSizes s = {c.in(2).size(), RowWidth(x), x.shape()[0]};
  DispatchIndex(
      c.in(2).tensor.dtype,
      [&]<class I>(I) {
        const I* rows = c.in(2).data<const I>();
        CheckRows(rows, s.count, x.num_rows);
        DispatchFloating(
            x.tensor.dtype,
            [&]<class T>(T) {
              reference::RaggedGatherGrad(c.in(0).data<const T>(), x.offsets, rows,
                                          c.out().data<T>(), s);
            },
            "ragged_gather_grad");
      },
      "ragged_gather_grad");
  return KernelStatus::kDone;
}

}  // namespace

void DefineRaggedGather(OpSet& ops) {
  ops.Define("ragged_gather")
      .Group("ragged")
      .Doc(
          "Whole sequences, by their numbers; one may come several times. The result may have up "
          "to K * T elements, for which memory is set aside; `limit` says that it has no more "
          "than that, which is checked when it runs (T for a permutation).")
      .Formula("y[k, t, …] = x[rows[k], t, …]")
      .In("x", "[B, *T, …]")
      .In("rows", "[K]: i32, i64 or u64")
      .OptionalAttr("limit", AttrKind::kInt, "the most elements that the result may have")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0) || !WantCounts(c, 1, "rows")) return;
        c.SetResult(Joined(c.type(0), {c.type(1).dim(0), c.FreshDim()}, 2, 1));
      })
      .SizeBound([](const Op& op) {
        const Attr& limit = op.attr("limit");
        if (!limit.empty()) return limit.AsDim();
        return op.operand(0)->type.dim(1) * op.operand(1)->type.dim(0);
      })
      .Sizes("RaggedGatherSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[1]->size() << RowWidth(*q.in[0]) << q.in[0]->shape()[0];
             })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("ragged_gather_grad", {c.grad(), c.operand(0), c.operand(1)}));
      })
      .Reference("RaggedGather", RunGather)
      .TakesHalf()
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5}), Ints({2}, {2, 0})},
                  .ragged_lengths = {{3, 0, 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Ints({4}, {1, 1, 0, 2}, DType::kI32)},
                  .ragged_lengths = {{2, 3, 1}}})
      .AddSample({.inputs = {RandomInts({4, 2}, 0, 9), Ints({3}, {2, 1, 0}, DType::kU64)},
                  .attrs = {{"limit", 4}},
                  .ragged_lengths = {{1, 0, 3}}})
      .AddSample({.inputs = {Uniform({2, 2}, -1, 1), Empty({0}, DType::kI64)},
                  .ragged_lengths = {{1, 1}}});
}

void DefineRaggedGatherGrad(OpSet& ops) {
  ops.Define("ragged_gather_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_gather: dy added to the sequences that it came from.")
      .Formula("dx[b, t, …] = sum over k with rows[k] = b of dy[k, t, …]")
      .In("dy", "as the result of ragged_gather")
      .In("x", "[B, *T, …]; only its lengths matter")
      .In("rows", "[K]: i32, i64 or u64")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0) || !WantRagged(c, 1) || !WantCounts(c, 2, "rows")) return;
        if (!c.WantFloat(0) || !c.WantSameDType(0, 1) || !c.WantRank(0, c.type(1).rank())) return;
        c.SetResult(c.type(1));
      })
      .Sizes("RaggedGatherSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[2]->size() << RowWidth(*q.in[1]) << q.in[1]->shape()[0];
             })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var chosen = c.emit().Emit("ragged_gather", {c.grad(), c.operand(2)},
                                         {{"limit", c.operand(0).type().dim(1)}});
        c.SetGrad(0, AsRaggedLike(c.emit(), chosen, c.operand(0)));
      })
      .Reference("RaggedGatherGrad", RunGatherGrad)
      .AddSample({.inputs = {Floats({4}, {1, 2, 3, 4}), Uniform({5}, -1, 1), Ints({2}, {2, 2})},
                  .ragged_lengths = {{2, 2}, {3, 0, 2}}});
}

}  // namespace catamaran
