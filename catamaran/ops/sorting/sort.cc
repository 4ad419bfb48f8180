// ops/sorting/sort.cc
//
// sort(x, axis, descending): the elements in order and where they stood; and argsort, the latter
// alone.

#include "catamaran/ops/sorting/order.h"
#include "catamaran/ops/sorting/sorted_line.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Argsort(const T* x, int64_t* indices, const SortSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const int64_t line = o * s.size * s.inner + i;
      SortLine(x + line, indices + line, s.inner, s.size, s.descending != 0);
    }
  }
}

template <class T>
void Sort(const T* x, T* values, int64_t* indices, const SortSizes& s) {
  Argsort(x, indices, s);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.size * s.inner; ++k) {
      const int64_t line = o * s.size * s.inner, at = line + k;
      values[at] = x[line + indices[at] * s.inner + k % s.inner];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SortSizes;

KernelStatus RunSortReference(KernelContext& c) {
  const SortSizes s = SortSizesNow(c);
  DispatchSortable(c, [&]<class T>(T) {
    reference::Sort(c.in(0).data<const T>(), c.out(0).data<T>(), c.out(1).data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus RunArgsortReference(KernelContext& c) {
  const SortSizes s = SortSizesNow(c);
  DispatchSortable(c, [&]<class T>(T) {
    reference::Argsort(c.in(0).data<const T>(), c.out().data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

class SortPlan : public Prepared {
 public:
  const RankFunctions* functions = nullptr;
};

// `values` may be null.
template <class T>
void SortLines(KernelContext& c, const T* x, T* values, int64_t* indices, const SortSizes& s) {
  if (s.size == 0) return;
  const RankFunctions& f = *static_cast<const SortPlan*>(c.prepared)->functions;
  Split(c.pool, s.outer * s.inner, 16 * s.size, [&](int64_t begin, int64_t end) {
    auto& line = SortedLine<T>::OfThread();
    for (int64_t l = begin; l < end; ++l) {
      const int64_t first = l / s.inner * s.size * s.inner + l % s.inner;
      line.Sort(f, x + first, s.inner, s.size, s.descending != 0);
      for (int64_t k = 0; k < s.size; ++k) indices[first + k * s.inner] = line.at(k);
      if (values == nullptr) continue;
      for (int64_t k = 0; k < s.size; ++k) values[first + k * s.inner] = line.value(k);
    }
  });
}

KernelStatus RunSort(KernelContext& c) {
  const SortSizes s = SortSizesNow(c);
  DispatchSortable(c, [&]<class T>(T) {
    SortLines(c, c.in(0).data<const T>(), c.out(0).data<T>(), c.out(1).data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus RunArgsort(KernelContext& c) {
  const SortSizes s = SortSizesNow(c);
  DispatchSortable(c, [&]<class T>(T) {
    SortLines<T>(c, c.in(0).data<const T>(), nullptr, c.out().data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

Kernel RadixKernel(KernelFn run) {
  Kernel kernel = FastKernel("radix", run, [](const KernelQuery& query) {
    return query.in[0]->size() < int64_t{1} << 32;
  });
  kernel.prepare = [](const KernelQuery& query) {
    auto plan = std::make_unique<SortPlan>();
    plan->functions = &RankFunctionsFor(query.isa);
    return plan;
  };
  return kernel;
}

OpCost CostOfSort(const KernelQuery& query) {
  const double elements = static_cast<double>(query.in[0]->size());
  const double size = static_cast<double>(query.sizes->As<SortSizes>().size);
  double bytes = elements * static_cast<double>(SizeOf(query.in[0]->tensor.dtype));
  for (const Slot* out : query.out) {
    bytes += elements * static_cast<double>(SizeOf(out->tensor.dtype));
  }
  return {elements * std::log2(std::max(2.0, size)), bytes};
}

OpBuilder& Common(OpBuilder& op) {
  op.Group("sorting")
      .In("x")
      .WithAttr("axis", AttrKind::kInt, -1, "along which it sorts")
      .WithAttr("descending", AttrKind::kBool, false, "the largest first")
      .Traits(RaggedTraits())
      .Cost(CostOfSort)
      .Sizes("SortSizes",
             [](const KernelQuery& query, Words& words) {
               const AxisSplit s = SplitOf(query);
               words << s.outer << s.size << s.inner << s.size
                     << query.op->attr("descending").AsBool() << true;
             })
      .AddSample({.inputs = {Floats({2, 3}, {3, 1, 2, 5, 6, 4})}});
  for (bool descending : {false, true}) {
    const NamedAttr way{"descending", descending};
    op.AddSample({.inputs = {Uniform({7, 5}, -1, 1)}, .attrs = {{"axis", 0}, way}})
        .AddSample({.inputs = {Uniform({2, 30, 3}, -1, 1)}, .attrs = {{"axis", 1}, way}})
        .AddSample({.inputs = {RandomInts({9, 37}, -9, 9, DType::kF32)},
                    .attrs = {way},
                    .check_gradient = false})
        .AddSample({.inputs = {RandomInts({3, 160}, -9, 9, DType::kF32)},
                    .attrs = {way},
                    .check_gradient = false})
        .AddSample({.inputs = {Uniform({3, 700}, -1, 1)}, .attrs = {way}, .check_gradient = false})
        .AddSample({.inputs = {Uniform({9001}, -1, 1)}, .attrs = {way}, .check_gradient = false})
        .AddSample({.inputs = {RandomInts({2, 300}, -9, 9, DType::kF32)},
                    .attrs = {way},
                    .check_gradient = false,
                    .note = "equals keep their order"})
        .AddSample({.inputs = {Floats({2, 6}, {NAN, 1, -INFINITY, NAN, INFINITY, 0,  //
                                               0, -0.0, 0, -0.0, -1, 1})},
                    .attrs = {way},
                    .check_gradient = false})
        .AddSample({.inputs = {RandomInts({3, 40}, -99, 99)}, .attrs = {way}})
        .AddSample(
            {.inputs = {RandomInts({9000}, -2000000000, 2000000000, DType::kI32)}, .attrs = {way}})
        .AddSample({.inputs = {RandomInts({300}, -9000000000000, 9000000000000)}, .attrs = {way}})
        .AddSample({.inputs = {RandomInts({300}, 0, 256, DType::kU8)}, .attrs = {way}})
        .AddSample({.inputs = {RandomInts({300}, -128, 128, DType::kI8)}, .attrs = {way}})
        .AddSample({.inputs = {RandomInts({300}, 0, 9000000000000, DType::kU64)}, .attrs = {way}});
  }
  return op.AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace

void DefineSort(OpSet& ops) {
  OpBuilder op = ops.Define("sort");
  op.Doc(
        "The elements along `axis` in rising order, and as a second result where in x they stood "
        "(i64). NaN counts as larger than every number. Equal elements keep their order, also when "
        "`descending`.")
      .Formula("values[k, i] = x[k, indices[k, i]], values[k, i] <= values[k, i + 1]")
      .Results(2)
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantAlongAxis(c, &axis) || !WantSortable(c, 0)) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(0).WithDType(DType::kI64));
      })
      .Fast(RadixKernel(RunSort))
      .Reference("Sort", RunSortReference)
      .Grad([](GradContext& c) { PutBack(c, 1); });
  Common(op);
}

void DefineArgsort(OpSet& ops) {
  OpBuilder op = ops.Define("argsort");
  op.Doc(
        "Where in x the elements along `axis` stand, in the order of `sort`: the indices (i64) "
        "with "
        "which `take_along` sorts it.")
      .Formula("x[k, y[k, i]] <= x[k, y[k, i + 1]]")
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantAlongAxis(c, &axis) || !WantSortable(c, 0)) return;
        c.SetResult(c.type(0).WithDType(DType::kI64));
      })
      .Fast(RadixKernel(RunArgsort))
      .Reference("Argsort", RunArgsortReference)
      .StopsGrad();
  Common(op);
}

}  // namespace catamaran
