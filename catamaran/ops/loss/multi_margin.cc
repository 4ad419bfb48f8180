// ops/loss/multi_margin.cc
//
// multi_margin(scores, labels): what the score of the right class lacks to be a margin above each
// of the others; and its gradient as an op.

#include "catamaran/ops/loss/loss.h"

// reference-begin
namespace catamaran::reference {

struct MultiMarginSizes {
  int64_t rows, width, power;
  double margin;
};

template <class T, class I>
void MultiMargin(const T* scores, const I* labels, T* y, const MultiMarginSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, scores += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    T sum = T(0);
    for (int64_t j = 0; j < s.width; ++j) {
      const T lack = static_cast<T>(s.margin) - scores[label] + scores[j];
      if (j != label && !(lack <= T(0))) sum += s.power == 1 ? lack : lack * lack;
    }
    y[r] = sum / static_cast<T>(s.width);
  }
}

template <class T, class I>
void MultiMarginGrad(const T* scores, const I* labels, const T* dy, T* dx,
                     const MultiMarginSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, scores += s.width, dx += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    const T scale = dy[r] / static_cast<T>(s.width);
    T sum = T(0);
    for (int64_t j = 0; j < s.width; ++j) {
      const T lack = static_cast<T>(s.margin) - scores[label] + scores[j];
      dx[j] = T(0);
      if (j != label && !(lack <= T(0))) dx[j] = s.power == 1 ? scale : T(2) * lack * scale;
      sum += dx[j];
    }
    if (s.width > 0) dx[label] = -sum;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::MultiMarginSizes;

template <class F>
KernelStatus ForTypes(const KernelContext& c, F&& f) {
  MultiMarginSizes s = c.sizes<MultiMarginSizes>();
  s.rows = RowCount(c, 0);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(1).data<I>(), s.rows, s.width);
        DispatchFloating(
            c.in(0).tensor.dtype, [&]<class T>(T) { f(T{}, I{}, s); }, "multi_margin");
      },
      "multi_margin");
  return KernelStatus::kDone;
}
KernelStatus RunLoss(KernelContext& c) {
  return ForTypes(c, [&]<class T, class I>(T, I, const MultiMarginSizes& s) {
    reference::MultiMargin(c.in(0).data<T>(), c.in(1).data<I>(), c.out().data<T>(), s);
  });
}
KernelStatus RunGrad(KernelContext& c) {
  return ForTypes(c, [&]<class T, class I>(T, I, const MultiMarginSizes& s) {
    reference::MultiMarginGrad(c.in(0).data<T>(), c.in(1).data<I>(), c.in(2).data<T>(),
                               c.out().data<T>(), s);
  });
}

OpBuilder& AddOptions(OpBuilder& op) {
  return op.WithAttr("margin", AttrKind::kFloat, 1.0, "how far above the others is enough")
      .WithAttr("p", AttrKind::kInt, 1, "1, or 2 to square what is lacking")
      .Traits(RowwiseTraits())
      .Sizes("MultiMarginSizes", [](const KernelQuery& q, Words& words) {
        const int64_t width = LastDim(*q.in[0]);
        words << RowsOf(*q.in[0], width) << width << q.op->attr("p").AsInt()
              << q.op->attr("margin").AsDouble();
      });
}

bool WantOperands(InferContext& c) {
  const int64_t p = c.op().attr("p").AsInt();
  if (p != 1 && p != 2) return c.Fail("p is 1 or 2");
  return WantScores(c, 0) && WantClasses(c, 0, 1);
}

}  // namespace

void DefineMultiMargin(OpSet& ops) {
  OpBuilder op = ops.Define("multi_margin");
  op.Group("loss")
      .Doc(
          "For each row what the score of the right class lacks to be a margin above each of the "
          "others, added up and divided by the number of classes. A label that is no class is an "
          "error.")
      .Formula("y[n] = sum over j != l of max(0, margin - x[n, l] + x[n, j])^p / C, l = labels[n]")
      .In("scores", "[…, C]")
      .In("labels", "integers […], each in [0, C)")
      .Label("labels", {.low = 0, .classes_of = 0});
  AddOptions(op)
      .Infer([](InferContext& c) {
        if (WantOperands(c)) c.SetResult(WithoutLastAxis(c.type(0)));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("multi_margin_grad", {c.operand(0), c.operand(1), c.grad()},
                                   {{"margin", c.attr("margin")}, {"p", c.attr("p")}}));
      })
      .Reference("MultiMargin", RunLoss)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 2.5, 0, 3, 1}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {Uniform({4, 5}, -1, 1), Ints({4}, {4, 0, 2, 0}, DType::kI32)},
                  .attrs = {{"margin", 0.5}, {"p", 2}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1), RandomInts({2, 3}, 0, 4, DType::kU64)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Floats({2, 2}, {NAN, 1, 1, NAN}), Ints({2}, {0, 0})},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6}, 0, 3)},
                  .ragged_lengths = {{2, 0, 4}, {2, 0, 4}}});
}

void DefineMultiMarginGrad(OpSet& ops) {
  OpBuilder op = ops.Define("multi_margin_grad");
  op.Group("loss")
      .Doc("The gradient of multi_margin at its scores.")
      .Formula("dx[n, j] = dy[n] p max(0, margin - x[n, l] + x[n, j])^(p - 1) / C for j != l")
      .In("scores", "[…, C]")
      .In("labels", "integers […]")
      .In("dy", "[…]");
  AddOptions(op)
      .Infer([](InferContext& c) {
        if (WantOperands(c) && WantRowGradient(c, 0, 2)) c.SetResult(c.type(0));
      })
      .NoGrad("the second derivative of multi_margin is not provided")
      .Reference("MultiMarginGrad", RunGrad)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 2.5, 0, 3, 1}), Ints({2}, {2, 0}),
                             Floats({2}, {1, 1})}})
      .AddSample({.inputs = {Uniform({4, 5}, -1, 1), Ints({4}, {4, 0, 2, 0}, DType::kI32),
                             Uniform({4}, -1, 1, 2)},
                  .attrs = {{"margin", 0.5}, {"p", 2}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64), Empty({0})}});
}

}  // namespace catamaran
