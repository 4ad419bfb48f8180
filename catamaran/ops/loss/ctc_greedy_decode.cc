// ops/loss/ctc_greedy_decode.cc
//
// ctc_greedy_decode(scores): the labels that the best class of each step spells.

#include "catamaran/ops/loss/loss.h"

// reference-begin
namespace catamaran::reference {

struct CtcDecodeSizes {
  int64_t steps, batch, classes, blank, batch_first;
};

// Among equal scores the first class wins. `input_lengths` may be null.
template <class T, class N>
void CtcGreedyDecode(const T* scores, const N* input_lengths, int64_t* labels, int64_t* lengths,
                     const CtcDecodeSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n, labels += s.steps) {
    const int64_t steps = input_lengths ? static_cast<int64_t>(input_lengths[n]) : s.steps;
    int64_t count = 0, before = s.blank;
    for (int64_t t = 0; t < steps; ++t) {
      const T* row = scores + (s.batch_first ? n * s.steps + t : t * s.batch + n) * s.classes;
      int64_t best = 0;
      for (int64_t j = 1; j < s.classes; ++j) best = row[j] > row[best] ? j : best;
      if (best != s.blank && best != before) labels[count++] = best;
      before = best;
    }
    lengths[n] = count;
    std::fill(labels + count, labels + s.steps, int64_t{-1});
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::CtcDecodeSizes;

KernelStatus RunDecode(KernelContext& c) {
  const CtcDecodeSizes& s = c.sizes<CtcDecodeSizes>();
  const DType lengths = c.has_in(1) ? c.in(1).tensor.dtype : DType::kI64;
  DispatchAmong<int32_t, int64_t>(
      lengths,
      [&]<class N>(N) {
        const N* given = OptionalData<N>(c, 1);
        for (int64_t n = 0; given && n < s.batch; ++n) {
          if (given[n] < 0 || given[n] > s.steps) {
            Fail(ErrorCode::kBadData, "input length {} of utterance {} is not within 0 to {}",
                 given[n], n, s.steps);
          }
        }
        DispatchFloating(
            c.in(0).tensor.dtype,
            [&]<class T>(T) {
              reference::CtcGreedyDecode(c.in(0).data<T>(), given, c.out(0).data<int64_t>(),
                                         c.out(1).data<int64_t>(), s);
            },
            "ctc_greedy_decode");
      },
      "ctc_greedy_decode");
  return KernelStatus::kDone;
}

}  // namespace

void DefineCtcGreedyDecode(OpSet& ops) {
  ops.Define("ctc_greedy_decode")
      .Group("loss")
      .Doc(
          "The labels that the best class of each step spells, repetitions merged and blanks left "
          "out, padded with -1; and how many there are. Among equal scores the first class wins; "
          "NaN never does, unless it is the score of class 0.")
      .Formula("labels[n] = merge(argmax_c scores[t, n, c]) without blanks")
      .In("scores", "[T, N, C]: logits or logarithms of probabilities")
      .OptionalIn("input_lengths", "i32 or i64 [N]: how many of the steps count")
      .WithAttr("blank", AttrKind::kInt, 0, "the class of the blank")
      .WithAttr("batch_first", AttrKind::kBool, false, "whether scores is [N, T, C]")
      .Results(2)
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantRank(0, 3)) return;
        const bool first = c.op().attr("batch_first").AsBool();
        const Dim steps = c.type(0).dim(first ? 1 : 0), batch = c.type(0).dim(first ? 0 : 1);
        if (c.has(1)) {
          if (!c.WantTensor(1) || !c.WantRank(1, 1)) return;
          const DType dtype = c.type(1).dtype();
          if (dtype != DType::kI32 && dtype != DType::kI64) {
            return (void)c.Fail("lengths are i32 or i64");
          }
          if (!c.Unify(batch, c.type(1).dim(0), "batches")) return;
        }
        c.SetResult(0, Type::Tensor(DType::kI64, {batch, steps}));
        c.SetResult(1, Type::Tensor(DType::kI64, {batch}));
      })
      .Sizes("CtcDecodeSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& x = q.in[0]->shape();
               const bool first = q.op->attr("batch_first").AsBool();
               words << x[first ? 1 : 0] << x[first ? 0 : 1] << x[2] << q.op->attr("blank").AsInt()
                     << first;
             })
      .StopsGrad()
      .Reference("CtcGreedyDecode", RunDecode)
      .AddSample({.inputs = {Floats({4, 1, 2}, {0, 1, 0, 1, 1, 0, 0, 1})}})
      .AddSample(
          {.inputs = {Uniform({9, 3, 4}, -3, 0), Ints({3}, {9, 0, 5})}, .attrs = {{"blank", 3}}})
      .AddSample({.inputs = {Uniform({2, 9, 3}, -3, 0), Ints({2}, {9, 4}, DType::kI32)},
                  .attrs = {{"batch_first", true}}})
      .AddSample({.inputs = {Empty({0, 2, 3})}})
      .AddSample({.inputs = {Empty({3, 0, 3})}});
}

}  // namespace catamaran
