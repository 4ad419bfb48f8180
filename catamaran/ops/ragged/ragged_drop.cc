// ops/ragged/ragged_drop.cc
//
// ragged_drop(ids, others…, value): sequences without the elements that equal a value, and with
// them what belongs to each; and the gradient of what belongs to them.

#include <fmt/format.h>

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedDropSizes {
  int64_t rows, stride, value;  // stride: ids a row, 0 when they are ragged
};

// Writes where the rows of what is left begin. offsets is null for dense ids.
template <class I>
void RaggedDropOffsets(const I* ids, const int64_t* offsets, int64_t* y_offsets,
                       const RaggedDropSizes& s) {
  y_offsets[0] = 0;
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t first = offsets ? offsets[b] : b * s.stride;
    const int64_t last = offsets ? offsets[b + 1] : (b + 1) * s.stride;
    int64_t left = 0;
    for (int64_t k = first; k < last; ++k) left += ids[k] != static_cast<I>(s.value);
    y_offsets[b + 1] = y_offsets[b] + left;
  }
}

// The elements of x beside ids that stay.
template <class T, class I>
void RaggedDrop(const T* x, const I* ids, T* y, int64_t count, int64_t width,
                const RaggedDropSizes& s) {
  for (int64_t k = 0; k < count; ++k) {
    if (ids[k] == static_cast<I>(s.value)) continue;
    std::copy_n(x + k * width, width, y);
    y += width;
  }
}

// The way back; zeros for those that were dropped.
template <class T, class I>
void RaggedDropGrad(const T* dy, const I* ids, T* dx, int64_t count, int64_t width,
                    const RaggedDropSizes& s) {
  for (int64_t k = 0; k < count; ++k, dx += width) {
    if (ids[k] == static_cast<I>(s.value)) {
      std::fill_n(dx, width, T(0));
    } else {
      std::copy_n(dy, width, dx);
      dy += width;
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedDropSizes;

RaggedDropSizes SizesOf(const Op& op, const Slot& ids) {
  const int64_t value = op.attr("value").AsInt();
  if (ids.offsets) return {ids.num_rows, 0, value};
  return {ids.shape()[0], ids.shape().rank() > 1 ? ids.shape()[1] : 0, value};
}

// The numbers that belong to one id.
int64_t WidthBeside(const Slot& ids, const Shape& x) {
  return Product(x, ids.shape().rank(), x.rank());
}

KernelStatus RunDrop(KernelContext& c) {
  const Slot& ids = c.in(0);
  const RaggedDropSizes s = SizesOf(*c.op, ids);
  DispatchIndex(
      ids.tensor.dtype,
      [&]<class I>(I) {
        const I* id = ids.data<const I>();
        reference::RaggedDropOffsets(id, ids.offsets, c.new_offsets, s);
        for (int i = 0; i < c.num_ins; ++i) {
          DispatchWidth(c.in(i).tensor.dtype, [&]<class T>(T) {
            reference::RaggedDrop(c.in(i).data<const T>(), id, c.out(i).data<T>(), ids.size(),
                                  WidthBeside(ids, c.in(i).shape()), s);
          });
        }
      },
      "ragged_drop");
  c.DecideSize(c.new_offsets[s.rows]);
  return KernelStatus::kDone;
}

KernelStatus RunDropGrad(KernelContext& c) {
  const Slot& ids = c.in(1);
  const RaggedDropSizes s = SizesOf(*c.op, ids);
  DispatchIndex(
      ids.tensor.dtype,
      [&]<class I>(I) {
        DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
          reference::RaggedDropGrad(c.in(0).data<const T>(), ids.data<const I>(), c.out().data<T>(),
                                    ids.size(), WidthBeside(ids, c.out().shape()), s);
        });
      },
      "ragged_drop_grad");
  return KernelStatus::kDone;
}

bool WantRowsOfIds(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kU64) {
    return c.Fail("ids are i32, i64 or u64, found " + std::string(Name(dtype)));
  }
  return c.WantRank(i, 2);
}

// `x` has the axes of the ids and maybe more.
bool WantBeside(InferContext& c, const Type& ids, int i) {
  if (!c.WantTensor(i) || !c.WantMinRank(i, 2)) return false;
  const Type& x = c.type(i);
  if (x.ragged_axis() != ids.ragged_axis()) return c.Fail("what belongs to ids has their axes");
  return c.UnifyTypes(ids, Type::Tensor(ids.dtype(), {x.dim(0), x.dim(1)}, x.ragged_axis()),
                      "axes of the ids");
}

void FillSizes(const KernelQuery& q, size_t ids, Words& words) {
  const RaggedDropSizes s = SizesOf(*q.op, *q.in[ids]);
  words << s.rows << s.stride << s.value;
}

}  // namespace

void DefineRaggedDrop(OpSet& ops) {
  ops.Define("ragged_drop")
      .Group("ragged")
      .Doc(
          "Sequences without the ids that equal `value`, such as those that fill up rows, and what "
          "belongs to the ids that stay. It has a result for each operand.")
      .Formula("y[b] = x[b, n, …] for all n with ids[b, n] != value, in order")
      .In("ids", "[B, N] or [B, *N]: i32, i64 or u64")
      .VariadicIn("others", "[B, N, …] or [B, *N, …]")
      .RequiredAttr("value", AttrKind::kInt, "the id that is dropped")
      .Results(-1)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRowsOfIds(c, 0)) return;
        if (c.op().num_results() != c.num_operands()) {
          return (void)c.Fail(fmt::format("has a result for each of its {} operands, {} are taken",
                                          c.num_operands(), c.op().num_results()));
        }
        for (int i = 1; i < c.num_operands(); ++i) {
          if (!WantBeside(c, c.type(0), i)) return;
        }
        const Dim left = c.FreshDim();
        for (int i = 0; i < c.num_operands(); ++i) {
          c.SetResult(i, Joined(c.type(i), {c.type(0).dim(0), left}, 2, 1));
        }
      })
      .SizeBound([](const Op& op) {
        const Type& ids = op.operand(0)->type;
        return ids.is_ragged() ? ids.dim(1) : ids.dim(0) * ids.dim(1);
      })
      .Sizes("RaggedDropSizes", [](const KernelQuery& q, Words& words) { FillSizes(q, 0, words); })
      .Grad([](GradContext& c) {
        for (int i = 1; i < c.num_operands(); ++i) {
          if (!c.wanted(i) || !c.grad(i)) continue;
          c.SetGrad(i, c.emit().Emit("ragged_drop_grad", {c.grad(i), c.operand(0), c.operand(i)},
                                     {{"value", c.attr("value")}}));
        }
      })
      .Reference("RaggedDrop", RunDrop)
      .TakesHalf()
      .AddSample(
          {.inputs = {Ints({2, 3}, {4, 0, 0, 7, 0, 9})}, .attrs = {{"value", 0}}, .num_results = 1})
      .AddSample({.inputs = {Ints({2, 3}, {4, -1, 5, -1, -1, 9}), Uniform({2, 3}, -1, 1),
                             Uniform({2, 3, 2}, -1, 1)},
                  .attrs = {{"value", -1}},
                  .num_results = 3})
      .AddSample({.inputs = {Ints({5}, {4, 1, 5, 1, 1}, DType::kI32), Uniform({5}, -1, 1)},
                  .attrs = {{"value", 1}},
                  .ragged_lengths = {{3, 0, 2}, {3, 0, 2}},
                  .num_results = 2})
      .AddSample(
          {.inputs = {Empty({2, 0}, DType::kU64)}, .attrs = {{"value", 1}}, .num_results = 1});
}

void DefineRaggedDropGrad(OpSet& ops) {
  ops.Define("ragged_drop_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_drop at one of `others`: zeros for what was dropped.")
      .Formula("dx[b, n, …] = dy[b, rank of n among those that stay, …], or 0 where dropped")
      .In("dy", "as that result of ragged_drop")
      .In("ids", "[B, N] or [B, *N]: i32, i64 or u64")
      .In("x", "that operand; only its shape matters")
      .RequiredAttr("value", AttrKind::kInt, "the id that is dropped")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0) || !WantRowsOfIds(c, 1) || !WantBeside(c, c.type(1), 2)) return;
        if (c.WantSameDType(0, 2)) c.SetResult(c.type(2));
      })
      .Sizes("RaggedDropSizes", [](const KernelQuery& q, Words& words) { FillSizes(q, 1, words); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var operands[] = {c.operand(1), c.grad()};
        const Var kept =
            c.emit().EmitMany("ragged_drop", operands, 2, {{"value", c.attr("value")}})[1];
        c.SetGrad(0, AsRaggedLike(c.emit(), kept, c.operand(0)));
      })
      .Reference("RaggedDropGrad", RunDropGrad)
      .TakesHalf()
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Ints({2, 3}, {4, -1, 5, -1, -1, 9}),
                             Uniform({2, 3}, -1, 1)},
                  .attrs = {{"value", -1}},
                  .ragged_lengths = {{2, 1}}});
}

}  // namespace catamaran
