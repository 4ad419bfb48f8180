// ops/attention/attention.cc
//
// attention(q, k, v, mask): softmax(q k^T * scale + mask) v, without ever holding the scores. The
// second result, the logarithm of each row's sum, is what the gradient recomputes them from.

#include "catamaran/ops/attention/attention.h"

#include "catamaran/ops/attention/attention_kernels.h"
#include "catamaran/ops/kernel_support.h"

namespace catamaran {
namespace {

using reference::AttentionSizes;

constexpr int kMask = 3;

KernelStatus RunReference(KernelContext& c) {
  const AttentionSizes s = AttentionRunSizes(c, kMask);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        WithAttentionMask<T>(c, kMask, [&](auto* mask) {
          reference::Attention(c.in(0).data<const T>(), c.in(1).data<const T>(),
                               c.in(2).data<const T>(), mask, c.in(0).offsets, c.in(1).offsets,
                               c.out(0).data<T>(), c.out(1).data<T>(), s);
        });
      },
      "attention");
  return KernelStatus::kDone;
}

void Infer(InferContext& c) {
  if (!WantAttention(c, kMask)) return;
  const Type& q = c.type(0);
  std::vector<Dim> dims(q.dims().begin(), q.dims().end());
  dims.back() = c.type(2).dim(q.rank() - 1);
  c.SetResult(0, Type::Tensor(q.dtype(), std::move(dims), q.ragged_axis()));
  c.SetResult(1, AttentionLseType(q));
}

void Grad(GradContext& c) {
  Emitter& e = c.emit();
  const Var dy = c.grad(0) ? c.grad(0) : e.Emit("zeros_like", {c.result(0)});
  const Var mask = c.has_operand(kMask) ? c.operand(kMask) : Var();
  const std::vector<Var> operands = {c.operand(0), c.operand(1), c.operand(2), c.result(0),
                                     c.result(1),  dy,           mask,         c.grad(1)};
  std::vector<NamedAttr> attrs = {{"causal", c.attr("causal")}};
  if (!c.attr("scale").empty()) attrs.push_back({"scale", c.attr("scale")});
  if (c.wanted(0) || c.wanted(1) || c.wanted(2)) {
    const std::vector<Var> grads = e.EmitMany("attention_grad", operands, 3, attrs);
    for (int i = 0; i < 3; ++i) c.SetGrad(i, grads[static_cast<size_t>(i)]);
  }
  if (mask && c.wanted(kMask)) {
    c.SetGrad(kMask, e.Emit("attention_mask_grad", operands, attrs));
  }
}

// A sample in which a query sees nothing: its lse of -infinity has no finite differences.
Sample Blind(Sample sample) {
  sample.check_gradient = false;
  return sample;
}
Sample Of(std::vector<Tensor> inputs, std::vector<NamedAttr> attrs = {},
          std::vector<std::vector<int64_t>> lengths = {}) {
  return {.inputs = std::move(inputs), .attrs = std::move(attrs), .ragged_lengths = lengths};
}
std::vector<Tensor> Inputs(const Shape& q, const Shape& k, const Shape& v) {
  return {Uniform(q, -2, 2, 1), Uniform(k, -2, 2, 2), Uniform(v, -1, 1, 3)};
}
std::vector<Tensor> With(std::vector<Tensor> inputs, Tensor mask) {
  inputs.push_back(std::move(mask));
  return inputs;
}

}  // namespace

void DefineAttention(OpSet& ops) {
  OpBuilder op = ops.Define("attention");
  op.Group("attention")
      .Doc(
          "Each query's mean of the values, weighted by the softmax of its scores with the keys; "
          "the scores are never stored. The second result is the logarithm of the sum of the "
          "exponentials of a query's scores. k and v may have fewer heads than q: neighbouring "
          "heads of q share one. A mask broadcasts to [B, H, T, S]. `causal`: the last query sees "
          "all keys, each one before it one less, as causal_mask says. A query that sees nothing "
          "yields zeros and -inf. Ragged sequences attend within themselves; causal is meant "
          "within each.")
      .Formula("y[…, t, :] = sum over s of softmax(q k^T * scale + mask)[…, t, s] * v[…, s, :]")
      .In("q", "[B, T, D] or [B, H, T, D]; ragged [B, *T, D] or [B, *T, H, D]")
      .In("k", "[B, S, D] or [B, K, S, D], where K divides H; ragged likewise")
      .In("v", "as k, of any width")
      .OptionalIn("mask", "bool (true: the query sees the key), or floats added to the scores")
      .OptionalAttr("scale", AttrKind::kFloat, "of the scores; 1 / sqrt(D) when left out")
      .WithAttr("causal", AttrKind::kBool, false, "no query looks ahead")
      .Results(2)
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("AttentionSizes",
             [](const KernelQuery& q, Words& words) {
               WriteAttentionSizes(AttentionSizesOf(q, kMask), words);
             })
      .Cost(AttentionCost)
      .Grad(Grad);
  AddAttentionKernels(op);
  op.Reference("Attention", RunReference);

  op.AddSample(Of({Floats({1, 2, 2}, {1, 0, 0, 1}), Floats({1, 2, 2}, {1, 0, 0, 1}),
                   Floats({1, 2, 2}, {1, 2, 3, 4})}));
  op.AddSample(Of(Inputs({2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4})));
  op.AddSample(Of(Inputs({2, 5, 3}, {2, 4, 3}, {2, 4, 6}), {{"scale", 0.3}}));
  op.AddSample(Of(Inputs({1, 4, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 3}), {{"causal", true}}));
  op.AddSample(Of(Inputs({2, 3, 4}, {2, 6, 4}, {2, 6, 4}), {{"causal", true}}));
  op.AddSample(Blind(Of(Inputs({2, 6, 4}, {2, 3, 4}, {2, 3, 4}), {{"causal", true}})));
  op.AddSample(Blind(Of(With(Inputs({2, 2, 3, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}),
                             Bools({3, 4}, {true, true, false, true, false, false, false, false,
                                            true, true, true, true})))));
  op.AddSample(Of(With(Inputs({2, 2, 3, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}),
                       Bools({2, 1, 1, 4}, {true, true, false, false, true, true, true, false})),
                  {{"causal", true}}));
  op.AddSample(
      Of(With(Inputs({2, 2, 3, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}), Uniform({1, 2, 3, 4}, -1, 1, 4))));
  op.AddSample(Of(With(Inputs({2, 3, 4}, {2, 4, 4}, {2, 4, 4}), Uniform({2, 1, 4}, -1, 1, 4))));
  op.AddSample(Blind(Of(With(Inputs({1, 2, 3}, {1, 3, 3}, {1, 3, 3}),
                             Floats({2, 3}, {-INFINITY, -INFINITY, -INFINITY, 0, -INFINITY, 1})))));
  // Sizes beyond the tiles of the vector code, by one.
  op.AddSample({.inputs = Inputs({1, 2, 65, 17}, {1, 1, 131, 17}, {1, 1, 131, 35}),
                .attrs = {{"causal", true}},
                .tolerance = 2e-5});
  op.AddSample({.inputs = With(Inputs({1, 1, 33, 16}, {1, 1, 70, 16}, {1, 1, 70, 16}),
                               Uniform({33, 70}, -2, 2, 4)),
                .tolerance = 2e-5});
  op.AddSample(Of(Inputs({2, 1, 8}, {2, 37, 8}, {2, 37, 8})));
  op.AddSample(Blind(Of(Inputs({2, 3, 4}, {2, 0, 4}, {2, 0, 4}))));
  op.AddSample(Of({Empty({2, 0, 4}), Uniform({2, 3, 4}, -1, 1), Uniform({2, 3, 4}, -1, 1)}));
  op.AddSample(Of({Empty({0, 2, 3, 4}), Empty({0, 2, 3, 4}), Empty({0, 2, 3, 4})}));
  op.AddSample({.inputs = {Floats({1, 1, 1}, {16}), Floats({1, 3, 1}, {64, -64, 63.875}),
                           Floats({1, 3, 1}, {1, 2, 3})},
                .tolerance = 1e-4,
                .check_gradient = false});
  op.AddSample({.inputs = {Floats({1, 2, 1}, {NAN, 1}), Floats({1, 2, 1}, {1, 2}),
                           Floats({1, 2, 1}, {1, 2})},
                .check_gradient = false});
  const std::vector<int64_t> lengths = {2, 0, 4, 1};
  op.AddSample(Of(Inputs({7, 3}, {7, 3}, {7, 5}), {{"causal", true}}, {lengths, lengths, lengths}));
  op.AddSample(Of(Inputs({7, 4, 3}, {7, 2, 3}, {7, 2, 3}), {}, {lengths, lengths, lengths}));
  op.AddSample(
      Blind(Of(Inputs({7, 3}, {5, 3}, {5, 3}), {}, {lengths, {1, 2, 0, 2}, {1, 2, 0, 2}})));
  op.AddSample(Of(Inputs({7, 3}, {5, 3}, {5, 3}), {}, {lengths, {1, 0, 2, 2}, {1, 0, 2, 2}}));
}

}  // namespace catamaran
