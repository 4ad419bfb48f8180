// ops/reduction/argmax.cc
//
// argmax(x, axis, keepdims) and argmin: where the largest and the smallest element along an axis
// is.

#include "catamaran/ops/reduction/along_axis.h"
#include "catamaran/ops/reduction/argmax_simd.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner].
struct ArgSizes {
  int64_t outer, size, inner;
  int64_t smallest;
};

// The first of equals; the first NaN where there is one.
template <class T>
void ArgExtreme(const T* x, int64_t* y, const ArgSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const T* line = x + o * s.size * s.inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < s.size; ++k) {
        const T v = line[k * s.inner], b = line[best * s.inner];
        if (b != b) break;
        if (v != v || (s.smallest ? v < b : v > b)) best = k;
      }
      y[o * s.inner + i] = best;
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

using reference::ArgSizes;

// All axes, when the attribute is left out.
AxisSplit SplitOfArg(const Op& op, const Shape& x) {
  if (op.attr("axis").empty()) return {1, x.num_elements(), 1};
  return SplitAt(x, AxisInStorage(op));
}

void Infer(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  if (IsFloat(x.dtype()) && !c.WantFloat(0)) return;
  if (x.dtype() == DType::kBool) return (void)c.Fail("does not work on bool; cast it first");
  const bool keep = c.op().attr("keepdims").AsBool();
  std::vector<Dim> dims;
  int gone = -1;
  if (!c.op().attr("axis").empty()) {
    if (!WantAlongAxis(c, &gone)) return;
    if (x.dim(gone).is_constant() && x.dim(gone).constant() == 0) {
      return (void)c.Fail(fmt::format("axis {} has no elements, so there is no result", gone));
    }
  } else if (x.is_ragged()) {
    return (void)c.Fail("wants an axis of a ragged value");
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (gone >= 0 && axis != gone) {
      dims.push_back(x.dim(axis));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  c.SetResult(Type::Tensor(DType::kI64, std::move(dims), x.ragged_axis()));
}

ArgSizes SizesNow(const KernelContext& c) {
  ArgSizes s = c.sizes<ArgSizes>();
  const AxisSplit now = SplitOfArg(*c.op, c.in(0).shape());
  s.outer = now.outer;
  s.size = now.size;
  if (s.size == 0 && c.out().size() > 0) {
    Fail("the axis of {} has no elements, so there is no result", c.in(0).shape().ToString());
  }
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  const ArgSizes s = SizesNow(c);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::ArgExtreme(c.in(0).data<const T>(), c.out().data<int64_t>(), s);
      },
      c.op->name());
  return KernelStatus::kDone;
}

class ArgPlan : public Prepared {
 public:
  const ArgFunctions* functions = nullptr;
};

template <class T>
void Vector(KernelContext& c, const ArgSizes& s) {
  const auto& f = *static_cast<const ArgPlan*>(c.prepared)->functions;
  const T* x = c.in(0).data<const T>();
  int64_t* y = c.out().data<int64_t>();
  const bool smallest = s.smallest != 0;
  if (s.inner == 1) {
    const auto along = [&] {
      if constexpr (sizeof(T) == 4) {
        return f.along_f32;
      } else {
        return f.along_f64;
      }
    }();
    Split(c.pool, s.outer, s.size / 8, [&](int64_t begin, int64_t end) {
      along(x + begin * s.size, y + begin, end - begin, s.size, smallest);
    });
    return;
  }
  const auto across = [&] {
    if constexpr (sizeof(T) == 4) {
      return f.across_f32;
    } else {
      return f.across_f64;
    }
  }();
  const int64_t tiles = (s.inner + kArgColumns - 1) / kArgColumns;
  const int64_t width = std::min(s.inner, kArgColumns);
  Split(c.pool, s.outer * tiles, s.size * width / 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t o = t / tiles, i = t % tiles * kArgColumns;
      across(x + o * s.size * s.inner + i, y + o * s.inner + i, s.size, s.inner,
             std::min(kArgColumns, s.inner - i), smallest);
    }
  });
}

KernelStatus RunVector(KernelContext& c) {
  const ArgSizes s = SizesNow(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchFloating(
      c.in(0).tensor.dtype, [&]<class T>(T) { Vector<T>(c, s); }, c.op->name());
  return KernelStatus::kDone;
}

void Define(OpBuilder op, bool smallest) {
  Kernel vector = FastKernel("vector", RunVector, [](const KernelQuery& query) {
    const DType dtype = query.in[0]->tensor.dtype;
    return (dtype == DType::kF32 || dtype == DType::kF64) && query.in[0]->size() < int64_t{1} << 31;
  });
  vector.prepare = [](const KernelQuery& query) {
    auto plan = std::make_unique<ArgPlan>();
    plan->functions = &ArgFunctionsFor(query.isa);
    return plan;
  };
  op.Group("reduction")
      .In("x")
      .OptionalAttr("axis", AttrKind::kInt, "left out: x counts as one line")
      .WithAttr("keepdims", AttrKind::kBool, false, "the axis stays, with size 1")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("ArgSizes",
             [smallest](const KernelQuery& query, Words& words) {
               const AxisSplit s = SplitOfArg(*query.op, query.in[0]->shape());
               words << s.outer << s.size << s.inner << smallest;
             })
      .Fast(std::move(vector))
      .Reference("ArgExtreme", RunReference)
      .StopsGrad()
      .AddSample({.inputs = {Floats({2, 3}, {1, 5, 5, -4, -6, -6})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axis", 0}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({3, 5000}, -1, 1)}, .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {Uniform({3, 77}, -1, 1)}, .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {RandomInts({3, 9000}, 0, 40, DType::kF32)},
                  .attrs = {{"axis", -1}},
                  .note = "many equals"})
      .AddSample({.inputs = {RandomInts({2, 77, 33}, 0, 9, DType::kF32)},
                  .attrs = {{"axis", 1}},
                  .note = "many equals"})
      .AddSample({.inputs = {Uniform({2, 5, 300}, -1, 1)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Floats({3, 4}, {1, NAN, 2, NAN, -INFINITY, -INFINITY, -INFINITY,
                                             -INFINITY, INFINITY, 1, INFINITY, 0})},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Floats({4, 2}, {1, NAN, 2, NAN, NAN, -INFINITY, INFINITY, 1})},
                  .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {RandomInts({3, 40}, -9, 9)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {RandomInts({40, 3}, 0, 200, DType::kU8)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace

void DefineArgmax(OpSet& ops) {
  OpBuilder op = ops.Define("argmax");
  op.Doc(
        "Where the largest element along `axis` is: the first of equals, the first NaN where there "
        "is one. An axis without elements is an error.")
      .Formula("y[k] = the least r with x[k, r] = max_r x[k, r]");
  Define(op, false);
}

void DefineArgmin(OpSet& ops) {
  OpBuilder op = ops.Define("argmin");
  op.Doc(
        "Where the smallest element along `axis` is: the first of equals, the first NaN where "
        "there "
        "is one. An axis without elements is an error.")
      .Formula("y[k] = the least r with x[k, r] = min_r x[k, r]");
  Define(op, true);
}

}  // namespace catamaran
