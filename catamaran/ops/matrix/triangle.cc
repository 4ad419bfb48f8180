// ops/matrix/triangle.cc
//
// tril(x), triu(x): the lower or upper triangle of matrices, zeros elsewhere. trace(x): the sum of
// the diagonal.

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/move.h"

// reference-begin
namespace catamaran::reference {

// Elements with j <= i + diagonal are the lower triangle, those with j >= i + diagonal the upper.
struct TriangleSizes {
  int64_t batch, rows, columns, diagonal, lower;
};

template <class T>
void Triangle(const T* x, T* y, const TriangleSizes& s) {
  for (int64_t r = 0; r < s.batch * s.rows; ++r, x += s.columns, y += s.columns) {
    const int64_t i = r % s.rows;
    // Kept: [begin, end).
    int64_t begin = s.lower ? 0 : i + s.diagonal;
    int64_t end = s.lower ? i + s.diagonal + 1 : s.columns;
    begin = std::min(std::max(begin, int64_t(0)), s.columns);
    end = std::min(std::max(end, begin), s.columns);
    for (int64_t j = 0; j < begin; ++j) y[j] = T(0);
    for (int64_t j = begin; j < end; ++j) y[j] = x[j];
    for (int64_t j = end; j < s.columns; ++j) y[j] = T(0);
  }
}

struct TraceSizes {
  int64_t batch, rows, columns;
};

template <class T>
void Trace(const T* x, T* y, const TraceSizes& s) {
  for (int64_t q = 0; q < s.batch; ++q) {
    double sum = 0;
    for (int64_t i = 0; i < std::min(s.rows, s.columns); ++i) {
      sum += static_cast<double>(x[(q * s.rows + i) * s.columns + i]);
    }
    y[q] = static_cast<T>(sum);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::TraceSizes;
using reference::TriangleSizes;

KernelStatus RunTriangle(KernelContext& c) {
  TriangleSizes s = c.sizes<TriangleSizes>();
  const Shape& shape = c.in(0).shape();
  s.batch = Product(shape, 0, shape.rank() - 2);
  s.rows = shape[shape.rank() - 2];
  DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
    const int64_t matrix = s.rows * s.columns;
    Split(c.pool, s.batch, matrix, [&](int64_t begin, int64_t end) {
      TriangleSizes part = s;
      part.batch = end - begin;
      reference::Triangle(c.in(0).data<const T>() + begin * matrix,
                          c.out().data<T>() + begin * matrix, part);
    });
  });
  return KernelStatus::kDone;
}

void DefineTriangle(OpSet& ops, const std::string& name, bool lower) {
  const std::string which = lower ? "lower" : "upper", sign = lower ? "<=" : ">=";
  ops.Define(name)
      .Group("matrix")
      .Doc("The " + which +
           " triangle of each matrix; zeros elsewhere. `diagonal` moves its edge to the right, a "
           "negative one to the left.")
      .Formula("y[…, i, j] = x[…, i, j] if j " + sign + " i + diagonal, else 0")
      .In("x", "[…, M, N]")
      .WithAttr("diagonal", AttrKind::kInt, 0, "0: the main diagonal, 1: the one above it")
      .Infer([](InferContext& c) {
        if (c.WantTensor(0) && c.WantMinRank(0, 2)) c.SetResult(c.type(0));
      })
      .Sizes("TriangleSizes",
             [lower](const KernelQuery& q, Words& words) {
               const Shape& x = q.in[0]->shape();
               words << Product(x, 0, x.rank() - 2) << x[x.rank() - 2] << x[x.rank() - 1]
                     << q.op->attr("diagonal").AsInt() << lower;
             })
      .Reference("Triangle", RunTriangle)
      .TakesHalf()
      .Grad([name](GradContext& c) {
        c.SetGrad(0, c.emit().Emit(name, {c.grad()}, {{"diagonal", c.attr("diagonal")}}));
      })
      .AddSample({.inputs = {Floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1)}, .attrs = {{"diagonal", 1}}})
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1)}, .attrs = {{"diagonal", -1}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}, .attrs = {{"diagonal", 9}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}, .attrs = {{"diagonal", -9}}})
      .AddSample({.inputs = {Floats({2, 2}, {1, NAN, INFINITY, 2})}, .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 3}, 1, 9, DType::kI8)}})
      .AddSample({.inputs = {Bools({2, 2}, {true, true, true, true})}})
      .AddSample({.inputs = {Empty({0, 3, 3})}})
      .AddSample({.inputs = {Empty({3, 0})}});
}

KernelStatus RunTrace(KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const TraceSizes s{c.out().size(), shape[shape.rank() - 2], shape[shape.rank() - 1]};
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { reference::Trace(c.in(0).data<T>(), c.out().data<T>(), s); }, "trace");
  return KernelStatus::kDone;
}

}  // namespace

void DefineTril(OpSet& ops) { DefineTriangle(ops, "tril", true); }
void DefineTriu(OpSet& ops) { DefineTriangle(ops, "triu", false); }

void DefineTrace(OpSet& ops) {
  ops.Define("trace")
      .Group("matrix")
      .Doc(
          "The sum of the diagonal of each matrix. One that is not square has as many elements "
          "there as its shorter side.")
      .Formula("y[…] = sum over i of x[…, i, i]")
      .In("x", "[…, M, N]")
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantMinRank(0, 2)) return;
        const auto dims = c.type(0).dims();
        c.SetResult(Type::Tensor(c.type(0).dtype(), {dims.begin(), dims.end() - 2}));
      })
      .Sizes("TraceSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& x = q.in[0]->shape();
               words << Product(x, 0, x.rank() - 2) << x[x.rank() - 2] << x[x.rank() - 1];
             })
      .Reference("Trace", RunTrace)
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        std::vector<Dim> dims(c.grad().type().dims().begin(), c.grad().type().dims().end());
        dims.push_back(1);
        dims.push_back(1);
        const Var matrix = e.Emit("reshape", {c.grad()}, {{"shape", Attr::Dims(dims)}});
        const Var full = e.Emit("expand_like", {matrix, c.operand(0)});
        c.SetGrad(0, e.Emit("triu", {e.Emit("tril", {full})}));
      })
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4})}})
      .AddSample({.inputs = {Uniform({2, 3, 5}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 2, 4, 3}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 0})}})
      .AddSample({.inputs = {Empty({0, 2, 2})}})
      .AddSample({.inputs = {Floats({2, 2}, {INFINITY, 2, 3, NAN})}, .check_gradient = false});
}

}  // namespace catamaran
