// ops/attention/attention_grad.cc
//
// The gradients of attention at q, k and v, and at a mask of floats. The weights are recomputed
// from the scores and the logarithms of their sums.

#include "catamaran/ops/attention/attention.h"
#include "catamaran/ops/attention/attention_kernels.h"
#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

template <class T, class M>
void AttentionGrad(const T* q, const T* k, const T* v, const M* mask, const int64_t* q_offsets,
                   const int64_t* k_offsets, const T* y, const T* lse, const T* dy, const T* dlse,
                   T* dq, T* dk, T* dv, const AttentionSizes& s) {
  // Rows of one head: of all sequences together where they are ragged.
  const int64_t sequences = s.ragged ? 1 : s.batch;
  const int64_t q_rows = sequences * s.heads * s.queries;
  const int64_t k_rows = sequences * s.kv_heads * s.keys;
  for (int64_t i = 0; i < q_rows * s.width; ++i) dq[i] = T(0);
  for (int64_t i = 0; i < k_rows * s.width; ++i) dk[i] = T(0);
  for (int64_t i = 0; i < k_rows * s.value_width; ++i) dv[i] = T(0);
  AttentionPairs(q, k, v, mask, q_offsets, k_offsets, y, lse, dy, dlse, s,
                 [&](int64_t row, int64_t row_k, int64_t, double p, double ds) {
                   const T weight = static_cast<T>(p), slope = static_cast<T>(ds * s.scale);
                   for (int64_t d = 0; d < s.width; ++d) {
                     dq[row * s.width + d] += slope * k[row_k * s.width + d];
                     dk[row_k * s.width + d] += slope * q[row * s.width + d];
                   }
                   for (int64_t d = 0; d < s.value_width; ++d) {
                     dv[row_k * s.value_width + d] += weight * dy[row * s.value_width + d];
                   }
                 });
}

// `size` elements of the mask's gradient.
template <class T>
void AttentionMaskGrad(const T* q, const T* k, const T* v, const T* mask, const T* y, const T* lse,
                       const T* dy, const T* dlse, T* dmask, int64_t size,
                       const AttentionSizes& s) {
  for (int64_t i = 0; i < size; ++i) dmask[i] = T(0);
  const int64_t* dense = nullptr;
  AttentionPairs(q, k, v, mask, dense, dense, y, lse, dy, dlse, s,
                 [&](int64_t, int64_t, int64_t place, double, double ds) {
                   dmask[place] += static_cast<T>(ds);
                 });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::AttentionSizes;

// Operands: q, k, v, y, lse, dy, mask, dlse.
constexpr int kMask = 6, kDlse = 7;

bool WantGradOperands(InferContext& c) {
  if (!WantAttention(c, kMask)) return false;
  const Type& q = c.type(0);
  std::vector<Dim> dims(q.dims().begin(), q.dims().end());
  dims.back() = c.type(2).dim(q.rank() - 1);
  const Type y = Type::Tensor(q.dtype(), std::move(dims), q.ragged_axis());
  // In f16 and bf16 it was computed in f32, but may have been rounded since.
  Type lse = AttentionLseType(q);
  if (c.has(4) && c.type(4).is_tensor() && c.type(4).dtype() == q.dtype())
    lse = lse.WithDType(q.dtype());
  return c.UnifyTypes(y, c.type(3), "the result and y") &&
         c.UnifyTypes(lse, c.type(4), "the logarithms and lse") &&
         c.UnifyTypes(y, c.type(5), "y and dy") &&
         (!c.has(kDlse) || c.UnifyTypes(lse, c.type(kDlse), "lse and dlse"));
}

template <class T>
const T* Optional(const KernelContext& c, int i) {
  return c.has_in(i) ? c.in(i).data<const T>() : nullptr;
}

KernelStatus RunReference(KernelContext& c) {
  const AttentionSizes s = AttentionRunSizes(c, kMask);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        WithAttentionMask<T>(c, kMask, [&](auto* mask) {
          reference::AttentionGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                                   c.in(2).data<const T>(), mask, c.in(0).offsets, c.in(1).offsets,
                                   c.in(3).data<const T>(), c.in(4).data<const T>(),
                                   c.in(5).data<const T>(), Optional<T>(c, kDlse),
                                   c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(), s);
        });
      },
      "attention_grad");
  return KernelStatus::kDone;
}

KernelStatus RunMaskReference(KernelContext& c) {
  const AttentionSizes s = AttentionRunSizes(c, kMask);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::AttentionMaskGrad(
            c.in(0).data<const T>(), c.in(1).data<const T>(), c.in(2).data<const T>(),
            Optional<T>(c, kMask), c.in(3).data<const T>(), c.in(4).data<const T>(),
            c.in(5).data<const T>(), Optional<T>(c, kDlse), c.out().data<T>(), c.out().size(), s);
      },
      "attention_mask_grad");
  return KernelStatus::kDone;
}

void FillSizes(const KernelQuery& q, Words& words) {
  WriteAttentionSizes(AttentionSizesOf(q, kMask), words);
}

// Operands and attributes of both ops.
OpBuilder DefineGrad(OpSet& ops, const std::string& name) {
  OpBuilder op = ops.Define(name);
  op.Group("attention")
      .In("q", "of attention")
      .In("k", "of attention")
      .In("v", "of attention")
      .In("y", "its first result")
      .In("lse", "its second result")
      .In("dy", "the gradient at y")
      .OptionalIn("mask", "of attention")
      .OptionalIn("dlse", "the gradient at lse")
      .OptionalAttr("scale", AttrKind::kFloat, "of the scores; 1 / sqrt(D) when left out")
      .WithAttr("causal", AttrKind::kBool, false, "no query looks ahead")
      .Sizes("AttentionSizes", FillSizes)
      .NoGrad("second derivatives of attention: compose it of matmul and softmax");
  return op;
}

// y and lse need not belong to q, k and v: the gradient is a function of all of them. Those of lse
// are large enough for weights below 1.
Sample Of(const Shape& q, const Shape& k, const Shape& v, std::vector<NamedAttr> attrs = {},
          Tensor mask = {}, std::vector<std::vector<int64_t>> lengths = {}) {
  Shape y = q, lse;
  y.Set(q.rank() - 1, v[v.rank() - 1]);
  for (int i = 0; i < q.rank() - 1; ++i) lse.Append(q[i]);
  Sample sample;
  sample.inputs = {Uniform(q, -1, 1, 1), Uniform(k, -1, 1, 2),  Uniform(v, -1, 1, 3),
                   Uniform(y, -1, 1, 4), Uniform(lse, 2, 4, 5), Uniform(y, -1, 1, 6),
                   std::move(mask),      Uniform(lse, -1, 1, 7)};
  sample.attrs = std::move(attrs);
  sample.tolerance = 3e-5;
  if (!lengths.empty()) {
    sample.ragged_lengths = {lengths[0], lengths[1], lengths[1], lengths[0],
                             lengths[0], lengths[0], {},         lengths[0]};
  }
  return sample;
}

}  // namespace

void DefineAttentionGrad(OpSet& ops) {
  OpBuilder op = DefineGrad(ops, "attention_grad");
  op.Doc(
        "The gradients of attention at q, k and v. The scores are computed again, so that they are "
        "never stored.")
      .Formula(
          "ds = p * (dy v^T - sum(dy * y) + dlse) * scale; dq = ds k; dk = ds^T q; dv = p^T dy")
      .Results(3)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantGradOperands(c)) return;
        for (int i = 0; i < 3; ++i) c.SetResult(i, c.type(i));
      })
      .Cost(AttentionGradCost);
  AddAttentionGradKernels(op);
  op.Reference("AttentionGrad", RunReference);
  op.AddSample({.inputs = {Floats({1, 2, 1}, {1, 2}), Floats({1, 2, 1}, {0, 1}),
                           Floats({1, 2, 1}, {1, 2}), Floats({1, 2, 1}, {1.5, 1.5}),
                           Floats({1, 2}, {1.5, 2.5}), Floats({1, 2, 1}, {1, 1})}});
  op.AddSample(Of({2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4}));
  op.AddSample(Of({1, 4, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 3}, {{"causal", true}}));
  op.AddSample(Of({2, 6, 4}, {2, 3, 4}, {2, 3, 4}, {{"causal", true}, {"scale", 0.3}}));
  op.AddSample(Of({2, 2, 3, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}, {},
                  Bools({2, 1, 1, 4}, {true, true, false, false, true, true, true, false})));
  op.AddSample(Of({2, 3, 4}, {2, 4, 4}, {2, 4, 4}, {}, Uniform({2, 3, 4}, -1, 1, 8)));
  op.AddSample(Of({1, 2, 65, 17}, {1, 1, 131, 17}, {1, 1, 131, 35}, {{"causal", true}}));
  op.AddSample(Of({1, 1, 33, 16}, {1, 1, 70, 16}, {1, 1, 70, 16}, {}, Uniform({33, 70}, -2, 2, 8)));
  op.AddSample(Of({2, 1, 8}, {2, 37, 8}, {2, 37, 8}));
  op.AddSample(Of({2, 3, 4}, {2, 0, 4}, {2, 0, 4}));
  op.AddSample(Of({2, 0, 4}, {2, 3, 4}, {2, 3, 4}));
  const std::vector<int64_t> lengths = {2, 0, 4, 1};
  op.AddSample(Of({7, 4, 3}, {7, 2, 3}, {7, 2, 3}, {{"causal", true}}, {}, {lengths, lengths}));
  op.AddSample(Of({7, 3}, {5, 3}, {5, 5}, {}, {}, {lengths, {1, 2, 0, 2}}));
}

void DefineAttentionMaskGrad(OpSet& ops) {
  OpBuilder op = DefineGrad(ops, "attention_mask_grad");
  op.Doc("The gradient of attention at a mask of floats, in the mask's shape.")
      .Formula("dmask = sum over what it was broadcast to of p * (dy v^T - sum(dy * y) + dlse)")
      .Infer([](InferContext& c) {
        if (!WantGradOperands(c)) return;
        if (!c.has(kMask) || c.type(kMask).dtype() != c.type(0).dtype()) {
          return (void)c.Fail("wants a mask of floats");
        }
        c.SetResult(c.type(kMask));
      })
      .Cost(AttentionGradCost);
  AddAttentionMaskGradKernels(op);
  op.Reference("AttentionMaskGrad", RunMaskReference)
      .AddSample(Of({1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {}, Floats({2, 2}, {0, 1, 1, 0})))
      .AddSample(Of({2, 2, 3, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}, {}, Uniform({1, 2, 3, 4}, -1, 1, 8)))
      .AddSample(
          Of({2, 3, 4}, {2, 4, 4}, {2, 4, 4}, {{"causal", true}}, Uniform({2, 1, 4}, -1, 1, 8)))
      .AddSample(Of({2, 4, 67, 8}, {2, 2, 101, 8}, {2, 2, 101, 8}, {{"causal", true}},
                    Uniform({4, 67, 101}, -1, 1, 8)))
      .AddSample(Of({2, 3, 4}, {2, 0, 4}, {2, 0, 4}, {}, Uniform({3, 1}, -1, 1, 8)));
}

}  // namespace catamaran
