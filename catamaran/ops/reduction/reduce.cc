#include "catamaran/ops/reduction/reduce.h"

#include <fmt/format.h>

#include <limits>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/reduction/reduce_isa.h"

namespace catamaran {

namespace {

using reference::ReduceSizes;

constexpr int64_t kGrain = 16384;

// Axes 0 … rank-1 that the attribute names; false when it is malformed.
bool AxesOf(const Op& op, int rank, bool (&reduced)[kMaxRank], std::string* why) {
  const Attr& axes = op.attr("axes");
  std::fill(reduced, reduced + kMaxRank, axes.empty());
  if (axes.empty()) return true;
  for (int64_t given : axes.AsInts()) {
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) {
      *why = fmt::format("there is no axis {} in a tensor of {} dimensions", given, rank);
      return false;
    }
    if (reduced[axis]) {
      *why = fmt::format("axis {} is named twice", given);
      return false;
    }
    reduced[axis] = true;
  }
  return true;
}

void InferReduction(InferContext& c, bool divide) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  if (divide ? !c.WantFloat(0) : IsFloat(x.dtype()) && !c.WantFloat(0)) return;
  if (x.dtype() == DType::kBool) return (void)c.Fail("does not work on bool; cast it first");
  bool reduced[kMaxRank];
  if (!ReducedAxes(c, x.rank(), reduced)) return;
  const bool all = std::all_of(reduced, reduced + x.rank(), [](bool r) { return r; });
  const bool keep = c.op().attr("keepdims").AsBool();
  int ragged_axis = x.ragged_axis();
  if (ragged_axis >= 0 && !(all && !keep)) {
    for (int axis = 0; axis <= ragged_axis; ++axis) {
      if (!reduced[axis]) continue;
      return (void)c.Fail(
          fmt::format("reduces a ragged value along axes behind *{} only, or along all of them",
                      x.ragged_name()));
    }
  }
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) {
      dims.push_back(x.dim(axis));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  if (all) ragged_axis = -1;
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), ragged_axis));
}

// The shape as [outer, reduced, inner], when the axes that go are neighbours.
struct Pattern {
  int64_t outer = 1, reduced = 1, inner = 1;
  bool fits = true;
};

Pattern PatternOf(const ReduceSizes& s) {
  Pattern p;
  int stage = 0;
  for (int64_t a = 0; a < s.rank; ++a) {
    if (s.dims[a] == 1) continue;
    if (s.reduced[a] != 0) {
      if (stage == 2) p.fits = false;
      stage = std::max(stage, 1);
      p.reduced *= s.dims[a];
    } else {
      if (stage == 1) stage = 2;
      (stage == 2 ? p.inner : p.outer) *= s.dims[a];
    }
  }
  return p;
}

// What the op reduces, this time.
ReduceSizes SizesNow(const Op& op, const Shape& x, const Shape& y) {
  return op.Is("sum_to") ? SumToSizesOf(x, y) : ReduceSizesOf(op, x, op.Is("mean"));
}

// Keeps what the attributes said, so that a run need not read them.
class ReducePlan : public Prepared {
 public:
  const ReduceFunctions* functions = nullptr;
  bool divide = false;
  bool reduced[kMaxRank] = {};

  Pattern PatternNow(const Shape& x) const {
    ReduceSizes s{};
    s.rank = x.rank();
    for (int axis = 0; axis < x.rank(); ++axis) {
      s.dims[axis] = x[axis];
      s.reduced[axis] = reduced[axis];
    }
    return PatternOf(s);
  }
};

std::unique_ptr<Prepared> PrepareReduction(const KernelQuery& query) {
  auto plan = std::make_unique<ReducePlan>();
  plan->functions = &ReduceFunctionsFor(query.isa);
  const ReduceSizes s = SizesNow(*query.op, query.in[0]->shape(), query.out[0]->shape());
  plan->divide = s.divide != 0;
  for (int64_t axis = 0; axis < s.rank; ++axis) plan->reduced[axis] = s.reduced[axis] != 0;
  return plan;
}

bool SupportsReduction(const KernelQuery& query) {
  const DType dtype = query.in[0]->tensor.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  return PatternOf(SizesNow(*query.op, query.in[0]->shape(), query.out[0]->shape())).fits;
}

template <class F>
void Split(ThreadPool* pool, int64_t count, int64_t cost, F&& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cost));
  if (pool == nullptr || pool->threads() == 1 || count < 2 * grain) {
    if (count > 0) body(int64_t{0}, count);
  } else {
    pool->ParallelFor(count, grain, body);
  }
}

// One long sum or maximum, in pieces whose borders depend on n only.
template <class Acc, class Piece, class Combine>
Acc LongReduction(ThreadPool* pool, int64_t n, Piece piece, Combine combine) {
  constexpr int64_t kPieces = 64;
  const int64_t size = std::max(kGrain, (n + kPieces - 1) / kPieces);
  const int64_t pieces = (n + size - 1) / size;
  if (pieces <= 1) return piece(0, n);
  Acc parts[kPieces];
  const auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) parts[i] = piece(i * size, std::min(n, (i + 1) * size));
  };
  if (pool == nullptr || pool->threads() == 1) {
    body(0, pieces);
  } else {
    pool->ParallelFor(pieces, 1, body);
  }
  Acc result = parts[0];
  for (int64_t i = 1; i < pieces; ++i) result = combine(result, parts[i]);
  return result;
}

template <class T>
void VectorSum(KernelContext& context, const Pattern& p, double divisor) {
  const auto& f = *static_cast<const ReducePlan*>(context.prepared)->functions;
  const T* x = context.in(0).data<const T>();
  T* y = context.out().data<T>();
  const auto sum = [&](const T* at, int64_t n) {
    if constexpr (sizeof(T) == 4) {
      return f.sum_f32(at, n);
    } else {
      return f.sum_f64(at, n);
    }
  };
  if (p.inner == 1 && p.outer == 1) {
    const double total = LongReduction<double>(
        context.pool, p.reduced, [&](int64_t b, int64_t e) { return sum(x + b, e - b); },
        [](double a, double b) { return a + b; });
    y[0] = static_cast<T>(total / divisor);
  } else if (p.inner == 1) {
    Split(context.pool, p.outer, p.reduced, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        y[o] = static_cast<T>(sum(x + o * p.reduced, p.reduced) / divisor);
      }
    });
  } else {
    for (int64_t o = 0; o < p.outer; ++o) {
      const T* at = x + o * p.reduced * p.inner;
      Split(context.pool, p.inner, p.reduced, [&](int64_t begin, int64_t end) {
        if constexpr (sizeof(T) == 4) {
          f.sum_rows_f32(at, y + o * p.inner, p.reduced, p.inner, begin, end, divisor);
        } else {
          f.sum_rows_f64(at, y + o * p.inner, p.reduced, p.inner, begin, end, divisor);
        }
      });
    }
  }
}

KernelStatus RunVectorSum(KernelContext& context) {
  const auto& plan = *static_cast<const ReducePlan*>(context.prepared);
  const Pattern p = plan.PatternNow(context.in(0).shape());
  if (!p.fits) return RunSumReference(context);
  const double divisor = plan.divide ? static_cast<double>(p.reduced) : 1.0;
  if (context.in(0).tensor.dtype == DType::kF32) {
    VectorSum<float>(context, p, divisor);
  } else {
    VectorSum<double>(context, p, divisor);
  }
  return KernelStatus::kDone;
}

template <class T>
T Larger(T a, T b) {
  return a > b || a != a ? a : b;
}

template <class T>
void VectorMax(KernelContext& context, const Pattern& p) {
  const auto& f = *static_cast<const ReducePlan*>(context.prepared)->functions;
  const T* x = context.in(0).data<const T>();
  T* y = context.out().data<T>();
  const auto most = [&](const T* at, int64_t n) -> T {
    if constexpr (sizeof(T) == 4) {
      return f.max_f32(at, n);
    } else {
      return f.max_f64(at, n);
    }
  };
  if (p.inner == 1 && p.outer == 1) {
    y[0] = LongReduction<T>(
        context.pool, p.reduced, [&](int64_t b, int64_t e) { return most(x + b, e - b); },
        Larger<T>);
  } else if (p.inner == 1) {
    Split(context.pool, p.outer, p.reduced, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) y[o] = most(x + o * p.reduced, p.reduced);
    });
  } else {
    for (int64_t o = 0; o < p.outer; ++o) {
      const T* at = x + o * p.reduced * p.inner;
      Split(context.pool, p.inner, p.reduced, [&](int64_t begin, int64_t end) {
        if constexpr (sizeof(T) == 4) {
          f.max_rows_f32(at, y + o * p.inner, p.reduced, p.inner, begin, end);
        } else {
          f.max_rows_f64(at, y + o * p.inner, p.reduced, p.inner, begin, end);
        }
      });
    }
  }
}

KernelStatus RunVectorMax(KernelContext& context) {
  const auto& plan = *static_cast<const ReducePlan*>(context.prepared);
  const Pattern p = plan.PatternNow(context.in(0).shape());
  if (!p.fits || p.reduced == 0) return RunMaxReference(context);
  if (context.in(0).tensor.dtype == DType::kF32) {
    VectorMax<float>(context, p);
  } else {
    VectorMax<double>(context, p);
  }
  return KernelStatus::kDone;
}

Kernel VectorKernel(KernelFn run) {
  Kernel kernel;
  kernel.name = "vector";
  kernel.supports = SupportsReduction;
  kernel.prepare = PrepareReduction;
  kernel.run = run;
  return kernel;
}

ReduceSizes SizesFromFlags(const Shape& x, const bool* reduced, bool divide) {
  ReduceSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[axis];
    s.reduced[axis] = reduced[axis];
  }
  s.divide = divide;
  return s;
}

}  // namespace

bool ReducedAxes(InferContext& c, int rank, bool (&reduced)[kMaxRank]) {
  std::string why;
  return AxesOf(c.op(), rank, reduced, &why) || c.Fail(why);
}

reference::ReduceSizes ReduceSizesOf(const Op& op, const Shape& x, bool divide) {
  // A ragged operand is stored with one axis less than its type has.
  const int rank = op.operand(0)->type.rank();
  const int shift = rank - x.rank();
  bool reduced[kMaxRank];
  std::string why;
  CATAMARAN_CHECK(AxesOf(op, rank, reduced, &why), "{}", why);
  return SizesFromFlags(x, reduced + shift, divide);
}

reference::ReduceSizes SumToSizesOf(const Shape& x, const Shape& like) {
  bool reduced[kMaxRank] = {};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int own = axis - x.rank() + like.rank();
    reduced[axis] = own < 0 || like[own] == 1;  // size 1 against size 1 goes either way
  }
  return SizesFromFlags(x, reduced, false);
}

void ReductionSignature(OpBuilder& op, bool divide) {
  OpTraits traits;
  traits.understands_ragged = true;
  op.Group("reduction")
      .In("x")
      .OptionalAttr("axes", AttrKind::kInts, "which axes go; all of them when left out")
      .WithAttr("keepdims", AttrKind::kBool, false, "the axes that go stay, with size 1")
      .Traits(traits)
      .Infer([divide](InferContext& c) { InferReduction(c, divide); })
      .Sizes("ReduceSizes", [divide](const KernelQuery& query, Words& words) {
        const ReduceSizes s = ReduceSizesOf(*query.op, query.in[0]->shape(), divide);
        words << s.rank;
        for (int64_t dim : s.dims) words << dim;
        for (int64_t flag : s.reduced) words << flag;
        words << s.divide;
      });
}

Kernel VectorSumKernel() { return VectorKernel(RunVectorSum); }
Kernel VectorMaxKernel() { return VectorKernel(RunVectorMax); }

KernelStatus RunSumReference(KernelContext& context) {
  const ReduceSizes s = SizesNow(*context.op, context.in(0).shape(), context.out().shape());
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      context.in(0).tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        reference::Sum(context.in(0).data<const T>(), context.out().data<T>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

KernelStatus RunMaxReference(KernelContext& context) {
  const ReduceSizes s = SizesNow(*context.op, context.in(0).shape(), context.out().shape());
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      context.in(0).tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        using Limits = std::numeric_limits<T>;
        const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        reference::MaxOfAxes(context.in(0).data<const T>(), context.out().data<T>(), s, lowest);
      },
      context.op->name());
  return KernelStatus::kDone;
}

Var WithReducedAxes(GradContext& context, Var reduced) {
  const Type& x = context.op().operand(0)->type;
  if (context.attr("keepdims").AsBool()) return reduced;
  bool flags[kMaxRank];
  std::string why;
  CATAMARAN_CHECK(AxesOf(context.op(), x.rank(), flags, &why), "{}", why);
  // A scalar broadcasts as it is.
  if (std::all_of(flags, flags + x.rank(), [](bool f) { return f; })) return reduced;
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.rank(); ++axis) dims.push_back(flags[axis] ? Dim(1) : x.dim(axis));
  return context.emit().Emit("reshape", {reduced}, {{"shape", Attr::Dims(dims)}});
}

}  // namespace catamaran
