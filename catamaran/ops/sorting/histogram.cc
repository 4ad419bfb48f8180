// ops/sorting/histogram.cc
//
// histogram(x, bins, low, high): how many elements fall into each of equally wide bins.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct HistogramSizes {
  int64_t count, bins;
  double low, high;
};

// Bin j holds low + j * width <= x < low + (j + 1) * width; the last one holds `high` too. Other
// numbers, and NaN, are in none.
template <class T>
void Histogram(const T* x, int64_t* y, const HistogramSizes& s) {
  const double width = (s.high - s.low) / static_cast<double>(s.bins);
  std::fill_n(y, s.bins, int64_t{0});
  for (int64_t k = 0; k < s.count; ++k) {
    const double v = static_cast<double>(x[k]);
    if (!(v >= s.low && v <= s.high)) continue;
    int64_t j = static_cast<int64_t>((v - s.low) / width);
    j = std::min(j, s.bins - 1);
    // The quotient may have been rounded across the border of a bin.
    if (j > 0 && v < s.low + static_cast<double>(j) * width) --j;
    if (j + 1 < s.bins && v >= s.low + static_cast<double>(j + 1) * width) ++j;
    ++y[j];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::HistogramSizes;

void Infer(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const DType dtype = c.type(0).dtype();
  if (IsFloat(dtype) && !c.WantFloat(0)) return;
  if (dtype == DType::kBool) return (void)c.Fail("does not work on bool; cast it first");
  const Dim bins = c.op().attr("bins").AsDim();
  if (bins.is_constant() && bins.constant() < 1) return (void)c.Fail("wants at least one bin");
  const double low = c.op().attr("low").AsDouble(), high = c.op().attr("high").AsDouble();
  if (!(low < high) || std::isinf(low) || std::isinf(high)) {
    return (void)c.Fail("wants low < high, both finite; found " + FormatDouble(low) + " and " +
                        FormatDouble(high));
  }
  c.SetResult(Type::Tensor(DType::kI64, {bins}));
}

HistogramSizes SizesNow(const KernelContext& c) {
  HistogramSizes s = c.sizes<HistogramSizes>();
  s.count = c.in(0).size();
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  const HistogramSizes s = SizesNow(c);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Histogram(c.in(0).data<const T>(), c.out().data<int64_t>(), s);
      },
      "histogram");
  return KernelStatus::kDone;
}

// The bins of a piece of x are computed first, then counted: in double, as the reference does, but
// with one multiplication in place of the division; the borders put it right.
template <class T>
void CountPieces(const T* x, int64_t* y, const HistogramSizes& s) {
  constexpr int64_t kPiece = 512;
  const double width = (s.high - s.low) / static_cast<double>(s.bins), scale = 1 / width;
  const double last = static_cast<double>(s.bins - 1);
  std::fill_n(y, s.bins, int64_t{0});
  int32_t bin[kPiece];
  for (int64_t begin = 0; begin < s.count; begin += kPiece) {
    const int64_t n = std::min(kPiece, s.count - begin);
    for (int64_t k = 0; k < n; ++k) {
      const double v = static_cast<double>(x[begin + k]);
      const bool inside = v >= s.low && v <= s.high;
      const double f = inside ? (v - s.low) * scale : 0.0;
      int32_t j = static_cast<int32_t>(f < last ? f : last);
      const double at = static_cast<double>(j);
      j -= j > 0 && v < s.low + at * width;
      j += at < last && v >= s.low + (at + 1) * width;
      bin[k] = inside ? j : -1;
    }
    for (int64_t k = 0; k < n; ++k) {
      if (bin[k] >= 0) ++y[bin[k]];
    }
  }
}

KernelStatus RunPieces(KernelContext& c) {
  const HistogramSizes s = SizesNow(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { CountPieces(c.in(0).data<const T>(), c.out().data<int64_t>(), s); },
      "histogram");
  return KernelStatus::kDone;
}

}  // namespace

void DefineHistogram(OpSet& ops) {
  ops.Define("histogram")
      .Group("sorting")
      .Doc(
          "How many elements fall into each of `bins` equally wide bins between `low` and `high`, "
          "as i64. A bin has its lower border, the last one its upper border too; elements "
          "outside, "
          "and NaN, are not counted.")
      .Formula(
          "y[j] = the number of k with low + j w <= x[k] < low + (j + 1) w, w = (high - low) / "
          "bins")
      .In("x", "of any shape")
      .RequiredAttr("bins", AttrKind::kInt, "how many")
      .RequiredAttr("low", AttrKind::kFloat, "where the first bin begins")
      .RequiredAttr("high", AttrKind::kFloat, "where the last bin ends")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("HistogramSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.in[0]->size() << query.out[0]->size()
                     << query.op->attr("low").AsDouble() << query.op->attr("high").AsDouble();
             })
      .Fast(FastKernel("pieces", RunPieces,
                       [](const KernelQuery& query) {
                         const DType dtype = query.in[0]->tensor.dtype;
                         return (dtype == DType::kF32 || dtype == DType::kF64) &&
                                query.out[0]->size() < 1 << 30;
                       }))
      .Reference("Histogram", RunReference)
      .StopsGrad()
      .AddSample({.inputs = {Floats({6}, {0, 0.5, 1, 1.5, 2, 9})},
                  .attrs = {{"bins", 2}, {"low", 0.0}, {"high", 2.0}}})
      .AddSample({.inputs = {Uniform({70, 70}, -1, 1)},
                  .attrs = {{"bins", 37}, {"low", -0.7}, {"high", 0.9}}})
      .AddSample({.inputs = {Floats({11}, {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1})},
                  .attrs = {{"bins", 10}, {"low", 0.0}, {"high", 1.0}},
                  .note = "on the borders"})
      .AddSample({.inputs = {Floats({4}, {NAN, INFINITY, -INFINITY, 1})},
                  .attrs = {{"bins", 3}, {"low", 0.0}, {"high", 2.0}}})
      .AddSample({.inputs = {RandomInts({500}, -20, 20)},
                  .attrs = {{"bins", 7}, {"low", -10.0}, {"high", 10.0}}})
      .AddSample({.inputs = {RandomInts({500}, 0, 255, DType::kU8)},
                  .attrs = {{"bins", 1}, {"low", 0.0}, {"high", 100.0}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"bins", 3}, {"low", 0.0}, {"high", 2.0}}})
      .AddSample({.inputs = {Uniform({4, 2}, -1, 1)},
                  .attrs = {{"bins", 3}, {"low", -1.0}, {"high", 1.0}},
                  .ragged_lengths = {{3, 0, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
