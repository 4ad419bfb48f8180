// ops/activation/logsumexp.cc
//
// logsumexp(x, axes, keepdims) = log(sum(exp(x))) along axes, without overflow.

#include <fmt/format.h>

#include "catamaran/ops/activation/along_axis.h"
#include "catamaran/ops/reduction/reduce.h"

// reference-begin
namespace catamaran::reference {

struct LogSumExpSizes {
  int64_t rank;
  int64_t dims[8];
  int64_t reduced[8];  // 1: this axis goes
};

// The place in x of element i among those that result `o` is made of.
inline int64_t ReducedPlace(const LogSumExpSizes& s, int64_t o, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    int64_t& from = s.reduced[a] ? i : o;
    at += from % s.dims[a] * stride;
    from /= s.dims[a];
    stride *= s.dims[a];
  }
  return at;
}

template <class T>
void LogSumExp(const T* x, T* y, const LogSumExpSizes& s) {
  int64_t kept = 1, count = 1;
  for (int64_t a = 0; a < s.rank; ++a) (s.reduced[a] ? count : kept) *= s.dims[a];
  for (int64_t o = 0; o < kept; ++o) {
    T max = static_cast<T>(-HUGE_VAL);
    bool nan = false;
    for (int64_t i = 0; i < count; ++i) {
      const T v = x[ReducedPlace(s, o, i)];
      nan = nan || v != v;
      max = std::max(max, v);
    }
    // Of infinities the largest is the result; nothing adds up to log 0.
    y[o] = nan ? static_cast<T>(NAN) : max;
    if (nan || max - max != 0) continue;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += static_cast<double>(std::exp(x[ReducedPlace(s, o, i)] - max));
    }
    y[o] = max + static_cast<T>(std::log(sum));
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::LogSumExpSizes;

void InferLogSumExp(InferContext& c) {
  if (!c.WantFloat(0)) return;
  const Type& x = c.type(0);
  bool reduced[kMaxRank] = {};
  if (!ReducedAxes(c, x.rank(), reduced)) return;
  const bool keep = c.op().attr("keepdims").AsBool();
  std::vector<Dim> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (reduced[i] && x.is_ragged() && i <= x.ragged_axis()) {
      return (void)c.Fail(
          fmt::format("works along axes behind *{} only", std::string(x.ragged_name())));
    }
    if (!reduced[i]) dims.push_back(x.dims()[static_cast<size_t>(i)]);
    if (reduced[i] && keep) dims.push_back(1);
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

// The storage of a ragged value has one axis less: axes are counted from the end.
LogSumExpSizes SizesOf(const Op& op, const Shape& shape) {
  LogSumExpSizes s{};
  s.rank = shape.rank();
  const int rank = op.operand(0)->type.rank();
  const Attr& axes = op.attr("axes");
  for (int i = 0; i < shape.rank(); ++i) {
    s.dims[i] = shape[i];
    s.reduced[i] = axes.empty();
  }
  if (axes.empty()) return s;
  for (int64_t axis : axes.AsInts()) {
    s.reduced[shape.rank() - (axis < 0 ? -axis : rank - axis)] = 1;
  }
  return s;
}

// Axes that go and lie side by side are one axis.
bool IsOneAxis(const LogSumExpSizes& s, AlongAxisSizes* along) {
  *along = {1, 1, 1};
  int part = 0;  // 0: before the axes that go, 1: among them, 2: after
  for (int64_t a = 0; a < s.rank; ++a) {
    if (s.reduced[a] ? part == 2 : part == 1) {
      if (s.reduced[a]) return false;
      part = 2;
    } else if (s.reduced[a]) {
      part = 1;
    }
    (part == 0 ? along->outer : part == 1 ? along->width : along->inner) *= s.dims[a];
  }
  return true;
}

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::LogSumExp(c.in(0).data<T>(), c.out().data<T>(), SizesOf(*c.op, c.in(0).shape()));
      },
      "logsumexp");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  AlongAxisSizes s;
  IsOneAxis(SizesOf(*c.op, c.in(0).shape()), &s);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        SplitColumns(c, s, [&](int64_t begin, int64_t end) {
          SoftmaxKernelsOf<T>(c).log_sum_exp(c.in(0).data<T>(), c.out().data<T>(), s.width, s.inner,
                                             begin, end);
        });
      },
      "logsumexp");
  return KernelStatus::kDone;
}

// dy * exp(x - y); where y is infinite nothing flows.
void GradOfLogSumExp(GradContext& c) {
  Emitter& e = c.emit();
  const Var y = WithReducedAxes(c, c.result());
  const Var zero = e.Constant(0.0, y.type().dtype());
  const Var share = e.Emit("exp", {c.operand(0) - y});
  const Var finite = e.Emit("isfinite", {y});
  c.SetGrad(0, WithReducedAxes(c, c.grad()) * e.Emit("where", {finite, share, zero}));
}

}  // namespace

void DefineLogsumexp(OpSet& ops) {
  Kernel vector = AlongAxisKernel(RunVector);
  vector.supports = [](const KernelQuery& q) {
    AlongAxisSizes s;
    return IsOneAxis(SizesOf(*q.op, q.in[0]->shape()), &s);
  };
  const auto over = [](std::initializer_list<int64_t> axes) {
    return NamedAttr{"axes", Attr::Ints(axes)};
  };
  ops.Define("logsumexp")
      .Group("activation")
      .Doc(
          "log(sum(exp(x))) along `axes`, without overflow: -inf where there is nothing or nothing "
          "but -inf, +inf where that occurs, NaN where that occurs. Where the result is infinite "
          "no "
          "gradient flows.")
      .Formula("log(sum of exp(x) over the axes)")
      .In("x")
      .OptionalAttr("axes", AttrKind::kInts, "which go; all when not given; negative from the end")
      .WithAttr("keepdims", AttrKind::kBool, false, "keep them with size 1")
      .Traits(RaggedTraits())
      .Infer(InferLogSumExp)
      .Sizes("LogSumExpSizes",
             [](const KernelQuery& q, Words& words) {
               const LogSumExpSizes s = SizesOf(*q.op, q.in[0]->shape());
               words << s.rank;
               for (int64_t dim : s.dims) words << dim;
               for (int64_t reduced : s.reduced) words << reduced;
             })
      .Reference("LogSumExp", RunReference)
      .Fast(vector)
      .Grad(GradOfLogSumExp)
      .AddSample({.inputs = {Floats({2, 3}, {0, 1, 2, 3, 3, 3})}, .attrs = {over({1})}})
      .AddSample({.inputs = {Uniform({4, 3}, -3, 3)}})
      .AddSample({.inputs = {Uniform({}, -3, 3)}})
      .AddSample({.inputs = {Uniform({4, 35}, -3, 3)}, .attrs = {over({-1}), {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({37, 21}, -3, 3)}, .attrs = {over({1})}})
      .AddSample({.inputs = {Uniform({4, 70}, -3, 3)}, .attrs = {over({0})}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -3, 3)}, .attrs = {over({0, 2})}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -3, 3)}, .attrs = {over({1, 0})}})
      .AddSample({.inputs = {Floats({6, 2}, {-INFINITY, -INFINITY, INFINITY, 0, NAN, 0, INFINITY,
                                             -INFINITY, -INFINITY, 1, NAN, INFINITY})},
                  .attrs = {over({1})},
                  .check_gradient = false})
      .AddSample(
          {.inputs = {Floats({2, 4}, {-INFINITY, INFINITY, NAN, NAN, -INFINITY, 1, 0, INFINITY})},
           .attrs = {over({0})},
           .check_gradient = false})
      .AddSample({.inputs = {Floats({3}, {1000, 1000, -1000})}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {over({1})}})
      .AddSample({.inputs = {Empty({3, 0})}, .attrs = {over({1})}, .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {over({0})}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {over({2})},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
