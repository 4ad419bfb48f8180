// ops/metric/edit_distance.cc
//
// edit_distance(candidate, reference): how many ids must be put in, left out or replaced; and
// edit_rate, which adds them up.

#include "catamaran/ops/metric/sequences.h"

// reference-begin
namespace catamaran::reference {

struct EditSizes {
  int64_t count, candidate_width, reference_width;
};

// `row` has room for n + 1 numbers.
template <class I>
int64_t EditDistanceOf(const I* a, int64_t m, const I* b, int64_t n, int64_t* row) {
  for (int64_t j = 0; j <= n; ++j) row[j] = j;
  for (int64_t i = 0; i < m; ++i) {
    int64_t diagonal = row[0];
    row[0] = i + 1;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min(replaced, std::min(row[j], row[j + 1]) + 1);
    }
  }
  return row[n];
}

// Null lengths: all ids count. `row` has room for reference_width + 1 numbers.
template <class I>
void EditDistance(const I* candidate, const I* reference, const int64_t* candidate_lengths,
                  const int64_t* reference_lengths, int64_t* y, int64_t* row, const EditSizes& s) {
  for (int64_t n = 0; n < s.count; ++n) {
    y[n] = EditDistanceOf(candidate + n * s.candidate_width,
                          candidate_lengths ? candidate_lengths[n] : s.candidate_width,
                          reference + n * s.reference_width,
                          reference_lengths ? reference_lengths[n] : s.reference_width, row);
  }
}

// Adds [edits, length of the references].
template <class I>
void EditRate(const double* accumulator, const I* candidate, const I* reference,
              const int64_t* candidate_lengths, const int64_t* reference_lengths, double* y,
              int64_t* row, const EditSizes& s) {
  y[0] = accumulator[0];
  y[1] = accumulator[1];
  for (int64_t n = 0; n < s.count; ++n) {
    const int64_t wanted = reference_lengths ? reference_lengths[n] : s.reference_width;
    y[0] += static_cast<double>(
        EditDistanceOf(candidate + n * s.candidate_width,
                       candidate_lengths ? candidate_lengths[n] : s.candidate_width,
                       reference + n * s.reference_width, wanted, row));
    y[1] += static_cast<double>(wanted);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

constexpr SequencePlaces kDistance = {0, 1, 2, 3};
constexpr SequencePlaces kRate = {1, 2, 3, 4};

// Calls f(a, b) with the checked sequences of both operands.
template <class F>
void ForSequences(const KernelContext& c, const SequencePlaces& at, F&& f) {
  DispatchIndex(
      c.in(at.candidate).tensor.dtype,
      [&]<class I>(I) {
        f(Sequences<I>(c, at.candidate, at.candidate_lengths),
          Sequences<I>(c, at.reference, at.reference_lengths));
      },
      "edit_distance");
}

KernelStatus RunDistance(KernelContext& c) {
  ForSequences(c, kDistance, [&](const auto& a, const auto& b) {
    auto* row = static_cast<int64_t*>(c.scratch);
    int64_t* y = c.out().data<int64_t>();
    if (a.is_dense() && b.is_dense()) {
      reference::EditDistance(a.ids(0), b.ids(0), a.lengths(), b.lengths(), y, row,
                              c.sizes<reference::EditSizes>());
      return;
    }
    for (int64_t n = 0; n < a.count(); ++n) {
      y[n] = reference::EditDistanceOf(a.ids(n), a.length(n), b.ids(n), b.length(n), row);
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunRate(KernelContext& c) {
  ForSequences(c, kRate, [&](const auto& a, const auto& b) {
    auto* row = static_cast<int64_t*>(c.scratch);
    const double* accumulator = c.in(0).data<double>();
    double* y = c.out().data<double>();
    if (a.is_dense() && b.is_dense()) {
      reference::EditRate(accumulator, a.ids(0), b.ids(0), a.lengths(), b.lengths(), y, row,
                          c.sizes<reference::EditSizes>());
      return;
    }
    std::copy_n(accumulator, 2, y);
    for (int64_t n = 0; n < a.count(); ++n) {
      y[0] += static_cast<double>(
          reference::EditDistanceOf(a.ids(n), a.length(n), b.ids(n), b.length(n), row));
      y[1] += static_cast<double>(b.length(n));
    }
  });
  return KernelStatus::kDone;
}

template <int kCandidate>
void FillSizes(const KernelQuery& q, Words& words) {
  const Slot &a = *q.in[kCandidate], &b = *q.in[kCandidate + 1];
  words << (a.shape().rank() == 2 ? a.shape()[0] : a.num_rows) << LongestSequence(a)
        << LongestSequence(b);
}
template <int kReference>
size_t RowBytes(const KernelQuery& q) {
  return static_cast<size_t>(LongestSequence(*q.in[kReference]) + 1) * sizeof(int64_t);
}

}  // namespace

void DefineEditDistance(OpSet& ops) {
  OpBuilder op = ops.Define("edit_distance");
  op.Group("metric")
      .Doc(
          "For each pair the least number of ids that must be put into the candidate, left out or "
          "replaced to get the reference (Levenshtein).")
      .Formula("y[n] = levenshtein(candidate[n], reference[n])");
  AddSequences(op)
      .Infer([](InferContext& c) {
        if (WantSequences(c, kDistance)) {
          c.SetResult(Type::Tensor(DType::kI64, {c.type(0).dim(0)}));
        }
      })
      .Sizes("EditSizes", FillSizes<0>)
      .StopsGrad()
      .Reference("EditDistance", RunDistance);
  op.def().kernels.back().scratch = RowBytes<1>;
  op.AddSample({.inputs = {Ints({2, 3}, {1, 2, 3, 1, 1, 1}), Ints({2, 2}, {1, 3, 2, 1})}})
      .AddSample({.inputs = {RandomInts({4, 9}, 0, 3, DType::kI32),
                             RandomInts({4, 7}, 0, 3, DType::kI32, 2), Ints({4}, {9, 0, 5, 3}),
                             Ints({4}, {7, 4, 0, 6})}})
      .AddSample({.inputs = {RandomInts({2, 3}, 0, 3), RandomInts({2, 5}, 0, 3), Tensor(),
                             Ints({2}, {0, 5})}})
      .AddSample({.inputs = {Empty({2, 0}, DType::kI64), Ints({2, 1}, {1, 2})}})
      .AddSample({.inputs = {Empty({0, 2}, DType::kU64), Empty({0, 3}, DType::kU64)}})
      .AddSample({.inputs = {RandomInts({7}, 0, 3), RandomInts({5}, 0, 3, DType::kI64, 2)},
                  .ragged_lengths = {{3, 0, 4}, {2, 3, 0}},
                  .note = "ragged"});
}

void DefineEditRate(OpSet& ops) {
  OpBuilder op = ops.Define("edit_rate");
  op.Group("metric")
      .Doc(
          "Adds up edit distances and the lengths of the references. ratio_value gives the rate of "
          "errors: of words where the ids are words.")
      .Formula(
          "y = accumulator + [sum_n edit_distance(candidate[n], reference[n]), sum_n "
          "|reference[n]|]")
      .In("accumulator", kRatioDoc);
  AddSequences(op)
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 2) && WantSequences(c, kRate)) c.SetResult(c.type(0));
      })
      .Sizes("EditSizes", FillSizes<1>)
      .NoGrad(kNoMetricGrad)
      .Reference("EditRate", RunRate);
  op.def().kernels.back().scratch = RowBytes<2>;
  const Tensor start = Floats({2}, {0, 0}, DType::kF64);
  op.AddSample({.inputs = {start, Ints({2, 3}, {1, 2, 3, 1, 1, 1}), Ints({2, 2}, {1, 3, 2, 1})}})
      .AddSample({.inputs = {Floats({2}, {3, 7}, DType::kF64), RandomInts({4, 9}, 0, 3),
                             RandomInts({4, 7}, 0, 3, DType::kI64, 2), Ints({4}, {9, 0, 5, 3}),
                             Ints({4}, {7, 4, 0, 6})}})
      .AddSample({.inputs = {start, Empty({0, 2}, DType::kI64), Empty({0, 3}, DType::kI64)}})
      .AddSample({.inputs = {start, RandomInts({7}, 0, 3), RandomInts({5}, 0, 3, DType::kI64, 2)},
                  .ragged_lengths = {{}, {3, 0, 4}, {2, 3, 0}},
                  .note = "ragged"});
}

}  // namespace catamaran
