// ops/loss/sampled.cc
//
// sampled_softmax, nce and sampled_logits: losses over very many classes of which only the label
// and a few that were drawn (log_uniform_sample) are looked at.

#include "catamaran/ops/blas.h"
#include "catamaran/ops/loss/cross_entropy_isa.h"
#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/loss/sampled_reference.h"

namespace catamaran {
namespace {

using reference::SampledSizes;

enum Operand { kHidden, kWeight, kLabels, kSampled, kBias, kLabelCounts, kCounts };
enum class Loss { kLogits, kSoftmax, kNce };

template <class F>
void ForTypes(const KernelContext& c, F&& f) {
  const SampledSizes& s = c.sizes<SampledSizes>();
  DispatchIndex(
      c.in(kLabels).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(kLabels).data<I>(), s.batch, s.classes);
        CheckLabels(c.in(kSampled).data<I>(), s.samples, s.classes);
        DispatchFloating(
            c.in(kHidden).tensor.dtype, [&]<class T>(T) { f(T{}, I{}, s); }, "sampled classes");
      },
      "sampled classes");
}

template <Loss kLoss>
KernelStatus RunReference(KernelContext& c) {
  ForTypes(c, [&]<class T, class I>(T, I, const SampledSizes& s) {
    const auto call = [&](auto f, auto... more) {
      f(c.in(kHidden).data<T>(), c.in(kWeight).data<T>(), c.in(kLabels).data<I>(),
        c.in(kSampled).data<I>(), OptionalData<T>(c, kBias), OptionalData<T>(c, kLabelCounts),
        OptionalData<T>(c, kCounts), c.out().data<T>(), more..., s);
    };
    if constexpr (kLoss == Loss::kLogits) {
      call(reference::SampledLogits<T, I>);
    } else {
      call(kLoss == Loss::kNce ? reference::Nce<T, I> : reference::SampledSoftmax<T, I>,
           static_cast<T*>(c.scratch));
    }
  });
  return KernelStatus::kDone;
}

template <Loss kLoss, class T>
T LossOfRow(const CrossEntropyKernels& k, const T* row, int64_t samples) {
  if constexpr (std::is_same_v<T, float>) {
    const float own = -row[0];
    if (kLoss == Loss::kNce) return k.softplus_sum(&own, 1) + k.softplus_sum(row + 1, samples);
    const CrossEntropyRow all = k.log_sum_exp(row, samples + 1);
    return all.max + all.log_sum - row[0];
  } else {
    return kLoss == Loss::kNce ? reference::NceOfRow(row, samples)
                               : reference::SampledSoftmaxOfRow(row, samples);
  }
}

// The rows of the samples side by side, so that one product of matrices gives their logits.
template <Loss kLoss>
KernelStatus RunProduct(KernelContext& c) {
  ForTypes(c, [&]<class T, class I>(T, I, const SampledSizes& s) {
    T* rows = static_cast<T*>(c.scratch);
    T* shift = rows + s.samples * s.width;  // what is added to the logits of each sample
    T* logits = kLoss == Loss::kLogits ? c.out().data<T>() : shift + s.samples;
    const T *weight = c.in(kWeight).data<T>(), *hidden = c.in(kHidden).data<T>();
    const T *bias = OptionalData<T>(c, kBias), *counts = OptionalData<T>(c, kCounts);
    const I *labels = c.in(kLabels).data<I>(), *sampled = c.in(kSampled).data<I>();
    const T* label_counts = OptionalData<T>(c, kLabelCounts);
    for (int64_t k = 0; k < s.samples; ++k) {
      const int64_t id = static_cast<int64_t>(sampled[k]);
      std::copy_n(weight + id * s.width, s.width, rows + k * s.width);
      shift[k] = (bias ? bias[id] : T(0)) - (counts ? std::log(counts[k]) : T(0));
    }
    const int64_t width = s.samples + 1;
    Split(c.pool, s.batch, 2 * s.width * width, [&](int64_t begin, int64_t end) {
      T* mine = logits + begin * width;
      if (s.samples > 0) {
        blas::Gemm(false, true, end - begin, s.samples, s.width, hidden + begin * s.width, s.width,
                   rows, s.width, mine + 1, width);
      }
      for (int64_t n = begin; n < end; ++n, mine += width) {
        SampledSizes one = s;
        one.samples = 0;
        reference::SampledRow(hidden, weight, labels, sampled, bias, label_counts, counts, n, mine,
                              one);
        for (int64_t k = 0; k < s.samples; ++k) {
          const bool hit = s.remove_hits && sampled[k] == labels[n];
          mine[k + 1] = hit ? static_cast<T>(reference::kSampledHit) : mine[k + 1] + shift[k];
        }
        if (kLoss != Loss::kLogits) {
          c.out().data<T>()[n] = LossOfRow<kLoss>(CrossEntropyKernelsOf(c), mine, s.samples);
        }
      }
    });
  });
  return KernelStatus::kDone;
}

template <Loss kLoss>
void AddKernels(OpBuilder& op, const char* reference) {
  op.Reference(reference, RunReference<kLoss>);
  if (kLoss != Loss::kLogits) {
    op.def().kernels.back().scratch = [](const KernelQuery& q) {
      return static_cast<size_t>(q.sizes->As<SampledSizes>().samples + 1) * sizeof(double);
    };
  }
  Kernel kernel = CrossEntropyKernel("product", RunProduct<kLoss>, [](const KernelQuery& q) {
    const SampledSizes s = q.sizes->As<SampledSizes>();
    return s.batch > 0 && s.width > 0;
  });
  kernel.scratch = [](const KernelQuery& q) {
    const SampledSizes s = q.sizes->As<SampledSizes>();
    const int64_t logits = kLoss == Loss::kLogits ? 0 : s.batch * (s.samples + 1);
    return static_cast<size_t>(s.samples * (s.width + 1) + logits) *
           SizeOf(q.in[kHidden]->tensor.dtype);
  };
  op.Fast(kernel).Cost([](const KernelQuery& q) {
    const SampledSizes s = q.sizes->As<SampledSizes>();
    const double rows = static_cast<double>(s.batch + s.samples);
    return OpCost{2.0 * static_cast<double>(s.batch * s.width * (s.samples + 1)),
                  4.0 * rows * static_cast<double>(s.width)};
  });
}

bool WantOperands(InferContext& c) {
  if (!c.WantFloat(kHidden) || !c.WantRank(kHidden, 2)) return false;
  if (!c.WantRank(kWeight, 2) || !c.WantSameDType(kHidden, kWeight)) return false;
  const Type &hidden = c.type(kHidden), &weight = c.type(kWeight);
  if (!c.Unify(hidden.dim(1), weight.dim(1), "widths")) return false;
  if (!c.WantTensor(kLabels) || !c.WantRank(kLabels, 1)) return false;
  if (!c.WantTensor(kSampled) || !c.WantRank(kSampled, 1)) return false;
  if (!IsClassType(c.type(kLabels).dtype())) return c.Fail("labels are i32, i64 or u64");
  if (!c.WantSameDType(kLabels, kSampled)) return false;
  if (!c.Unify(hidden.dim(0), c.type(kLabels).dim(0), "batches")) return false;
  const std::pair<int, Dim> vectors[] = {
      {kBias, weight.dim(0)}, {kLabelCounts, hidden.dim(0)}, {kCounts, c.type(kSampled).dim(0)}};
  for (const auto& [i, size] : vectors) {
    if (!c.has(i)) continue;
    if (!c.WantRank(i, 1) || !c.WantSameDType(kHidden, i)) return false;
    if (!c.Unify(size, c.type(i).dim(0), "sizes")) return false;
  }
  return true;
}

std::vector<Var> Operands(const GradContext& c) {
  std::vector<Var> operands;
  for (int i = 0; i <= kCounts; ++i) operands.push_back(c.has_operand(i) ? c.operand(i) : Var());
  return operands;
}

Var SumFirst(Var x) { return x.emitter()->Emit("sum", {x}, {{"axes", Attr::Ints({0})}}); }

// What arrives at the logits goes to the operands that made them.
void GradOfLogits(GradContext& c, Var dlogits) {
  Emitter& e = c.emit();
  const std::vector<Var> in = Operands(c);
  const Attr one(1), zero(0);
  const Var own = e.Emit("slice", {dlogits}, {{"axis", one}, {"end", one}});       // [B, 1]
  const Var others = e.Emit("slice", {dlogits}, {{"axis", one}, {"begin", one}});  // [B, S]
  const Dim batch = in[kLabels].type().dim(0), samples = in[kSampled].type().dim(0);
  const Var own_flat = e.Emit("reshape", {own}, {{"shape", Attr::Dims({batch})}});
  if (c.wanted(kHidden)) {
    const Var label_rows = e.Emit("gather", {in[kWeight], in[kLabels]});
    const Var rows = e.Emit("gather", {in[kWeight], in[kSampled]});
    c.SetGrad(kHidden, own * label_rows + e.Emit("matmul", {others, rows}));
  }
  const Dim classes = in[kWeight].type().dim(0);
  Var ids;
  if (c.wanted(kWeight) || (in[kBias] && c.wanted(kBias))) {
    ids = e.Emit("concat", {in[kLabels], in[kSampled]}, {{"axis", zero}});
  }
  if (c.wanted(kWeight)) {
    const Var rows = e.Emit(
        "concat",
        {own * in[kHidden], e.Emit("matmul", {others, in[kHidden]}, {{"transpose_a", true}})},
        {{"axis", zero}});
    c.SetGrad(kWeight, c.attr("sparse").AsBool()
                           ? e.Emit("embedding_rows", {ids, rows})
                           : e.Emit("scatter_add", {rows, ids}, {{"size", classes}}));
  }
  if (in[kBias] && c.wanted(kBias)) {
    const Var each = e.Emit("concat", {own_flat, SumFirst(others)}, {{"axis", zero}});
    c.SetGrad(kBias, e.Emit("scatter_add", {each, ids}, {{"size", classes}}));
  }
  if (in[kLabelCounts] && c.wanted(kLabelCounts)) {
    c.SetGrad(kLabelCounts, -own_flat / in[kLabelCounts]);
  }
  if (in[kCounts] && c.wanted(kCounts)) c.SetGrad(kCounts, -SumFirst(others) / in[kCounts]);
}

Var LogitsAgain(const GradContext& c) {
  return c.emit().Emit("sampled_logits", Operands(c), {{"remove_hits", c.attr("remove_hits")}});
}

// The gradient less `dy` in the first column, where the target is 1.
Var LessLabel(Var grad, Var dy) {
  Emitter& e = *grad.emitter();
  return grad - e.Emit("place", {dy, grad}, {{"axis", Attr(1)}});
}

OpBuilder& AddOperands(OpBuilder& op) {
  return op.Group("loss")
      .In("hidden", "[B, D]")
      .In("weight", "[C, D]: a row for each class")
      .In("labels", "integers [B], each in [0, C)")
      .Label("labels", {.low = 0, .classes_of = 1, .classes_axis = 0})
      .In("sampled", "integers [S]: the classes that were drawn")
      .OptionalIn("bias", "[C]")
      .OptionalIn("label_counts", "[B]: how often each label was expected among the drawn")
      .OptionalIn("counts", "[S]: how often each of the drawn was")
      .WithAttr("remove_hits", AttrKind::kBool, true,
                "whether drawn classes that are the label do not count in its row")
      .WithAttr("sparse", AttrKind::kBool, false,
                "whether the gradient of weight is `rows`; it is a parameter then")
      .Infer([](InferContext& c) {
        if (!WantOperands(c)) return;
        const Dim batch = c.type(kHidden).dim(0);
        std::vector<Dim> dims = {batch};
        if (c.op().Is("sampled_logits")) dims.push_back(c.type(kSampled).dim(0) + Dim(1));
        c.SetResult(Type::Tensor(c.type(kHidden).dtype(), std::move(dims)));
      })
      .Sizes("SampledSizes", [](const KernelQuery& q, Words& words) {
        words << q.in[kHidden]->shape()[0] << q.in[kHidden]->shape()[1] << q.in[kWeight]->shape()[0]
              << q.in[kSampled]->size() << q.op->attr("remove_hits").AsBool();
      });
}

// `hits`: the logits of hits are too large to take differences of.
void AddSamples(OpBuilder& op, bool hits) {
  const Tensor hidden = Uniform({3, 5}, -1, 1), weight = Uniform({7, 5}, -1, 1, 2);
  op.AddSample({.inputs = {Floats({1, 2}, {1, 2}), Floats({3, 2}, {1, 0, 0, 1, 1, 1}),
                           Ints({1}, {2}), Ints({2}, {0, 1})}})
      .AddSample(
          {.inputs = {hidden, weight, Ints({3}, {6, 0, 2}), Ints({4}, {1, 4, 5, 1}),
                      Uniform({7}, -1, 1, 3), Uniform({3}, 0.1, 2, 4), Uniform({4}, 0.1, 2, 5)}})
      .AddSample({.inputs = {hidden, weight, Ints({3}, {6, 0, 2}, DType::kI32),
                             Ints({4}, {6, 0, 1, 0}, DType::kI32), Tensor(),
                             Uniform({3}, 0.1, 2, 4), Uniform({4}, 0.1, 2, 5)},
                  .check_gradient = hits,
                  .note = "hits"})
      .AddSample({.inputs = {hidden, weight, Ints({3}, {6, 0, 2}), Ints({4}, {6, 0, 1, 0})},
                  .attrs = {{"remove_hits", false}}})
      .AddSample({.inputs = {hidden, weight, Ints({3}, {6, 0, 2}), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Empty({0, 5}), weight, Empty({0}, DType::kI64), Ints({2}, {6, 0})}})
      .AddSample({.inputs = {Uniform({40, 33}, -1, 1), Uniform({90, 33}, -1, 1, 2),
                             RandomInts({40}, 0, 90), RandomInts({29}, 0, 90)},
                  .attrs = {{"sparse", true}},
                  .check_gradient = false});
}

}  // namespace

void DefineSampledLogits(OpSet& ops) {
  OpBuilder op = ops.Define("sampled_logits");
  AddOperands(op)
      .Doc(
          "For each row the logit of its label, then those of the drawn classes, each less the "
          "logarithm of how often it was expected to be drawn. The logit of a drawn class that is "
          "the label is -1e30. A class outside of the weights is an error.")
      .Formula(
          "y[n, k] = hidden[n] . weight[c] + bias[c] - log(counts[c]), c the label or a sample")
      .Grad([](GradContext& c) {
        // Hits do not depend on anything.
        Emitter& e = c.emit();
        const Var none = e.Constant(0.0, c.grad().type().dtype());
        GradOfLogits(c, e.Emit("where", {c.result() > -1e29, c.grad(), none}));
      });
  AddKernels<Loss::kLogits>(op, "SampledLogits");
  AddSamples(op, false);
}

void DefineSampledSoftmax(OpSet& ops) {
  OpBuilder op = ops.Define("sampled_softmax");
  AddOperands(op)
      .Doc(
          "For each row the cross entropy of softmax over its label and the drawn classes, instead "
          "of all of them. For training; to evaluate, use softmax_cross_entropy over all. A class "
          "outside of the weights is an error.")
      .Formula("y[n] = log(sum_k exp(x[n, k])) - x[n, 0], x = sampled_logits(…)")
      .Grad([](GradContext& c) {
        const Var p = c.emit().Emit("softmax", {LogitsAgain(c)}), dy = AsColumn(c.grad());
        GradOfLogits(c, LessLabel(p * dy, dy));
      });
  AddKernels<Loss::kSoftmax>(op, "SampledSoftmax");
  AddSamples(op, true);
}

void DefineNce(OpSet& ops) {
  OpBuilder op = ops.Define("nce");
  AddOperands(op)
      .Doc(
          "Noise contrastive estimation: for each row the binary cross entropies of telling its "
          "label from the drawn classes, added up. A class outside of the weights is an error.")
      .Formula(
          "y[n] = softplus(-x[n, 0]) + sum over k > 0 of softplus(x[n, k]), x = sampled_logits(…)")
      .Grad([](GradContext& c) {
        const Var p = c.emit().Emit("sigmoid", {LogitsAgain(c)}), dy = AsColumn(c.grad());
        GradOfLogits(c, LessLabel(p * dy, dy));
      });
  AddKernels<Loss::kNce>(op, "Nce");
  AddSamples(op, true);
}

}  // namespace catamaran
