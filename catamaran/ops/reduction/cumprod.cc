// ops/reduction/cumprod.cc
//
// cumprod(x, axis, reverse, exclusive): the running product along an axis; and cumprod_grad, its
// gradient.

#include "catamaran/ops/reduction/reduce.h"
#include "catamaran/ops/reduction/scan.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Cumprod(const T* x, T* y, const ScanSizes& s) {
  using Acc = typename SumOf<T>::Type;
  ForEachLine(s, [&](int64_t at, int64_t step) {
    Acc product = 1;
    for (int64_t k = 0; k < s.size; ++k, at += step) {
      const Acc before = product;
      product *= static_cast<Acc>(x[at]);
      y[at] = static_cast<T>(s.exclusive ? before : product);
    }
  });
}

// dx[i] = (product before i) * tail[i], with tail[i] = dy[i] + x[i + 1] * tail[i + 1]; dy is one
// further on where the product is exclusive. Nothing is divided, so zeros need no care.
template <class T>
void CumprodGrad(const T* x, const T* dy, T* dx, const ScanSizes& s) {
  ForEachLine(s, [&](int64_t first, int64_t step) {
    double product = 1;
    for (int64_t k = 0, at = first; k < s.size; ++k, at += step) {
      dx[at] = static_cast<T>(product);
      product *= static_cast<double>(x[at]);
    }
    double tail = 0, next = 0;
    for (int64_t k = s.size - 1, at = first + k * step; k >= 0; --k, at -= step) {
      double arriving = static_cast<double>(dy[at]);
      if (s.exclusive) arriving = k + 1 < s.size ? static_cast<double>(dy[at + step]) : 0.0;
      tail = arriving + next * tail;
      next = static_cast<double>(x[at]);
      dx[at] = static_cast<T>(static_cast<double>(dx[at]) * tail);
    }
  });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& c) {
  const reference::ScanSizes s = ScanSizesNow(c);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { reference::Cumprod(c.in(0).data<const T>(), c.out().data<T>(), s); },
      c.op->name());
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  const reference::ScanSizes s = ScanSizesNow(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const T* x = c.in(0).data<const T>();
        const T* dy = c.in(1).data<const T>();
        T* dx = c.out().data<T>();
        const int64_t lines = s.size * s.inner;
        Split(c.pool, s.outer, 4 * lines, [&](int64_t begin, int64_t end) {
          reference::ScanSizes part = s;
          part.outer = end - begin;
          const int64_t at = begin * lines;
          reference::CumprodGrad(x + at, dy + at, dx + at, part);
        });
      },
      c.op->name());
  return KernelStatus::kDone;
}

}  // namespace

void DefineCumprod(OpSet& ops) {
  OpBuilder op = ops.Define("cumprod");
  op.In("x");
  ScanSignature(op, /*exclusive_too=*/true);
  op.Doc(
        "The product of all elements along `axis` up to each of them. Floats are multiplied in "
        "f64, "
        "integers wrap around. It has the shape of x; its gradient is right where elements are "
        "zero.")
      .Formula("y[k, i] = prod_{r <= i} x[k, r]; r >= i with reverse; without r = i with exclusive")
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantAlongAxis(c, &axis) || (IsFloat(c.type(0).dtype()) && !c.WantFloat(0))) return;
        if (c.type(0).dtype() == DType::kBool) {
          return (void)c.Fail("does not work on bool; cast it first");
        }
        c.SetResult(c.type(0));
      })
      .Fast(VectorScanKernel(/*product=*/true))
      .Reference("Cumprod", RunReference)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("cumprod_grad", {c.operand(0), c.grad()},
                                   ScanAttrs(c, /*turned=*/false)));
      })
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Floats({3, 4}, {1, 0, 3, 2, 0, 0, 6, 1, 2, -1, 0.5, 0})},
                  .attrs = {{"axis", 1}},
                  .note = "zeros"});
  for (bool reverse : {false, true}) {
    for (bool exclusive : {false, true}) {
      for (int axis : {0, 1, 2}) {
        op.AddSample({.inputs = {Uniform({3, 11, 5}, -1.5, 1.5)},
                      .attrs = {{"axis", axis}, {"reverse", reverse}, {"exclusive", exclusive}}});
      }
    }
  }
  op.AddSample({.inputs = {Uniform({3, 203}, 0.9, 1.1)}, .check_gradient = false})
      .AddSample({.inputs = {Floats({4}, {1, INFINITY, 0, 3})}, .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 9}, -9, 9, DType::kI32)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineCumprodGrad(OpSet& ops) {
  OpBuilder op = ops.Define("cumprod_grad");
  op.In("x").In("dy");
  ScanSignature(op, /*exclusive_too=*/true);
  op.Doc("The gradient of cumprod at x.")
      .Formula("dx[k, i] = sum_{j >= i} dy[k, j] prod_{r <= j, r != i} x[k, r]")
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantAlongAxis(c, &axis) || !c.WantFloat(0)) return;
        if (!c.UnifyTypes(c.type(0), c.type(1), "x and dy")) return;
        c.SetResult(c.type(0));
      })
      .Reference("CumprodGrad", RunGrad)
      .NoGrad("second derivatives of running products are not written down")
      .AddSample({.inputs = {Floats({4}, {2, 3, 0, 5}), Floats({4}, {1, 1, 1, 1})}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1), Uniform({3, 4}, -1, 1, 2)},
                  .attrs = {{"axis", 0}, {"exclusive", true}}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1), Uniform({3, 4}, -1, 1, 2)},
                  .attrs = {{"reverse", true}}})
      .AddSample({.inputs = {Uniform({3000, 40}, -1, 1), Uniform({3000, 40}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3})}});
}

}  // namespace catamaran
