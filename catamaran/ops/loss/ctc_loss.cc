// ops/loss/ctc_loss.cc
//
// ctc_loss(log_probs, labels): minus the logarithm of the probability of all alignments of the
// labels with the steps of an utterance; and its gradient as an op.

#include <vector>

#include "catamaran/ops/loss/ctc_reference.h"
#include "catamaran/ops/loss/ctc_simd.h"
#include "catamaran/ops/loss/ctc_utterance.h"
#include "catamaran/ops/loss/loss.h"

namespace catamaran {
namespace {

using reference::CtcItem;
using reference::CtcSizes;

// Where the operands of an op stand. Lengths are null for ragged operands, whose offsets say them.
struct Places {
  int input_lengths, label_lengths;
};
constexpr Places kLoss = {2, 3};
constexpr Places kGrad = {3, 4};

int64_t LengthAt(const Slot& lengths, int64_t n) {
  return lengths.tensor.dtype == DType::kI32 ? lengths.data<int32_t>()[n]
                                             : lengths.data<int64_t>()[n];
}

template <class T, class I>
CtcItem<T, I> ItemAt(const KernelContext& c, const CtcSizes& s, const Places& at, int64_t n) {
  const Slot &log_probs = c.in(0), &labels = c.in(1);
  auto item =
      reference::CtcItemOf<T, I, int64_t>(log_probs.data<T>(), labels.data<I>(), nullptr, nullptr,
                                          log_probs.offsets || labels.offsets ? 0 : n, s);
  if (const int64_t* offsets = log_probs.offsets) {
    item.log_probs = log_probs.data<T>() + offsets[n] * s.classes;
    item.stride = s.classes;
    item.steps = offsets[n + 1] - offsets[n];
  } else {
    item.log_probs = log_probs.data<T>() + n * s.classes * (s.batch_first ? s.steps : 1);
  }
  if (const int64_t* offsets = labels.offsets) {
    item.labels = labels.data<I>() + offsets[n];
    item.count = offsets[n + 1] - offsets[n];
  } else {
    item.labels = labels.data<I>() + n * s.labels;
  }
  if (c.has_in(at.input_lengths)) item.steps = LengthAt(c.in(at.input_lengths), n);
  if (c.has_in(at.label_lengths)) item.count = LengthAt(c.in(at.label_lengths), n);
  return item;
}

// Checks what only a run can tell, and finds the longest utterance.
template <class T, class I>
void CheckItems(const KernelContext& c, const CtcSizes& s, const Places& at, int64_t* most_steps,
                int64_t* most_labels) {
  *most_steps = *most_labels = 0;
  for (int64_t n = 0; n < s.batch; ++n) {
    const auto item = ItemAt<T, I>(c, s, at, n);
    if (item.steps < 0 || (!c.in(0).offsets && item.steps > s.steps)) {
      Fail(ErrorCode::kBadData, "input length {} of utterance {} is not within 0 to {}", item.steps,
           n, s.steps);
    }
    if (item.count < 0 || (!c.in(1).offsets && item.count > s.labels)) {
      Fail(ErrorCode::kBadData, "label length {} of utterance {} is not within 0 to {}", item.count,
           n, s.labels);
    }
    for (int64_t k = 0; k < item.count; ++k) {
      const int64_t label = static_cast<int64_t>(item.labels[k]);
      if (label < 0 || label >= s.classes || label == s.blank) {
        Fail(ErrorCode::kBadData,
             "label {} at {} of utterance {} is not one of the {} classes other than blank {}",
             label, k, n, s.classes, s.blank);
      }
    }
    *most_steps = std::max(*most_steps, item.steps);
    *most_labels = std::max(*most_labels, item.count);
  }
}

template <class F>
void ForTypes(const KernelContext& c, F&& f) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        DispatchIndex(
            c.in(1).tensor.dtype, [&]<class I>(I) { f(T{}, I{}); }, "ctc_loss");
      },
      "ctc_loss");
}

// The lengths of ragged operands are known in a run only, so what depends on them is allocated
// there; else the kernel's scratch memory has room.
template <class T>
class Room {
 public:
  Room(const KernelContext& c, int64_t count) {
    if (c.in(0).offsets || c.in(1).offsets) {
      own_.resize(static_cast<size_t>(count));
      data_ = own_.data();
    } else {
      data_ = static_cast<T*>(c.scratch);
    }
  }
  T* data() const { return data_; }

 private:
  std::vector<T> own_;
  T* data_;
};

CtcSizes RunSizes(const KernelContext& c) {
  CtcSizes s = c.sizes<CtcSizes>();
  if (c.in(0).offsets) s.batch = c.in(0).num_rows;
  return s;
}

// Whether the operands are as the references take them: dense, with lengths in i64.
bool IsPlain(const KernelContext& c, const Places& at) {
  for (int i : {at.input_lengths, at.label_lengths}) {
    if (c.has_in(i) && c.in(i).tensor.dtype != DType::kI64) return false;
  }
  return !c.in(0).offsets && !c.in(1).offsets;
}

KernelStatus LossReference(KernelContext& c) {
  const CtcSizes s = RunSizes(c);
  ForTypes(c, [&]<class T, class I>(T, I) {
    int64_t steps = 0, labels = 0;
    CheckItems<T, I>(c, s, kLoss, &steps, &labels);
    if (IsPlain(c, kLoss)) {
      reference::Ctc(c.in(0).data<T>(), c.in(1).data<I>(), OptionalData<int64_t>(c, 2),
                     OptionalData<int64_t>(c, 3), c.out().data<T>(),
                     static_cast<double*>(c.scratch), s);
      return;
    }
    const Room<double> room(c, 2 * (2 * labels + 1));
    T* y = c.out().data<T>();
    for (int64_t n = 0; n < s.batch; ++n) {
      const double total = reference::CtcForward(ItemAt<T, I>(c, s, kLoss, n), room.data(), 2);
      y[n] = static_cast<T>(total == -INFINITY && s.zero_infinity ? 0.0 : 0.0 - total);
    }
  });
  return KernelStatus::kDone;
}

KernelStatus GradReference(KernelContext& c) {
  const CtcSizes s = RunSizes(c);
  ForTypes(c, [&]<class T, class I>(T, I) {
    int64_t steps = 0, labels = 0;
    CheckItems<T, I>(c, s, kGrad, &steps, &labels);
    if (IsPlain(c, kGrad)) {
      reference::CtcGrad(c.in(0).data<T>(), c.in(1).data<I>(), c.in(2).data<T>(),
                         OptionalData<int64_t>(c, 3), OptionalData<int64_t>(c, 4),
                         c.out().data<T>(), static_cast<double*>(c.scratch), s);
      return;
    }
    const Room<double> room(c, (steps + 4) * (2 * labels + 1));
    T* dx = c.out().data<T>();
    std::fill_n(dx, c.out().size(), T(0));
    for (int64_t n = 0; n < s.batch; ++n) {
      const auto item = ItemAt<T, I>(c, s, kGrad, n);
      reference::CtcBackward(item, -static_cast<double>(c.in(2).data<T>()[n]), room.data(),
                             dx + (item.log_probs - c.in(0).data<T>()));
    }
  });
  return KernelStatus::kDone;
}

// ---- The vector kernel: utterances are dealt to lanes, each with memory of its own.

constexpr int64_t kMostLanes = 16;

const CtcKernels& FindKernels([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetCtcKernels();
  if (isa == Isa::kAvx2) return avx2::GetCtcKernels();
#endif
  return plain::GetCtcKernels();
}
struct PreparedCtc final : Prepared {
  const CtcKernels* kernels = nullptr;
};

// Calls body(utterance number, Utterance) for all of them.
template <class F>
void ForUtterances(KernelContext& c, const Places& at, bool keep_rows, F&& body) {
  const CtcSizes s = RunSizes(c);
  const CtcKernels& kernels = *static_cast<const PreparedCtc*>(c.prepared)->kernels;
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        int64_t steps = 0, labels = 0;
        CheckItems<float, I>(c, s, at, &steps, &labels);
        const int64_t lanes = std::min(s.batch, kMostLanes);
        const int64_t rows = keep_rows ? std::max<int64_t>(3, steps) : 2;
        const int64_t floats = CtcLane::Floats(rows, steps, labels);
        const Room<float> room(c, lanes * floats);
        Split(c.pool, lanes, 40 * steps * (2 * labels + 1), [&](int64_t begin, int64_t end) {
          for (int64_t l = begin; l < end; ++l) {
            const CtcLane lane(room.data() + l * floats, rows, steps, labels);
            for (int64_t n = l; n < s.batch; n += lanes) {
              const CtcItem<float, I> item = ItemAt<float, I>(c, s, at, n);
              body(n, item.log_probs - c.in(0).data<float>(), CtcUtterance<I>(kernels, item, lane));
            }
          }
        });
      },
      "ctc_loss");
}

KernelStatus LossVector(KernelContext& c) {
  const bool zero = c.sizes<CtcSizes>().zero_infinity != 0;
  ForUtterances(c, kLoss, false, [&](int64_t n, int64_t, auto utterance) {
    const double total = utterance.Forward();
    c.out().data<float>()[n] = static_cast<float>(total == -INFINITY && zero ? 0.0 : 0.0 - total);
  });
  return KernelStatus::kDone;
}
KernelStatus GradVector(KernelContext& c) {
  float* dx = c.out().data<float>();
  std::fill_n(dx, c.out().size(), 0.0f);
  ForUtterances(c, kGrad, true, [&](int64_t n, int64_t begins, auto utterance) {
    utterance.Backward(-c.in(2).data<float>()[n], dx + begins);
  });
  return KernelStatus::kDone;
}

// ---- Definitions.

bool WantLengths(InferContext& c, int values, int lengths, const Dim& batch) {
  if (!c.has(lengths)) return true;
  if (c.type(values).is_ragged()) return c.Fail("a ragged value has its lengths already");
  if (!c.WantTensor(lengths) || !c.WantRank(lengths, 1)) return false;
  const DType dtype = c.type(lengths).dtype();
  if (dtype != DType::kI32 && dtype != DType::kI64) return c.Fail("lengths are i32 or i64");
  return c.Unify(batch, c.type(lengths).dim(0), "batches");
}

bool WantUtterances(InferContext& c, const Places& at, Dim* batch) {
  if (!c.WantFloat(0) || !c.WantRank(0, 3) || !c.WantTensor(1) || !c.WantRank(1, 2)) return false;
  if (!IsClassType(c.type(1).dtype())) return c.Fail("labels are i32, i64 or u64 class numbers");
  const bool first = c.type(0).is_ragged() || c.op().attr("batch_first").AsBool();
  *batch = c.type(0).dim(first ? 0 : 1);
  return c.Unify(*batch, c.type(1).dim(0), "batches") &&
         WantLengths(c, 0, at.input_lengths, *batch) && WantLengths(c, 1, at.label_lengths, *batch);
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape &x = q.in[0]->shape(), &labels = q.in[1]->shape();
  const bool ragged = x.rank() == 2, first = q.op->attr("batch_first").AsBool();
  words << (ragged ? x[0] : x[first ? 1 : 0]) << (ragged ? q.in[0]->num_rows : x[first ? 0 : 1])
        << x[x.rank() - 1] << labels[labels.rank() - 1] << q.op->attr("blank").AsInt()
        << q.op->attr("zero_infinity").AsBool() << first;
}

bool IsDense(const KernelQuery& q) {
  return q.in[0]->shape().rank() == 3 && q.in[1]->shape().rank() == 2;
}
// Enough for the longest utterance that the shapes allow; ragged ones allocate.
template <bool kGradient>
size_t ReferenceScratch(const KernelQuery& q) {
  if (!IsDense(q)) return 0;
  const CtcSizes s = q.sizes->As<CtcSizes>();
  return static_cast<size_t>((kGradient ? s.steps + 4 : 2) * (2 * s.labels + 1)) * sizeof(double);
}
template <bool kGradient>
size_t VectorScratch(const KernelQuery& q) {
  if (!IsDense(q)) return 0;
  const CtcSizes s = q.sizes->As<CtcSizes>();
  const int64_t rows = kGradient ? std::max<int64_t>(3, s.steps) : 2;
  return static_cast<size_t>(std::min(s.batch, kMostLanes) *
                             CtcLane::Floats(rows, s.steps, s.labels)) *
         sizeof(float);
}

template <bool kGradient>
void AddKernels(OpBuilder& op) {
  op.Reference(kGradient ? "CtcGrad" : "Ctc", kGradient ? GradReference : LossReference);
  op.def().kernels.back().scratch = ReferenceScratch<kGradient>;
  Kernel kernel = FastKernel("vector", kGradient ? GradVector : LossVector, IsF32);
  kernel.scratch = VectorScratch<kGradient>;
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedCtc>();
    prepared->kernels = &FindKernels(q.isa);
    return prepared;
  };
  op.Fast(kernel).Cost([](const KernelQuery& q) {
    const CtcSizes s = q.sizes->As<CtcSizes>();
    const double states = static_cast<double>(s.steps * s.batch * (2 * s.labels + 1));
    return OpCost{(kGradient ? 100 : 40) * states, 4.0 * static_cast<double>(q.in[0]->size())};
  });
}

OpBuilder& AddOptions(OpBuilder& op) {
  return op.OptionalIn("input_lengths", "i32 or i64 [N]: how many of the steps count")
      .OptionalIn("label_lengths", "i32 or i64 [N]: how many of the labels count")
      .WithAttr("blank", AttrKind::kInt, 0, "the class of the blank")
      .WithAttr("zero_infinity", AttrKind::kBool, false,
                "whether labels that cannot be aligned lose 0 and not infinity")
      .WithAttr("batch_first", AttrKind::kBool, false, "whether log_probs is [N, T, C]")
      .Traits(RaggedTraits())
      .Sizes("CtcSizes", FillSizes);
}

std::vector<NamedAttr> OptionsOf(const GradContext& c) {
  return {{"blank", c.attr("blank")},
          {"zero_infinity", c.attr("zero_infinity")},
          {"batch_first", c.attr("batch_first")}};
}

}  // namespace

void DefineCtcLoss(OpSet& ops) {
  OpBuilder op = ops.Define("ctc_loss");
  op.Group("loss")
      .Doc(
          "For each utterance minus the logarithm of the probability that its steps spell the "
          "labels, summed over all alignments with blanks and repetitions. No labels: the "
          "probability of blanks alone. Labels that cannot be aligned (fewer steps than labels "
          "and repeated labels need) lose infinity, or 0 with zero_infinity; their gradient is 0. "
          "Ragged log_probs [N, *T, C] and labels [N, *S] need no lengths. A label that is blank "
          "or no class is an error.")
      .Formula(
          "y[n] = -log(sum over alignments a of labels[n] of prod_t exp(log_probs[t, n, a_t]))")
      .In("log_probs", "[T, N, C], such as log_softmax gives; or [N, *T, C]")
      .In("labels", "integers [N, S] or [N, *S]")
      .Label("labels", {.low = 0, .classes_of = 0});
  AddOptions(op)
      .Infer([](InferContext& c) {
        Dim batch;
        if (WantUtterances(c, kLoss, &batch)) {
          c.SetResult(Type::Tensor(c.type(0).dtype(), {batch}));
        }
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var inputs = c.has_operand(2) ? c.operand(2) : Var();
        const Var labels = c.has_operand(3) ? c.operand(3) : Var();
        c.SetGrad(
            0, c.emit().Emit("ctc_loss_grad",
                             {c.operand(0), c.operand(1), c.grad(), inputs, labels}, OptionsOf(c)));
      });
  AddKernels<false>(op);
  op.AddSample({.inputs = {Floats({3, 1, 2}, {-0.5, -1, -1, -0.5, -0.7, -0.7}), Ints({1, 1}, {1})}})
      .AddSample({.inputs = {Uniform({7, 3, 5}, -3, 0), Ints({3, 3}, {1, 2, 3, 4, 4, 1, 2, 2, 2}),
                             Ints({3}, {7, 6, 5}), Ints({3}, {3, 2, 0})}})
      .AddSample({.inputs = {Uniform({3, 12, 21}, -4, 0), RandomInts({3, 5}, 0, 20, DType::kI32),
                             Tensor(), Ints({3}, {5, 1, 4}, DType::kI32)},
                  .attrs = {{"blank", 20}, {"batch_first", true}}})
      .AddSample({.inputs = {Uniform({2, 2, 3}, -3, 0), Ints({2, 2}, {1, 1, 1, 2})},
                  .check_gradient = false,
                  .note = "repeated labels that do not fit"})
      .AddSample(
          {.inputs = {Uniform({2, 2, 3}, -3, 0), Ints({2, 2}, {1, 1, 1, 2}), Ints({2}, {2, 0})},
           .attrs = {{"zero_infinity", true}}})
      .AddSample(
          {.inputs = {Uniform({4, 2, 3}, -3, 0), Empty({2, 0}, DType::kI64)}, .note = "no labels"})
      .AddSample({.inputs = {Empty({4, 0, 3}), Empty({0, 2}, DType::kI64)}})
      .AddSample({.inputs = {Empty({0, 2, 3}), Ints({2, 1}, {1, 2})}})
      .AddSample({.inputs = {Floats({2, 2, 2}, {-INFINITY, 0, NAN, NAN, 0, -INFINITY, NAN, NAN}),
                             Ints({2, 1}, {1, 1})},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({9, 4}, -3, 0), Ints({4}, {1, 1, 2, 3})},
                  .ragged_lengths = {{5, 0, 4}, {2, 0, 2}},
                  .note = "ragged"});
}

void DefineCtcLossGrad(OpSet& ops) {
  OpBuilder op = ops.Define("ctc_loss_grad");
  op.Group("loss")
      .Doc(
          "The gradient of ctc_loss at log_probs: minus the probability, given the labels, that "
          "the alignment has this class at this step.")
      .Formula("dx[t, n, c] = -dy[n] * p(a_t = c | labels[n])")
      .In("log_probs", "[T, N, C] or [N, *T, C]")
      .In("labels", "integers [N, S] or [N, *S]")
      .In("dy", "[N]");
  AddOptions(op)
      .Infer([](InferContext& c) {
        Dim batch;
        if (!WantUtterances(c, kGrad, &batch) || !c.WantFloat(2) || !c.WantRank(2, 1)) return;
        if (c.WantSameDType(0, 2) && c.Unify(batch, c.type(2).dim(0), "batches")) {
          c.SetResult(c.type(0));
        }
      })
      .NoGrad("the second derivative of ctc_loss is not provided");
  AddKernels<true>(op);
  op.AddSample({.inputs = {Floats({3, 1, 2}, {-0.5, -1, -1, -0.5, -0.7, -0.7}), Ints({1, 1}, {1}),
                           Floats({1}, {1})}})
      .AddSample({.inputs = {Uniform({7, 3, 5}, -3, 0), Ints({3, 3}, {1, 2, 3, 4, 4, 1, 2, 2, 2}),
                             Uniform({3}, -1, 1, 2), Ints({3}, {7, 6, 5}), Ints({3}, {3, 2, 0})}})
      .AddSample({.inputs = {Uniform({20, 30, 9}, -4, 0), RandomInts({20, 8}, 1, 9),
                             Uniform({20}, -1, 1, 2)},
                  .attrs = {{"batch_first", true}},
                  .note = "more utterances than lanes"})
      .AddSample(
          {.inputs = {Uniform({2, 2, 3}, -3, 0), Ints({2, 2}, {1, 1, 1, 2}), Floats({2}, {1, 1})}})
      .AddSample({.inputs = {Empty({0, 2, 3}), Ints({2, 1}, {1, 2}), Floats({2}, {1, 1})}})
      .AddSample(
          {.inputs = {Uniform({9, 4}, -3, 0), Ints({4}, {1, 1, 2, 3}), Uniform({3}, -1, 1, 2)},
           .ragged_lengths = {{5, 0, 4}, {2, 0, 2}, {}},
           .note = "ragged"});
}

}  // namespace catamaran
