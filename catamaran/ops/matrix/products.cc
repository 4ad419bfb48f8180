// ops/matrix/products.cc
//
// outer(a, b): every product of an element of a with one of b. dot(a, b): the sum of the products
// of elements at the same place.

#include "catamaran/ops/blas.h"
#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct OuterSizes {
  int64_t m, n;
};

template <class T>
void Outer(const T* a, const T* b, T* y, const OuterSizes& s) {
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) y[i * s.n + j] = static_cast<T>(a[i] * b[j]);
  }
}

struct DotSizes {
  int64_t count;
};

template <class T>
void Dot(const T* a, const T* b, T* y, const DotSizes& s) {
  double sum = 0;
  for (int64_t i = 0; i < s.count; ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  y[0] = static_cast<T>(sum);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::DotSizes;
using reference::OuterSizes;

bool WantVectors(InferContext& c) {
  return c.WantFloat(0) && c.WantFloat(1) && c.WantSameDType(0, 1) && c.WantRank(0, 1) &&
         c.WantRank(1, 1);
}

KernelStatus RunOuter(KernelContext& c) {
  const int64_t m = c.in(0).size(), n = c.in(1).size();
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        Split(c.pool, m, n, [&](int64_t begin, int64_t end) {
          reference::Outer(c.in(0).data<T>() + begin, c.in(1).data<T>(),
                           c.out().data<T>() + begin * n, OuterSizes{end - begin, n});
        });
      },
      "outer");
  return KernelStatus::kDone;
}

KernelStatus RunDot(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Dot(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                       DotSizes{c.in(0).size()});
      },
      "dot");
  return KernelStatus::kDone;
}

KernelStatus RunBlasDot(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        *c.out().data<T>() = blas::Dot(c.in(0).size(), c.in(0).data<T>(), c.in(1).data<T>());
      },
      "dot");
  return KernelStatus::kDone;
}

}  // namespace

void DefineOuter(OpSet& ops) {
  ops.Define("outer")
      .Group("matrix")
      .Doc("The products of each element of a with each element of b.")
      .Formula("y[i, j] = a[i] * b[j]")
      .In("a", "[M]")
      .In("b", "[N]")
      .Infer([](InferContext& c) {
        if (!WantVectors(c)) return;
        c.SetResult(Type::Tensor(c.type(0).dtype(), {c.type(0).dim(0), c.type(1).dim(0)}));
      })
      .Sizes("OuterSizes", [](const KernelQuery& q,
                              Words& words) { words << q.in[0]->size() << q.in[1]->size(); })
      .Reference("Outer", RunOuter)
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.emit().Emit("matmul", {c.grad(), c.operand(1)}));
        if (c.wanted(1)) c.SetGrad(1, c.emit().Emit("matmul", {c.operand(0), c.grad()}));
      })
      .AddSample({.inputs = {Floats({2}, {1, 2}), Floats({3}, {3, 4, 5})}})
      .AddSample({.inputs = {Uniform({19}, -1, 1), Uniform({7}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0}), Uniform({3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Empty({0})}})
      .AddSample(
          {.inputs = {Floats({2}, {INFINITY, NAN}), Floats({2}, {0, 1})}, .check_gradient = false});
}

void DefineDot(OpSet& ops) {
  ops.Define("dot")
      .Group("matrix")
      .Doc("The inner product of two vectors: a number. Of empty ones it is 0.")
      .Formula("y = sum over i of a[i] * b[i]")
      .In("a", "[N]")
      .In("b", "[N]")
      .Infer([](InferContext& c) {
        if (!WantVectors(c) || !c.Unify(c.type(0).dim(0), c.type(1).dim(0), "lengths")) return;
        c.SetResult(Type::Scalar(c.type(0).dtype()));
      })
      .Sizes("DotSizes", [](const KernelQuery& q, Words& words) { words << q.in[0]->size(); })
      .Reference("Dot", RunDot)
      .Fast(FastKernel("openblas", RunBlasDot, nullptr))
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.operand(1) * c.grad());
        if (c.wanted(1)) c.SetGrad(1, c.operand(0) * c.grad());
      })
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})}})
      .AddSample({.inputs = {Uniform({77}, -1, 1), Uniform({77}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0}), Empty({0})}})
      .AddSample(
          {.inputs = {Floats({2}, {INFINITY, 1}), Floats({2}, {0, 1})}, .check_gradient = false});
}

}  // namespace catamaran
