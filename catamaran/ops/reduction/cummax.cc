// ops/reduction/cummax.cc
//
// cummax(x, axis, reverse) and cummin: the largest and the smallest element so far, and where it
// stands.

#include "catamaran/ops/reduction/scan.h"

// reference-begin
namespace catamaran::reference {

// `exclusive` says that the smallest is wanted. The last of equals; NaN stays once it was seen.
template <class T>
void Cummax(const T* x, T* values, int64_t* indices, const ScanSizes& s) {
  ForEachLine(s, [&](int64_t at, int64_t step) {
    int64_t best = 0;
    T most = T(0);
    for (int64_t k = 0; k < s.size; ++k, at += step) {
      const T v = x[at];
      if (k == 0 || v != v || (s.exclusive ? v <= most : v >= most)) {
        most = v;
        best = s.reverse ? s.size - 1 - k : k;
      }
      values[at] = most;
      indices[at] = best;
    }
  });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::ScanSizes;

void Infer(InferContext& c) {
  int axis = 0;
  if (!WantAlongAxis(c, &axis) || (IsFloat(c.type(0).dtype()) && !c.WantFloat(0))) return;
  if (c.type(0).dtype() == DType::kBool) {
    return (void)c.Fail("does not work on bool; cast it first");
  }
  c.SetResult(0, c.type(0));
  c.SetResult(1, c.type(0).WithDType(DType::kI64));
}

template <class F>
void Dispatch(const KernelContext& c, F&& f) {
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype, std::forward<F>(f), c.op->name());
}

KernelStatus RunReference(KernelContext& c) {
  const ScanSizes s = ScanSizesNow(c);
  Dispatch(c, [&]<class T>(T) {
    reference::Cummax(c.in(0).data<const T>(), c.out(0).data<T>(), c.out(1).data<int64_t>(), s);
  });
  return KernelStatus::kDone;
}

// Rows of columns: each row is the better of itself and the one before.
template <class T>
void Columns(const T* x, T* values, int64_t* indices, const ScanSizes& s, int64_t begin,
             int64_t end) {
  int64_t before = -1;
  for (int64_t k = 0; k < s.size; ++k) {
    const int64_t row = s.reverse ? s.size - 1 - k : k, at = row * s.inner;
    for (int64_t i = begin; i < end; ++i) {
      const T v = x[at + i];
      const T most = before < 0 ? v : values[before + i];
      const bool take = before < 0 || v != v || (s.exclusive ? v <= most : v >= most);
      values[at + i] = take ? v : most;
      indices[at + i] = take ? row : indices[before + i];
    }
    before = at;
  }
}

KernelStatus RunSplit(KernelContext& c) {
  const ScanSizes s = ScanSizesNow(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  Dispatch(c, [&]<class T>(T) {
    constexpr int64_t kTile = 256;
    const T* x = c.in(0).data<const T>();
    T* values = c.out(0).data<T>();
    int64_t* indices = c.out(1).data<int64_t>();
    const int64_t block = s.size * s.inner, tiles = (s.inner + kTile - 1) / kTile;
    Split(c.pool, s.outer * tiles, 2 * s.size * std::min(kTile, s.inner),
          [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
              const int64_t at = t / tiles * block, i = t % tiles * kTile;
              if (s.inner > 1) {
                Columns(x + at, values + at, indices + at, s, i, std::min(s.inner, i + kTile));
              } else {
                ScanSizes one = s;
                one.outer = 1;
                reference::Cummax(x + at, values + at, indices + at, one);
              }
            }
          });
  });
  return KernelStatus::kDone;
}

void PutBack(GradContext& c) {
  if (!c.grad()) return;
  const Type& x = c.op().operand(0)->type;
  const int64_t given = c.attr("axis").AsInt();
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  c.SetGrad(0, c.emit().Emit("put_along_add", {c.grad(), c.result(1)},
                             {{"size", x.dim(axis)}, {"axis", axis}}));
}

void Define(OpBuilder op, bool smallest) {
  op.In("x");
  ScanSignature(op, /*exclusive_too=*/false);
  op.Results(2)
      .Infer(Infer)
      .Sizes("ScanSizes",
             [smallest](const KernelQuery& query, Words& words) {
               const AxisSplit s = SplitOf(query);
               words << s.outer << s.size << s.inner << query.op->attr("reverse").AsBool()
                     << smallest;
             })
      .Fast(FastKernel("tiles", RunSplit, nullptr))
      .Reference("Cummax", RunReference)
      .Grad(PutBack)
      .AddSample({.inputs = {Floats({2, 4}, {1, 3, 2, 4, 8, 6, 7, 5})}});
  for (bool reverse : {false, true}) {
    const NamedAttr way{"reverse", reverse};
    op.AddSample({.inputs = {Uniform({3, 9, 4}, -1, 1)}, .attrs = {{"axis", 1}, way}})
        .AddSample({.inputs = {Uniform({3, 9}, -1, 1)}, .attrs = {way}})
        .AddSample({.inputs = {RandomInts({30, 300}, 0, 9, DType::kF32)},
                    .attrs = {{"axis", 0}, way},
                    .check_gradient = false,
                    .note = "many equals"})
        .AddSample(
            {.inputs = {Floats({2, 5}, {1, NAN, INFINITY, NAN, 0, -INFINITY, -1, 0, -0.0, 0})},
             .attrs = {way},
             .check_gradient = false})
        .AddSample(
            {.inputs = {Floats({5, 2}, {1, NAN, INFINITY, NAN, 0, -INFINITY, -1, 0, NAN, 0})},
             .attrs = {{"axis", 0}, way},
             .check_gradient = false})
        .AddSample({.inputs = {RandomInts({3, 40}, -9, 9)}, .attrs = {way}});
  }
  op.AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace

void DefineCummax(OpSet& ops) {
  OpBuilder op = ops.Define("cummax");
  op.Doc(
        "The largest of all elements along `axis` up to each of them, and as a second result where "
        "it stands (i64; the last of equals). NaN stays once it was seen.")
      .Formula("values[k, i] = max_{r <= i} x[k, r] = x[k, indices[k, i]]; r >= i with reverse");
  Define(op, false);
}

void DefineCummin(OpSet& ops) {
  OpBuilder op = ops.Define("cummin");
  op.Doc(
        "The smallest of all elements along `axis` up to each of them, and as a second result "
        "where "
        "it stands (i64; the last of equals). NaN stays once it was seen.")
      .Formula("values[k, i] = min_{r <= i} x[k, r] = x[k, indices[k, i]]; r >= i with reverse");
  Define(op, true);
}

}  // namespace catamaran
