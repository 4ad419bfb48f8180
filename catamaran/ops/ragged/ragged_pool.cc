// ops/ragged/ragged_pool.cc
//
// ragged_pool(x): one row for each sequence: the sum, the mean, the sum by the root of the length,
// the largest, the first or the last of its rows; and its gradient as an op.

#include "catamaran/ops/ragged/ragged_support.h"
#include "catamaran/ops/sparse/bag_isa.h"

// reference-begin
namespace catamaran::reference {

// kind: 0 sum, 1 mean, 2 sqrt, 3 max, 4 first, 5 last. An empty sequence gives zeros.
struct RaggedPoolSizes {
  int64_t rows, width, kind;
};

template <class T>
void RaggedPool(const T* x, const int64_t* offsets, T* y, const RaggedPoolSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, y += s.width) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    std::fill_n(y, s.width, T(0));
    if (begin == end) continue;
    if (s.kind >= 3) std::copy_n(x + (s.kind == 5 ? end - 1 : begin) * s.width, s.width, y);
    for (int64_t k = begin; k < end && s.kind <= 3; ++k) {
      for (int64_t i = 0; i < s.width; ++i) {
        const T v = x[k * s.width + i];
        if (s.kind < 3) y[i] += v;
        if (s.kind == 3 && (v > y[i] || v != v)) y[i] = v;
      }
    }
    const T length = static_cast<T>(end - begin);
    const T divisor = s.kind == 1 ? length : s.kind == 2 ? std::sqrt(length) : T(1);
    for (int64_t i = 0; i < s.width; ++i) y[i] /= divisor;
  }
}

// The gradient of a maximum goes to the first of the largest.
template <class T>
void RaggedPoolGrad(const T* x, const int64_t* offsets, const T* dy, T* dx,
                    const RaggedPoolSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, dy += s.width) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    if (begin == end) continue;
    T* first = dx + begin * s.width;
    if (s.kind <= 2) {
      const T length = static_cast<T>(end - begin);
      const T divisor = s.kind == 1 ? length : s.kind == 2 ? std::sqrt(length) : T(1);
      for (int64_t i = 0; i < s.width; ++i) first[i] = dy[i] / divisor;
      for (int64_t k = begin + 1; k < end; ++k) std::copy_n(first, s.width, dx + k * s.width);
      continue;
    }
    std::fill_n(first, (end - begin) * s.width, T(0));
    if (s.kind == 4) std::copy_n(dy, s.width, first);
    if (s.kind == 5) std::copy_n(dy, s.width, dx + (end - 1) * s.width);
    for (int64_t c = 0; c < s.width && s.kind == 3; c += 64) {  // columns, some at a time
      const int64_t columns = std::min<int64_t>(64, s.width - c);
      int64_t largest[64];
      T most[64];
      std::fill_n(largest, columns, begin);
      std::copy_n(x + begin * s.width + c, columns, most);
      for (int64_t k = begin + 1; k < end; ++k) {
        for (int64_t i = 0; i < columns; ++i) {
          const T v = x[k * s.width + c + i];
          if (!(v > most[i] || (v != v && most[i] == most[i]))) continue;
          largest[i] = k;
          most[i] = v;
        }
      }
      for (int64_t i = 0; i < columns; ++i) dx[largest[i] * s.width + c + i] = dy[c + i];
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
  const Slot& x = c.in(0);
  const RaggedPoolSizes s = RunSizes(c);
  DispatchFloating(
      x.tensor.dtype,
      [&]<class T>(T) {
        Split(c.pool, s.rows, SequenceCost(x), [&](int64_t begin, int64_t end) {
          reference::RaggedPoolGrad(x.data<const T>(), x.offsets + begin,
                                    c.in(1).data<const T>() + begin * s.width, c.out().data<T>(),
                                    {end - begin, s.width, s.kind});
        });
      },
      "ragged_pool_grad");
  return KernelStatus::kDone;
}

const char* const kPools[] = {"sum", "mean", "sqrt", "max", "first", "last"};

// A sequence is a bag whose rows lie one after another.
KernelStatus RunVector(KernelContext& c) {
  const RaggedPoolSizes s = RunSizes(c);
  BagJob job{};
  job.w = c.in(0).tensor.data;
  job.offsets = c.in(0).offsets;
  job.y = c.out().tensor.data;
  job.num_ids = c.in(0).shape()[0];
  job.width = s.width;
  constexpr int64_t kBagPools[] = {kBagSum, kBagMean, kBagSqrt, kBagMax};
  job.pool = kBagPools[s.kind];
  PoolAll(c, job, c.in(0).tensor.dtype, s.rows);
  return KernelStatus::kDone;
}

Kernel VectorPool() {
  Kernel kernel = BagKernel(RunVector);
  kernel.supports = [](const KernelQuery& q) {
    const std::string pool = q.op->attr("pool").AsWord();
    return pool != "first" && pool != "last";
  };
  return kernel;
}

bool WantRaggedFloat(InferContext& c) { return c.WantFloat(0) && WantRagged(c, 0); }

void FillSizes(const KernelQuery& q, Words& words) {
  const std::string pool = q.op->attr("pool").AsWord();
  int64_t kind = 0;
  while (kind < 5 && pool != kPools[kind]) ++kind;
  words << q.in[0]->num_rows << RowWidth(*q.in[0]) << kind;
}

OpBuilder& AddPool(OpBuilder& op) {
  return op.Group("ragged")
      .WordAttr("pool", {"sum", "mean", "sqrt", "max", "first", "last"}, "sum",
                "how a sequence becomes one row")
      .Traits(RaggedTraits())
      .Sizes("RaggedPoolSizes", FillSizes);
}

}  // namespace

void DefineRaggedPool(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_pool");
  op.In("x", "[B, *T] or [B, *T, …]");
  AddPool(op)
      .Doc(
          "One row for each sequence, feature by feature: the sum of its rows, their mean, their "
          "sum divided by the root of the length (sqrt), the largest, the first or the last. An "
          "empty sequence gives zeros.")
      .Formula("y[b, i] = sum over t of x[b, t, i]")
      .Infer([](InferContext& c) {
        if (WantRaggedFloat(c)) c.SetResult(Pooled(c.type(0)));
      })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_pool_grad", {c.operand(0), c.grad()},
                                   {{"pool", c.attr("pool")}}));
      })
      .Reference("RaggedPool", RunPool)
      .Fast(VectorPool())
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6})}, .ragged_lengths = {{2, 0, 1}}});
  for (const char* pool : kPools) {
    op.AddSample({.inputs = {Uniform({9, 87}, -1, 1)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{5, 4}}});
    op.AddSample({.inputs = {Uniform({5, 3}, -1, 1)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{2, 0, 3}}});
  }
  op.AddSample({.inputs = {Uniform({4}, -1, 1)}, .ragged_lengths = {{1, 3, 0}}});
  op.AddSample({.inputs = {Floats({3, 2}, {1, NAN, 2, 3, INFINITY, 4})},
                .attrs = {{"pool", Attr::Word("max")}},
                .ragged_lengths = {{2, 1}},
                .check_gradient = false});
  op.AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedPoolGrad(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_pool_grad");
  op.In("x", "[B, *T] or [B, *T, …]").In("dy", "[B] or [B, …]");
  AddPool(op)
      .Doc(
          "The gradient of ragged_pool: dy for every row of its sequence (sum), divided by the "
          "length (mean) or its root (sqrt), or for the first of the largest (max), the first or "
          "the last row alone.")
      .Formula("sum: dx[b, t, i] = dy[b, i]; mean: dy[b, i] / length of x[b]")
      .Infer([](InferContext& c) {
        if (!WantRaggedFloat(c) || !c.WantTensor(1)) return;
        if (c.UnifyTypes(Pooled(c.type(0)), c.type(1), "x and dy")) c.SetResult(c.type(0));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(1)) return;
        Emitter& e = c.emit();
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        // All but the largest are linear in x.
        if (c.attr("pool").AsWord() != "max") {
          c.SetGrad(1, e.Emit("ragged_pool", {u}, {{"pool", c.attr("pool")}}));
          return;
        }
        const Var ones = e.Emit("expand_like", {e.Constant(1.0, dy.type().dtype()), dy});
        const Var chosen = e.Emit("ragged_pool_grad", {x, ones}, {{"pool", c.attr("pool")}});
        c.SetGrad(1, e.Emit("ragged_pool", {u * chosen}));
      })
      .Reference("RaggedPoolGrad", RunGrad);
  for (const char* pool : kPools) {
    op.AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({3, 3}, -1, 1, 2)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{2, 0, 3}, {}}});
  }
}

}  // namespace catamaran
