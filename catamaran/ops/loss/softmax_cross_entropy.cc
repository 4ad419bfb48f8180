// ops/loss/softmax_cross_entropy.cc
//
// softmax_cross_entropy(logits, labels): minus the logarithm of the probability that softmax gives
// to the right class; and its gradient as an op.

#include "catamaran/ops/row_kernels.h"

// reference-begin
namespace catamaran::reference {

struct CrossEntropySizes {
  int64_t rows, width;
};

// A label outside of [0, width) gives NaN.
template <class T, class I>
void SoftmaxCrossEntropy(const T* logits, const I* labels, T* y, const CrossEntropySizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, logits += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if (label < 0 || label >= s.width) {
      y[r] = static_cast<T>(NAN);
      continue;
    }
    T max = logits[0];
    for (int64_t i = 1; i < s.width; ++i) max = std::max(max, logits[i]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) sum += std::exp(logits[i] - max);
    y[r] = max + std::log(sum) - logits[label];
  }
}

template <class T, class I>
void SoftmaxCrossEntropyGrad(const T* logits, const I* labels, const T* dy, T* dx,
                             const CrossEntropySizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, logits += s.width, dx += s.width) {
    T max = logits[0];
    for (int64_t i = 1; i < s.width; ++i) max = std::max(max, logits[i]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) {
      dx[i] = std::exp(logits[i] - max);
      sum += dx[i];
    }
    const int64_t label = static_cast<int64_t>(labels[r]);
    for (int64_t i = 0; i < s.width; ++i) dx[i] = dy[r] * (dx[i] / sum - T(i == label));
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::CrossEntropySizes;

// Classes may be given as any integer type.
template <class F>
void ForTypes(const KernelContext& c, F&& f) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        DispatchIndex(
            c.in(1).tensor.dtype, [&]<class I>(I) { f(T{}, I{}); }, "softmax_cross_entropy");
      },
      "softmax_cross_entropy");
}

template <class I>
void CheckLabels(const I* labels, int64_t count, int64_t classes) {
  for (int64_t r = 0; r < count; ++r) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if (label < 0 || label >= classes) {
      Fail("label {} of example {} is not one of the {} classes", labels[r], r, classes);
    }
  }
}

KernelStatus LossReference(KernelContext& c) {
  const CrossEntropySizes& s = c.sizes<CrossEntropySizes>();
  ForTypes(c, [&]<class T, class I>(T, I) {
    CheckLabels(c.in(1).data<I>(), s.rows, s.width);
    reference::SoftmaxCrossEntropy(c.in(0).data<T>(), c.in(1).data<I>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}
KernelStatus LossVector(KernelContext& c) {
  const CrossEntropySizes& s = c.sizes<CrossEntropySizes>();
  const float* x = c.in(0).data<float>();
  float* y = c.out().data<float>();
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const I* labels = c.in(1).data<I>();
        CheckLabels(labels, s.rows, s.width);
        Split(c.pool, s.rows, 4 * s.width, [&](int64_t begin, int64_t end) {
          RowKernelsOf(c).log_sum_exp(x + begin * s.width, y + begin, end - begin, s.width);
          for (int64_t r = begin; r < end; ++r) y[r] -= x[r * s.width + int64_t(labels[r])];
        });
      },
      "softmax_cross_entropy");
  return KernelStatus::kDone;
}

KernelStatus GradReference(KernelContext& c) {
  const CrossEntropySizes& s = c.sizes<CrossEntropySizes>();
  ForTypes(c, [&]<class T, class I>(T, I) {
    reference::SoftmaxCrossEntropyGrad(c.in(0).data<T>(), c.in(1).data<I>(), c.in(2).data<T>(),
                                       c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}
KernelStatus GradVector(KernelContext& c) {
  const CrossEntropySizes& s = c.sizes<CrossEntropySizes>();
  const float* x = c.in(0).data<float>();
  const float* dy = c.in(2).data<float>();
  float* dx = c.out().data<float>();
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const I* labels = c.in(1).data<I>();
        Split(c.pool, s.rows, 5 * s.width, [&](int64_t begin, int64_t end) {
          RowKernelsOf(c).softmax(x + begin * s.width, dx + begin * s.width, end - begin, s.width);
          for (int64_t r = begin; r < end; ++r) {
            float* row = dx + r * s.width;
            const int64_t label = static_cast<int64_t>(labels[r]);
            if (label >= 0 && label < s.width) row[label] -= 1.0f;
            for (int64_t i = 0; i < s.width; ++i) row[i] *= dy[r];
          }
        });
      },
      "softmax_cross_entropy");
  return KernelStatus::kDone;
}

bool WantLogits(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantRank(0, 2) || !c.WantRank(1, 1)) return false;
  const DType labels = c.type(1).dtype();
  if (labels != DType::kI32 && labels != DType::kI64 && labels != DType::kU64) {
    return c.Fail("labels are i32, i64 or u64 class numbers, found " + std::string(Name(labels)));
  }
  return c.Unify(c.type(0).dim(0), c.type(1).dim(0), "batches");
}

void FillSizes(const KernelQuery& q, Words& words) {
  words << q.in[0]->shape()[0] << q.in[0]->shape()[1];
}

}  // namespace

void DefineSoftmaxCrossEntropy(OpSet& ops) {
  ops.Define("softmax_cross_entropy")
      .Group("loss")
      .Doc(
          "For each example minus the logarithm of the probability that softmax of its logits "
          "gives to its label. A label that is no class is an error.")
      .Formula("y[n] = log(sum over j of exp(logits[n, j])) - logits[n, labels[n]]")
      .In("logits", "[B, C]")
      .In("labels", "integer [B], each in [0, C)")
      .Infer([](InferContext& c) {
        if (WantLogits(c)) c.SetResult(Type::Tensor(c.type(0).dtype(), {c.type(0).dim(0)}));
      })
      .Sizes("CrossEntropySizes", FillSizes)
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(
            0, c.emit().Emit("softmax_cross_entropy_grad", {c.operand(0), c.operand(1), c.grad()}));
      })
      .Fast(VectorKernel(LossVector))
      .Reference("SoftmaxCrossEntropy", LossReference)
      .AddSample({.inputs = {Uniform({4, 3}, -2, 2), Ints({4}, {0, 2, 1, 1})}})
      .AddSample({.inputs = {Uniform({3, 37}, -20, 20), Ints({3}, {36, 0, 7}, DType::kI32)}})
      .AddSample({.inputs = {Floats({1, 2}, {1000, -1000}), Ints({1}, {0})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}});
}

void DefineSoftmaxCrossEntropyGrad(OpSet& ops) {
  ops.Define("softmax_cross_entropy_grad")
      .Group("loss")
      .Doc("The gradient of softmax_cross_entropy at its logits.")
      .Formula("dx[n, j] = dy[n] * (softmax(logits)[n, j] - (j == labels[n]))")
      .In("logits", "[B, C]")
      .In("labels", "integer [B]")
      .In("dy", "[B]")
      .Infer([](InferContext& c) {
        if (!WantLogits(c) || !c.WantFloat(2) || !c.WantRank(2, 1)) return;
        if (!c.WantSameDType(0, 2) || !c.Unify(c.type(0).dim(0), c.type(2).dim(0), "batches"))
          return;
        c.SetResult(c.type(0));
      })
      .Sizes("CrossEntropySizes", FillSizes)
      .Grad([](GradContext& c) {
        // With p = softmax(logits): d/dlogits is dy * (p's own gradient at u), d/ddy is the dot
        // product of u with what dy multiplies.
        Emitter& e = c.emit();
        const Var logits = c.operand(0), labels = c.operand(1), dy = c.operand(2), u = c.grad();
        const Dim batch = dy.type().dim(0);
        if (c.wanted(0)) {
          const Var p = e.Emit("softmax", {logits});
          const Var column = e.Emit("reshape", {dy}, {{"shape", Attr::Dims({batch, Dim(1)})}});
          c.SetGrad(0, e.Emit("softmax_grad", {p, u}) * column);
        }
        if (c.wanted(2)) {
          const Var one = e.Constant(1.0, dy.type().dtype());
          const Var ones = e.Emit("expand_like", {one, dy});
          const Var at_one = e.Emit("softmax_cross_entropy_grad", {logits, labels, ones});
          c.SetGrad(2, e.Emit("sum", {u * at_one}, {{"axes", Attr::Ints({1})}}));
        }
      })
      .Fast(VectorKernel(GradVector))
      .Reference("SoftmaxCrossEntropyGrad", GradReference)
      .AddSample(
          {.inputs = {Uniform({4, 3}, -2, 2), Ints({4}, {0, 2, 1, 1}), Uniform({4}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 40}, -9, 9), Ints({2}, {39, 0}), Uniform({2}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64), Empty({0})}});
}

}  // namespace catamaran
