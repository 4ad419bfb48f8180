// ops/sorting/unique.cc
//
// unique(x): the distinct elements, which of them each element is, and how often each occurs.

#include "catamaran/ops/sorting/order.h"
#include "catamaran/ops/sorting/sorted_line.h"

// reference-begin
namespace catamaran::reference {

// `size` elements. Returns the number of distinct ones. `positions` is scratch of `size`.
template <class T>
int64_t Unique(const T* x, T* values, int64_t* inverse, int64_t* counts, int64_t* positions,
               const SortSizes& s) {
  SortLine(x, positions, 1, s.size, false);
  int64_t found = 0;
  for (int64_t k = 0; k < s.size; ++k) {
    const T v = x[positions[k]];
    if (found == 0 || SortsBelow(values[found - 1], v)) {
      values[found] = v;
      counts[found++] = 0;
    }
    ++counts[found - 1];
    inverse[positions[k]] = found - 1;
  }
  return found;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SortSizes;

Dim ElementsOf(const Type& x) {
  Dim elements = 1;
  for (const Dim& dim : x.StorageDims()) elements = elements * dim;
  return elements;
}

void Infer(InferContext& c) {
  if (!WantSortable(c, 0)) return;
  const Type& x = c.type(0);
  const Dim found = c.FreshDim();
  c.SetResult(0, Type::Tensor(x.dtype(), {found}));
  c.SetResult(1, x.WithDType(DType::kI64));
  c.SetResult(2, Type::Tensor(DType::kI64, {found}));
}

KernelStatus RunReference(KernelContext& c) {
  SortSizes s = c.sizes<SortSizes>();
  s.size = c.in(0).size();
  DispatchSortable(c, [&]<class T>(T) {
    c.DecideSize(reference::Unique(c.in(0).data<const T>(), c.out(0).data<T>(),
                                   c.out(1).data<int64_t>(), c.out(2).data<int64_t>(),
                                   static_cast<int64_t*>(c.scratch), s));
  });
  return KernelStatus::kDone;
}

template <class T>
int64_t SortAndCount(const T* x, T* values, int64_t* inverse, int64_t* counts, int64_t n) {
  auto& line = SortedLine<T>::OfThread();
  line.Sort(RankFunctionsFor(Isa::kPlain), x, 1, n, false);
  int64_t found = 0;
  for (int64_t k = 0; k < n; ++k) {
    if (k == 0 || line.key(k) != line.key(k - 1)) {
      values[found] = line.value(k);
      counts[found++] = 0;
    }
    ++counts[found - 1];
    inverse[line.at(k)] = found - 1;
  }
  return found;
}

KernelStatus RunSort(KernelContext& c) {
  const int64_t n = c.in(0).size();
  DispatchSortable(c, [&]<class T>(T) {
    c.DecideSize(n == 0 ? 0
                        : SortAndCount(c.in(0).data<const T>(), c.out(0).data<T>(),
                                       c.out(1).data<int64_t>(), c.out(2).data<int64_t>(), n));
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineUnique(OpSet& ops) {
  OpBuilder op = ops.Define("unique");
  op.Group("sorting")
      .Doc(
          "The distinct elements of x, rising; as a second result, in the shape of x, which of "
          "them "
          "each element is; as a third how often each occurs (i64 both). All NaN are one, and it "
          "comes last. How many there are is known when it has run.")
      .Formula("values[inverse[k]] = x[k], counts[j] = the number of k with inverse[k] = j")
      .In("x")
      .Results(3)
      .Traits(RaggedTraits())
      .Infer(Infer)
      .SizeBound([](const Op& o) { return ElementsOf(o.operand(0)->type); })
      .Sizes("SortSizes",
             [](const KernelQuery& query, Words& words) {
               words << 1 << query.in[0]->size() << 1 << 0 << 0 << 0;
             })
      .Fast(FastKernel(
          "radix", RunSort,
          [](const KernelQuery& query) { return query.in[0]->size() < int64_t{1} << 32; }))
      .Reference("Unique", RunReference)
      .NoGrad("which elements are equal changes in steps; take rows by the inverse instead")
      .AddSample({.inputs = {Ints({6}, {3, 1, 3, 2, 1, 3})}})
      .AddSample({.inputs = {Floats({2, 4}, {0.5, -0.0, 0, 2, 0.5, -1, 2, 2})}})
      .AddSample({.inputs = {Floats({7}, {NAN, 1, INFINITY, NAN, -INFINITY, 1, NAN})}})
      .AddSample({.inputs = {RandomInts({40, 50}, -99, 99, DType::kI32)}})
      .AddSample({.inputs = {RandomInts({9000}, 0, 3000, DType::kU64)}})
      .AddSample({.inputs = {RandomInts({300}, 0, 256, DType::kU8)}})
      .AddSample({.inputs = {Ints({}, {5})}})
      .AddSample({.inputs = {Empty({0, 3}, DType::kI64)}})
      .AddSample(
          {.inputs = {Ints({4}, {7, 7, 5, 7})}, .ragged_lengths = {{3, 0, 1}}, .note = "ragged"});
  op.def().kernels.back().scratch = [](const KernelQuery& query) {
    return static_cast<size_t>(query.in[0]->size()) * sizeof(int64_t);
  };
}

}  // namespace catamaran
