// ops/sorting/topk.cc
//
// topk(x, k, axis, largest, sorted): the k largest (smallest) elements and where they stand.

#include "catamaran/ops/sorting/order.h"
#include "catamaran/ops/sorting/select_top.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Topk(const T* x, T* values, int64_t* indices, const SortSizes& s) {
  const bool descending = s.descending != 0;
  for (int64_t l = 0; l < s.outer * s.inner; ++l) {
    const T* line = x + l / s.inner * s.size * s.inner + l % s.inner;
    const int64_t out = l / s.inner * s.count * s.inner + l % s.inner, step = s.inner;
    int64_t* at = indices + out;
    int64_t found = 0;
    for (int64_t i = 0; i < s.size; ++i) {
      if (found == s.count) {
        if (found == 0 || !ComesBefore(line, step, i, at[(found - 1) * step], descending)) continue;
        --found;
      }
      int64_t place = found++;
      for (; place > 0 && ComesBefore(line, step, i, at[(place - 1) * step], descending); --place) {
        at[place * step] = at[(place - 1) * step];
      }
      at[place * step] = i;
    }
    for (int64_t i = 1; !s.sorted && i < s.count; ++i) {
      const int64_t moved = at[i * step];
      int64_t place = i;
      for (; place > 0 && moved < at[(place - 1) * step]; --place) {
        at[place * step] = at[(place - 1) * step];
      }
      at[place * step] = moved;
    }
    for (int64_t i = 0; i < s.count; ++i) values[out + i * step] = line[at[i * step] * step];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SortSizes;

void Infer(InferContext& c) {
  int axis = 0;
  if (!WantAlongAxis(c, &axis) || !WantSortable(c, 0)) return;
  const Type& x = c.type(0);
  const Dim k = c.op().attr("k").AsDim();
  if (k.is_constant() && k.constant() < 0) return (void)c.Fail("k must not be negative");
  if (k.is_constant() && x.dim(axis).is_constant() && k.constant() > x.dim(axis).constant()) {
    return (void)c.Fail(fmt::format("wants the best {} of {} elements along axis {}", k.constant(),
                                    x.dim(axis).constant(), axis));
  }
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  dims[static_cast<size_t>(axis)] = k;
  const Type values = x.WithDims(std::move(dims));
  c.SetResult(0, values);
  c.SetResult(1, values.WithDType(DType::kI64));
}

SortSizes SizesNow(const KernelContext& c) {
  const SortSizes s = SortSizesNow(c);
  if (s.count > s.size) {
    Fail("wants the best {} along an axis of {} elements", s.count, s.size);
  }
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  const SortSizes s = SizesNow(c);
  DispatchSortable(c, [&]<class T>(T) {
    reference::Topk(c.in(0).data<const T>(), c.out(0).data<T>(), c.out(1).data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

class TopPlan : public Prepared {
 public:
  const SelectFunctions* functions = nullptr;
};

template <class T>
void Lines(KernelContext& c, const SortSizes& s) {
  const auto& f = *static_cast<const TopPlan*>(c.prepared)->functions;
  const T* x = c.in(0).data<const T>();
  T* values = c.out(0).data<T>();
  int64_t* indices = c.out(1).data<int64_t>();
  Split(c.pool, s.outer * s.inner, s.size, [&](int64_t begin, int64_t end) {
    auto& top = TopOfLine<T>::OfThread();
    for (int64_t l = begin; l < end; ++l) {
      const T* line = x + l / s.inner * s.size * s.inner + l % s.inner;
      top.Select(f, line, s.inner, s.size, s.count, s.descending != 0, s.sorted != 0);
      const int64_t out = l / s.inner * s.count * s.inner + l % s.inner;
      for (int64_t i = 0; i < s.count; ++i) {
        const int64_t at = top.at(i);
        indices[out + i * s.inner] = at;
        values[out + i * s.inner] = line[at * s.inner];
      }
    }
  });
}

KernelStatus RunSelect(KernelContext& c) {
  const SortSizes s = SizesNow(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchSortable(c, [&]<class T>(T) { Lines<T>(c, s); });
  return KernelStatus::kDone;
}

}  // namespace

void DefineTopk(OpSet& ops) {
  Kernel select = FastKernel("select", RunSelect, [](const KernelQuery& query) {
    return query.in[0]->size() < int64_t{1} << 32;
  });
  select.prepare = [](const KernelQuery& query) {
    auto plan = std::make_unique<TopPlan>();
    plan->functions = &SelectFunctionsFor(query.isa);
    return plan;
  };
  OpBuilder op = ops.Define("topk");
  op.Group("sorting")
      .Doc(
          "The k largest elements along `axis`, the largest first, and as a second result where in "
          "x they stand (i64); the smallest with largest=false. Of equal elements the first count. "
          "NaN is larger than every number. With sorted=false the results stand in the order of x. "
          "More than there are is an error.")
      .Formula("values[k, i] = x[k, indices[k, i]], the i-th largest of x[k, …]")
      .In("x")
      .RequiredAttr("k", AttrKind::kInt, "how many")
      .WithAttr("axis", AttrKind::kInt, -1, "along which it chooses")
      .WithAttr("largest", AttrKind::kBool, true, "the largest, not the smallest")
      .WithAttr("sorted", AttrKind::kBool, true, "the best first; false: as they stand in x")
      .Results(2)
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("SortSizes",
             [](const KernelQuery& query, Words& words) {
               const AxisSplit s = SplitOf(query);
               words << s.outer << s.size << s.inner
                     << query.out[0]->shape()[AxisInStorage(*query.op)]
                     << query.op->attr("largest").AsBool() << query.op->attr("sorted").AsBool();
             })
      .Fast(std::move(select))
      .Reference("Topk", RunReference)
      .Grad([](GradContext& c) { PutBack(c, 1); })
      .AddSample({.inputs = {Floats({2, 4}, {3, 1, 4, 2, 5, 8, 6, 7})}, .attrs = {{"k", 2}}});
  for (bool largest : {true, false}) {
    for (bool sorted : {true, false}) {
      const NamedAttr which{"largest", largest}, order{"sorted", sorted};
      op.AddSample({.inputs = {Uniform({3, 40}, -1, 1)}, .attrs = {{"k", 5}, which, order}})
          .AddSample({.inputs = {Uniform({9, 2, 3}, -1, 1)},
                      .attrs = {{"k", 4}, {"axis", 0}, which, order}})
          .AddSample({.inputs = {Uniform({2, 3001}, -1, 1)},
                      .attrs = {{"k", 10}, which, order},
                      .check_gradient = false})
          .AddSample({.inputs = {Uniform({2, 3001}, -1, 1)},
                      .attrs = {{"k", 300}, which, order},
                      .check_gradient = false})
          .AddSample({.inputs = {RandomInts({2, 999}, 0, 7, DType::kF32)},
                      .attrs = {{"k", 200}, which, order},
                      .check_gradient = false,
                      .note = "many equals"})
          .AddSample({.inputs = {Floats({2, 6}, {NAN, 1, -INFINITY, NAN, INFINITY, 0,  //
                                                 0, -0.0, 0, -0.0, -1, 1})},
                      .attrs = {{"k", 3}, which, order},
                      .check_gradient = false})
          .AddSample({.inputs = {Floats({20}, {NAN, NAN, NAN, 1,   NAN, NAN, NAN, NAN, NAN, NAN,
                                               NAN, NAN, 5,   NAN, NAN, NAN, NAN, 2,   NAN, 3})},
                      .attrs = {{"k", 2}, which, order},
                      .check_gradient = false})
          .AddSample({.inputs = {RandomInts({3, 40}, -99, 99)}, .attrs = {{"k", 7}, which, order}})
          .AddSample({.inputs = {RandomInts({2, 500}, 0, 200, DType::kU8)},
                      .attrs = {{"k", 7}, which, order}});
    }
  }
  op.AddSample({.inputs = {Uniform({3, 4}, -1, 1)}, .attrs = {{"k", 0}}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1)}, .attrs = {{"k", 4}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"k", 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"k", 2}, {"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
