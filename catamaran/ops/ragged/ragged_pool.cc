// ops/ragged/ragged_pool.cc
//
// ragged_pool(x): one row for each sequence: the sum, the mean or the largest of its rows; and its
// gradient as an op.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// kind: 0 sum, 1 mean, 2 max. An empty sequence gives zeros.
struct RaggedPoolSizes {
  int64_t rows, width, kind;
};

template <class T>
void RaggedPool(const T* x, const int64_t* offsets, T* y, const RaggedPoolSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, y += s.width) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width; ++i) {
      T result = T(0);
      for (int64_t k = begin; k < end; ++k) {
        const T v = x[k * s.width + i];
        result = s.kind == 2 ? (k == begin ? v : std::max(result, v)) : result + v;
      }
      y[i] = s.kind == 1 && end > begin ? result / static_cast<T>(end - begin) : result;
    }
  }
}

// The gradient of a maximum goes to the first of the largest.
template <class T>
void RaggedPoolGrad(const T* x, const int64_t* offsets, const T* dy, T* dx,
                    const RaggedPoolSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, dy += s.width) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width; ++i) {
      int64_t largest = begin;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = k * s.width + i;
        dx[at] = s.kind == 2 ? T(0) : s.kind == 1 ? dy[i] / static_cast<T>(end - begin) : dy[i];
        if (x[at] > x[largest * s.width + i]) largest = k;
      }
      if (s.kind == 2 && end > begin) dx[largest * s.width + i] = dy[i];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedPoolSizes;

RaggedPoolSizes RunSizes(const KernelContext& c) {
  RaggedPoolSizes s = c.sizes<RaggedPoolSizes>();
  s.rows = c.in(0).num_rows;
  return s;
}

KernelStatus RunPool(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedPool(c.in(0).data<T>(), c.in(0).offsets, c.out().data<T>(), RunSizes(c));
      },
      "ragged_pool");
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedPoolGrad(c.in(0).data<T>(), c.in(0).offsets, c.in(1).data<T>(),
                                  c.out().data<T>(), RunSizes(c));
      },
      "ragged_pool_grad");
  return KernelStatus::kDone;
}

// [B, *T, …] without its ragged axis.
Type Pooled(const Type& x) {
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  dims.erase(dims.begin() + x.ragged_axis());
  return Type::Tensor(x.dtype(), std::move(dims));
}

bool WantRagged(InferContext& c) {
  if (!c.WantFloat(0)) return false;
  if (c.type(0).is_ragged()) return true;
  return c.Fail("wants a ragged value such as f32[B, *T, 16], found " + c.type(0).ToString());
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();  // stored: [total, …]
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x[i];
  const std::string pool = q.op->attr("pool").AsWord();
  words << q.in[0]->num_rows << width << int64_t{pool == "mean" ? 1 : pool == "max" ? 2 : 0};
}

OpBuilder& AddPool(OpBuilder& op) {
  return op.Group("ragged")
      .WordAttr("pool", {"sum", "mean", "max"}, "sum", "how a sequence becomes one row")
      .Traits(RaggedTraits())
      .Sizes("RaggedPoolSizes", FillSizes);
}

}  // namespace

void DefineRaggedPool(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_pool");
  AddPool(op)
      .Doc(
          "One row for each sequence: the sum, mean or largest of its rows, feature by feature. "
          "An empty sequence gives zeros.")
      .Formula("y[b, i] = sum over t of x[b, t, i]")
      .In("x", "[B, *T] or [B, *T, …]")
      .Infer([](InferContext& c) {
        if (WantRagged(c)) c.SetResult(Pooled(c.type(0)));
      })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_pool_grad", {c.operand(0), c.grad()},
                                   {{"pool", c.attr("pool")}}));
      })
      .Reference("RaggedPool", RunPool);
  for (const char* pool : {"sum", "mean", "max"}) {
    op.AddSample({.inputs = {Uniform({5, 3}, -1, 1)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{2, 0, 3}}});
  }
  op.AddSample({.inputs = {Uniform({4}, -1, 1)}, .ragged_lengths = {{1, 3, 0}}});
  op.AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedPoolGrad(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_pool_grad");
  AddPool(op)
      .Doc(
          "The gradient of ragged_pool: dy for every row of its sequence (sum), divided by the "
          "length (mean), or for the first largest (max).")
      .In("x", "[B, *T] or [B, *T, …]")
      .In("dy", "[B] or [B, …]")
      .Infer([](InferContext& c) {
        if (!WantRagged(c) || !c.WantTensor(1)) return;
        if (c.UnifyTypes(Pooled(c.type(0)), c.type(1), "x and dy")) c.SetResult(c.type(0));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(1)) return;
        Emitter& e = c.emit();
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        if (c.attr("pool").AsWord() != "max") {
          c.SetGrad(1, e.Emit("ragged_pool", {u}, {{"pool", c.attr("pool")}}));
          return;
        }
        const Var ones = e.Emit("expand_like", {e.Constant(1.0, dy.type().dtype()), dy});
        const Var chosen = e.Emit("ragged_pool_grad", {x, ones}, {{"pool", c.attr("pool")}});
        c.SetGrad(1, e.Emit("ragged_pool", {u * chosen}));
      })
      .Reference("RaggedPoolGrad", RunGrad);
  for (const char* pool : {"sum", "mean", "max"}) {
    op.AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({3, 3}, -1, 1, 2)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{2, 0, 3}, {}}});
  }
}

}  // namespace catamaran
