// ops/matrix/matmul_in_order.cc
//
// matmul_in_order(a, b, start): a product whose sums begin with `start` and are added up in the
// order of the columns of a, so that one over columns that were put together can be taken apart
// without another rounding (ordered_gemm.h).

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/matrix/ordered_gemm.h"

// reference-begin
namespace catamaran::reference {

struct MatmulInOrderSizes {
  int64_t m, n, k;
};

// `start` may be null.
template <class T>
void MatmulInOrder(const T* a, const T* b, const T* start, T* y, const MatmulInOrderSizes& s) {
  for (int64_t i = 0; i < s.m; ++i, a += s.k, y += s.n) {
    for (int64_t j = 0; j < s.n; ++j) y[j] = start == nullptr ? T(0) : start[i * s.n + j];
    for (int64_t p = 0; p < s.k; ++p) {
      for (int64_t j = 0; j < s.n; ++j) y[j] += a[p] * b[p * s.n + j];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::MatmulInOrderSizes;

void InferInOrder(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantFloat(1) || !c.WantSameDType(0, 1)) return;
  if (!c.WantRank(0, 2) || !c.WantRank(1, 2)) return;
  const Type& a = c.type(0);
  const Type& b = c.type(1);
  if (!c.Unify(a.dim(1), b.dim(0), "inner dimensions")) return;
  const Type y = Type::Tensor(a.dtype(), {a.dim(0), b.dim(1)});
  if (c.has(2) && !c.UnifyTypes(y, c.type(2), "result and start")) return;
  c.SetResult(y);
}

MatmulInOrderSizes SizesOf(const Slot& a, const Slot& y) {
  return {y.shape()[0], y.shape()[1], a.shape()[1]};
}

template <class T>
const T* StartOf(const KernelContext& c) {
  return c.has_in(2) ? c.in(2).data<const T>() : nullptr;
}

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::MatmulInOrder(c.in(0).data<const T>(), c.in(1).data<const T>(), StartOf<T>(c),
                                 c.out().data<T>(), SizesOf(c.in(0), c.out()));
      },
      "matmul_in_order");
  return KernelStatus::kDone;
}

struct PreparedIsa final : Prepared {
  Isa isa = Isa::kPlain;
};

KernelStatus RunVector(KernelContext& c) {
  const MatmulInOrderSizes s = SizesOf(c.in(0), c.out());
  const Isa isa = static_cast<const PreparedIsa*>(c.prepared)->isa;
  const auto* a = c.in(0).data<const float>();
  const auto* b = c.in(1).data<const float>();
  const float* start = StartOf<float>(c);
  auto* y = c.out().data<float>();
  Split(c.pool, s.m, s.n * s.k / 16, [&](int64_t begin, int64_t end) {
    OrderedGemm(isa, end - begin, s.n, s.k, a + begin * s.k, s.k, b, s.n,
                start == nullptr ? nullptr : start + begin * s.n, s.n, y + begin * s.n, s.n);
  });
  return KernelStatus::kDone;
}

Kernel VectorKernel() {
  Kernel kernel = FastKernel(
      "vector", RunVector, [](const KernelQuery& q) { return IsF32(q) && HasOrderedGemm(q.isa); });
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedIsa>();
    prepared->isa = q.isa;
    return prepared;
  };
  return kernel;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const MatmulInOrderSizes s = SizesOf(*q.in[0], *q.out[0]);
  words << s.m << s.n << s.k;
}

OpCost CostOf(const KernelQuery& q) {
  const MatmulInOrderSizes s = SizesOf(*q.in[0], *q.out[0]);
  double bytes = 0;
  for (const Slot* slot : q.in) {
    if (slot != nullptr) bytes += static_cast<double>(slot->tensor.num_bytes());
  }
  bytes += static_cast<double>(q.out[0]->tensor.num_bytes());
  return {2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k),
          bytes};
}

void Grad(GradContext& c) {
  Emitter& e = c.emit();
  if (c.wanted(0)) {
    c.SetGrad(0, e.Emit("matmul", {c.grad(), c.operand(1)}, {{"transpose_b", true}}));
  }
  if (c.wanted(1)) {
    c.SetGrad(1, e.Emit("matmul", {c.operand(0), c.grad()}, {{"transpose_a", true}}));
  }
  if (c.has_operand(2) && c.wanted(2)) c.SetGrad(2, c.grad());
}

Sample Of(int64_t m, int64_t k, int64_t n, bool start) {
  Sample sample;
  sample.inputs = {Uniform({m, k}, -1, 1), Uniform({k, n}, -1, 1, 2)};
  if (start) sample.inputs.push_back(Uniform({m, n}, -1, 1, 3));
  return sample;
}

}  // namespace

void DefineMatmulInOrder(OpSet& ops) {
  ops.Define("matmul_in_order")
      .Group("matrix")
      .Doc(
          "The product of two matrices, plus start. Each sum begins with start, or 0, and is added "
          "up in the order of a's columns: a row's result does not depend on the other rows, and "
          "columns that were put together can be multiplied one part after the other, each with "
          "the "
          "result before it as start, to the same bits.")
      .Formula("y[i, j] = start[i, j] + a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + …")
      .In("a", "[M, K]")
      .In("b", "[K, N]")
      .OptionalIn("start", "[M, N]")
      .Infer(InferInOrder)
      .Sizes("MatmulInOrderSizes", FillSizes)
      .Cost(CostOf)
      .Grad(Grad)
      .Reference("MatmulInOrder", RunReference)
      .Fast(VectorKernel())
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                             Floats({3, 2}, {1, 0, 0, 1, 2, -1}), Floats({2, 2}, {1, 2, 3, 4})}})
      .AddSample(Of(3, 4, 5, false))
      .AddSample(Of(1, 7, 150, true))
      .AddSample(Of(5, 9, 67, true))
      .AddSample(Of(16, 3, 33, true))
      .AddSample(Of(131, 5, 21, true))
      .AddSample({.inputs = {Empty({0, 4}), Uniform({4, 2}, -1, 1)}})
      .AddSample({.inputs = {Empty({3, 0}), Empty({0, 2}), Uniform({3, 2}, -1, 1)}});
}

}  // namespace catamaran
