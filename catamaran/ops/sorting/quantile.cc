// ops/sorting/quantile.cc
//
// quantile(x, q, axis, keepdims): the number below which the part q of the elements along an axis
// lies; quantile_grad, its gradient; and median, the quantile of one half.

#include <vector>

#include "catamaran/ops/sorting/order.h"
#include "catamaran/ops/sorting/sorted_line.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner].
struct QuantileSizes {
  int64_t outer, size, inner;
  double q;
};

// The neighbours of the quantile in a sorted line, and how far it is from the lower to the upper.
struct QuantilePlace {
  int64_t lower, upper;
  double part;
};
inline QuantilePlace PlaceOfQuantile(double q, int64_t size) {
  const double at = q * static_cast<double>(size - 1);
  const int64_t lower = static_cast<int64_t>(std::floor(at));
  return {lower, std::min(lower + 1, size - 1), at - static_cast<double>(lower)};
}

// `positions` is scratch of `size`. NaN where one of the elements is.
template <class T>
void Quantile(const T* x, T* y, int64_t* positions, const QuantileSizes& s) {
  const QuantilePlace place = PlaceOfQuantile(s.q, s.size);
  for (int64_t l = 0; l < s.outer * s.inner; ++l) {
    const T* line = x + l / s.inner * s.size * s.inner + l % s.inner;
    for (int64_t k = 0; k < s.size; ++k) positions[k] = k;
    std::sort(positions, positions + s.size, [&](int64_t a, int64_t b) {
      const T v = line[a * s.inner], w = line[b * s.inner];
      return SortsBelow(v, w) || (!SortsBelow(w, v) && a < b);
    });
    const T last = line[positions[s.size - 1] * s.inner];
    const double lower = static_cast<double>(line[positions[place.lower] * s.inner]);
    const double upper = static_cast<double>(line[positions[place.upper] * s.inner]);
    // Of equal infinities there is no difference.
    const double between = lower == upper ? lower : lower + place.part * (upper - lower);
    y[l] = last != last ? last : static_cast<T>(place.part == 0 ? lower : between);
  }
}

// The two neighbours share dy.
template <class T>
void QuantileGrad(const T* x, const T* dy, T* dx, int64_t* positions, const QuantileSizes& s) {
  const QuantilePlace place = PlaceOfQuantile(s.q, s.size);
  std::fill_n(dx, s.outer * s.size * s.inner, T(0));
  for (int64_t l = 0; l < s.outer * s.inner; ++l) {
    const int64_t first = l / s.inner * s.size * s.inner + l % s.inner;
    const T* line = x + first;
    for (int64_t k = 0; k < s.size; ++k) positions[k] = k;
    std::sort(positions, positions + s.size, [&](int64_t a, int64_t b) {
      const T v = line[a * s.inner], w = line[b * s.inner];
      return SortsBelow(v, w) || (!SortsBelow(w, v) && a < b);
    });
    const double g = static_cast<double>(dy[l]);
    T* lower = dx + first + positions[place.lower] * s.inner;
    *lower = static_cast<T>(g * (1 - place.part));
    T* upper = dx + first + positions[place.upper] * s.inner;
    *upper = static_cast<T>(static_cast<double>(*upper) + g * place.part);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::QuantilePlace;
using reference::QuantileSizes;

double QOf(const Op& op) { return op.attr("q").empty() ? 0.5 : op.attr("q").AsDouble(); }

bool WantLine(InferContext& c, int* axis) {
  if (!WantAlongAxis(c, axis) || !c.WantFloat(0)) return false;
  const double q = QOf(c.op());
  if (!(q >= 0 && q <= 1)) return c.Fail("q must lie in [0, 1], found " + FormatDouble(q));
  const Dim& size = c.type(0).dim(*axis);
  if (!size.is_constant() || size.constant() > 0) return true;
  return c.Fail(fmt::format("axis {} has no elements, so there is no result", *axis));
}

Type ResultType(InferContext& c, int axis) {
  const Type& x = c.type(0);
  std::vector<Dim> dims;
  for (int a = 0; a < x.rank(); ++a) {
    if (a != axis) {
      dims.push_back(x.dim(a));
    } else if (c.op().attr("keepdims").AsBool()) {
      dims.push_back(1);
    }
  }
  return x.WithDims(std::move(dims));
}

QuantileSizes SizesNow(const KernelContext& c) {
  QuantileSizes s = c.sizes<QuantileSizes>();
  const AxisSplit now = SplitNow(c);
  s.outer = now.outer;
  s.size = now.size;
  if (s.size == 0 && c.out().size() > 0) {
    Fail("the axis of {} has no elements, so there is no result", c.in(0).shape().ToString());
  }
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  const QuantileSizes s = SizesNow(c);
  if (s.size == 0) return KernelStatus::kDone;
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Quantile(c.in(0).data<const T>(), c.out().data<T>(),
                            static_cast<int64_t*>(c.scratch), s);
      },
      c.op->name());
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  const QuantileSizes s = SizesNow(c);
  if (s.size == 0) return KernelStatus::kDone;
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::QuantileGrad(c.in(0).data<const T>(), c.in(1).data<const T>(), c.out().data<T>(),
                                static_cast<int64_t*>(c.scratch), s);
      },
      c.op->name());
  return KernelStatus::kDone;
}

// Selects instead of sorting.
template <class T>
void SelectLines(KernelContext& c, const QuantileSizes& s) {
  const T* x = c.in(0).data<const T>();
  T* y = c.out().data<T>();
  const QuantilePlace place = reference::PlaceOfQuantile(s.q, s.size);
  Split(c.pool, s.outer * s.inner, 8 * s.size, [&](int64_t begin, int64_t end) {
    thread_local std::vector<T> line;
    line.resize(static_cast<size_t>(s.size));
    for (int64_t l = begin; l < end; ++l) {
      const T* from = x + l / s.inner * s.size * s.inner + l % s.inner;
      T nan = 0;
      for (int64_t k = 0; k < s.size; ++k) {
        line[static_cast<size_t>(k)] = from[k * s.inner];
        if (from[k * s.inner] != from[k * s.inner]) nan = from[k * s.inner];
      }
      if (nan != nan) {
        y[l] = nan;
        continue;
      }
      std::nth_element(line.begin(), line.begin() + place.lower, line.end());
      const double lower = static_cast<double>(line[static_cast<size_t>(place.lower)]);
      double upper = lower;
      if (place.part != 0) {
        upper = static_cast<double>(*std::min_element(line.begin() + place.upper, line.end()));
      }
      y[l] = static_cast<T>(lower == upper ? lower : lower + place.part * (upper - lower));
    }
  });
}

KernelStatus RunSelect(KernelContext& c) {
  const QuantileSizes s = SizesNow(c);
  if (s.size == 0) return KernelStatus::kDone;
  DispatchFloating(
      c.in(0).tensor.dtype, [&]<class T>(T) { SelectLines<T>(c, s); }, c.op->name());
  return KernelStatus::kDone;
}

void UsePositions(OpBuilder& op) {
  op.def().kernels.back().scratch = [](const KernelQuery& query) {
    return static_cast<size_t>(SplitOf(query).size) * sizeof(int64_t);
  };
}

void FillSizes(const KernelQuery& query, Words& words) {
  const AxisSplit s = SplitOf(query);
  words << s.outer << s.size << s.inner << QOf(*query.op);
}

void Define(OpBuilder op, const std::vector<double>& qs) {
  op.Group("sorting")
      .WithAttr("axis", AttrKind::kInt, -1, "along which it is taken")
      .WithAttr("keepdims", AttrKind::kBool, false, "the axis stays, with size 1")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        int axis = 0;
        if (WantLine(c, &axis)) c.SetResult(ResultType(c, axis));
      })
      .Sizes("QuantileSizes", FillSizes)
      .Fast(FastKernel("select", RunSelect, nullptr))
      .Reference("Quantile", RunReference)
      .Grad([](GradContext& c) {
        const NamedAttr keep{"keepdims", c.attr("keepdims")};
        c.SetGrad(0, c.emit().Emit("quantile_grad", {c.operand(0), c.grad()},
                                   {{"q", QOf(c.op())}, {"axis", c.attr("axis")}, keep}));
      });
  UsePositions(op);
  const auto sample = [&](Tensor x, double q, std::vector<NamedAttr> attrs, bool smooth) {
    if (qs.size() > 1) attrs.push_back({"q", q});
    op.AddSample({.inputs = {std::move(x)}, .attrs = std::move(attrs), .check_gradient = smooth});
  };
  sample(Floats({2, 4}, {4, 1, 3, 2, 10, 40, 20, 30}), qs[0], {}, true);
  for (double q : qs) {
    sample(Uniform({3, 7}, -1, 1), q, {}, true);
    sample(Uniform({6, 3}, -1, 1), q, {{"axis", 0}, {"keepdims", true}}, true);
    sample(Uniform({2, 400, 2}, -1, 1), q, {{"axis", 1}}, false);
    sample(Floats({4, 3}, {1, NAN, 2, INFINITY, INFINITY, 1, -INFINITY, -INFINITY, 1, 5, 5, 5}), q,
           {}, false);
    sample(Uniform({1}, -1, 1), q, {}, true);
    sample(Empty({0, 3}), q, {}, false);
  }
}

}  // namespace

void DefineQuantile(OpSet& ops) {
  OpBuilder op = ops.Define("quantile");
  op.Doc(
        "The q-quantile of the elements along `axis`: the number at q (n - 1) when they are "
        "sorted, "
        "between two of them in proportion. NaN where one of them is. An axis without elements is "
        "an error.")
      .Formula("y[k] = s[i] + f (s[i + 1] - s[i]), s = sort(x[k, …]), i + f = q (n - 1)")
      .In("x")
      .RequiredAttr("q", AttrKind::kFloat, "from 0, the smallest, to 1, the largest");
  Define(op, {0.25, 0.0, 0.9, 1.0});
}

void DefineMedian(OpSet& ops) {
  OpBuilder op = ops.Define("median");
  op.Doc(
        "The median of the elements along `axis`: the middle one when they are sorted, the mean of "
        "the two in the middle when their number is even. NaN where one of them is. An axis "
        "without "
        "elements is an error.")
      .Formula("y[k] = s[i] + f (s[i + 1] - s[i]), s = sort(x[k, …]), i + f = (n - 1) / 2")
      .In("x");
  Define(op, {0.5});
}

void DefineQuantileGrad(OpSet& ops) {
  OpBuilder op = ops.Define("quantile_grad");
  op.Group("sorting")
      .Doc("The gradient of quantile at x: the two elements around the quantile share dy.")
      .Formula("dx[k, at(s[i])] = (1 - f) dy[k], dx[k, at(s[i + 1])] = f dy[k]")
      .In("x")
      .In("dy")
      .RequiredAttr("q", AttrKind::kFloat, "which quantile")
      .WithAttr("axis", AttrKind::kInt, -1, "along which it was taken")
      .WithAttr("keepdims", AttrKind::kBool, false, "the axis stayed, with size 1")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantLine(c, &axis)) return;
        if (!c.UnifyTypes(ResultType(c, axis), c.type(1), "the quantile and dy")) return;
        c.SetResult(c.type(0));
      })
      .Sizes("QuantileSizes", FillSizes)
      .Reference("QuantileGrad", RunGrad)
      .NoGrad("it is linear in dy, but where x's elements stand changes in steps")
      .AddSample({.inputs = {Floats({4}, {4, 1, 3, 2}), Floats({}, {1})}, .attrs = {{"q", 0.5}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({1, 3}, -1, 1, 2)},
                  .attrs = {{"q", 0.3}, {"axis", 0}, {"keepdims", true}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0})}, .attrs = {{"q", 0.3}}});
  UsePositions(op);
}

}  // namespace catamaran
