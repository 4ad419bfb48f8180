// ops/sorting/searchsorted.cc
//
// searchsorted(sorted, x, right): where x would be inserted.

#include "catamaran/ops/sorting/order.h"

// reference-begin
namespace catamaran::reference {

// `sorted` is [rows, size], x is [rows, count].
struct SearchSizes {
  int64_t rows, size, count;
  int64_t right;
};

// How many elements are below v; with `right` how many are not above it.
template <class T>
int64_t PlaceOf(const T* sorted, int64_t n, T v, bool right) {
  const T* base = sorted;
  while (n > 0) {
    const int64_t half = (n + 1) / 2;
    const bool behind = right ? !SortsBelow(v, base[half - 1]) : SortsBelow(base[half - 1], v);
    base += behind ? half : 0;
    n -= half;
    // What is left lies on one side of the middle; where that was not passed, it is still above.
  }
  return base - sorted;
}

template <class T>
void Searchsorted(const T* sorted, const T* x, int64_t* y, const SearchSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t k = 0; k < s.count; ++k) {
      y[r * s.count + k] = PlaceOf(sorted + r * s.size, s.size, x[r * s.count + k], s.right != 0);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SearchSizes;

// One row for all of x, or one for each row of x.
void Infer(InferContext& c) {
  if (!WantSortable(c, 0) || !WantSortable(c, 1) || !c.WantSameDType(0, 1)) return;
  if (!c.WantDense(0) || !c.WantMinRank(0, 1)) return;
  const Type& sorted = c.type(0);
  const Type& x = c.type(1);
  if (sorted.rank() > 1) {
    if (x.is_ragged()) return (void)c.Fail("wants one row to search ragged values in");
    if (!c.WantRank(1, sorted.rank())) return;
    for (int axis = 0; axis + 1 < x.rank(); ++axis) {
      if (!c.Unify(sorted.dim(axis), x.dim(axis), "leading dimensions")) return;
    }
  }
  c.SetResult(x.WithDType(DType::kI64));
}

KernelStatus Run(KernelContext& c) {
  SearchSizes s = c.sizes<SearchSizes>();
  s.size = LastDim(c.in(0));
  if (c.in(0).shape().rank() == 1) {
    s.count = c.in(1).size();
  } else {
    s.rows = RowsOf(c.in(1), s.count);
  }
  DispatchSortable(c, [&]<class T>(T) {
    const T* sorted = c.in(0).data<const T>();
    const T* x = c.in(1).data<const T>();
    int64_t* y = c.out().data<int64_t>();
    Split(c.pool, s.rows * s.count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end;) {
        const int64_t row = k / s.count, stop = std::min(end, (row + 1) * s.count);
        const SearchSizes part{1, s.size, stop - k, s.right};
        reference::Searchsorted(sorted + row * s.size, x + k, y + k, part);
        k = stop;
      }
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineSearchsorted(OpSet& ops) {
  ops.Define("searchsorted")
      .Group("sorting")
      .Doc(
          "Before which element of `sorted`, which rises, each element of x would be inserted: how "
          "many are below it, or with right=true not above it (i64). So it is the number of the "
          "bucket of x between borders. A `sorted` of several rows is searched row by row. NaN is "
          "larger than every number.")
      .Formula("y[k] = the number of i with sorted[i] < x[k]; <= with right")
      .In("sorted", "[N], or [..., N] with the leading dimensions of x")
      .In("x")
      .WithAttr("right", AttrKind::kBool, false, "behind equal elements, not before them")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("SearchSizes",
             [](const KernelQuery& query, Words& words) {
               const Shape& sorted = query.in[0]->shape();
               int64_t rows = 1;
               for (int axis = 0; axis + 1 < sorted.rank(); ++axis) rows *= sorted[axis];
               const int64_t count =
                   sorted.rank() == 1 ? query.in[1]->size() : LastDim(*query.in[1]);
               words << rows << LastDim(*query.in[0]) << count << query.op->attr("right").AsBool();
             })
      .Reference("Searchsorted", Run)
      .StopsGrad()
      .Cost([](const KernelQuery& query) {
        const double n = static_cast<double>(LastDim(*query.in[0]));
        const double x = static_cast<double>(query.in[1]->size());
        const double width = static_cast<double>(SizeOf(query.in[1]->tensor.dtype));
        return OpCost{x * std::log2(n + 2), x * (8 + width)};
      })
      .AddSample({.inputs = {Floats({4}, {1, 3, 5, 7}), Floats({5}, {0, 3, 4, 7, 9})}})
      .AddSample({.inputs = {Floats({4}, {1, 3, 5, 7}), Floats({5}, {0, 3, 4, 7, 9})},
                  .attrs = {{"right", true}}})
      .AddSample({.inputs = {Floats({5}, {-INFINITY, 0, 0, 2, NAN}),
                             Floats({2, 3}, {0, -0.0, NAN, INFINITY, -INFINITY, 1})}})
      .AddSample({.inputs = {Floats({5}, {-INFINITY, 0, 0, 2, NAN}),
                             Floats({2, 3}, {0, -0.0, NAN, INFINITY, -INFINITY, 1})},
                  .attrs = {{"right", true}}})
      .AddSample({.inputs = {Ints({2, 3}, {1, 5, 9, 2, 2, 3}), Ints({2, 2}, {5, 10, 2, 0})}})
      .AddSample({.inputs = {Floats({3}, {0, 1, 2}), Uniform({100, 100}, -1, 3)}})
      .AddSample({.inputs = {Empty({0}), Floats({2}, {0, 1})}})
      .AddSample({.inputs = {Floats({2}, {0, 1}), Empty({0, 3})}})
      .AddSample({.inputs = {Floats({2}, {0, 1}), Uniform({4, 2}, -1, 2)},
                  .ragged_lengths = {{}, {3, 0, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
