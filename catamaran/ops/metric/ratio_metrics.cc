// ops/metric/ratio_metrics.cc
//
// Metrics of single numbers that are a sum over its weight: binary_accuracy, log_loss, calibration,
// running_mean, running_mse and running_mae. ratio_value gives the number.

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct RatioSizes {
  int64_t count;
  double threshold;
};

// accumulator + [sum of w term(p, l), sum of w unit(p, l)]; null weights are 1.
template <class T, class L, class Term, class Unit>
void AccumulateRatio(const double* accumulator, const T* prediction, const L* label,
                     const T* weight, double* y, int64_t count, Term term, Unit unit) {
  double sum = 0, total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double w = weight ? static_cast<double>(weight[i]) : 1.0;
    const double p = static_cast<double>(prediction[i]), l = static_cast<double>(label[i]);
    sum += w * term(p, l);
    total += w * unit(p, l);
  }
  y[0] = accumulator[0] + sum;
  y[1] = accumulator[1] + total;
}

inline double RatioOne(double, double) { return 1.0; }

// NaN is on no side.
template <class T, class L>
void BinaryAccuracy(const double* accumulator, const T* prediction, const L* label, const T* weight,
                    double* y, const RatioSizes& s) {
  const double at = s.threshold;
  const auto right = [at](double p, double l) { return (l > 0.5 ? p >= at : p < at) ? 1.0 : 0.0; };
  AccumulateRatio(accumulator, prediction, label, weight, y, s.count, right, RatioOne);
}

// As binary_cross_entropy, which keeps p from 0 and 1.
template <class T, class L>
void LogLoss(const double* accumulator, const T* prediction, const L* label, const T* weight,
             double* y, const RatioSizes& s) {
  const auto loss = [](double p, double l) {
    const double q = p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
    if (l * (1 - l) == 0.0) return -std::log(l == 1.0 ? q : 1 - q);
    return -(l * std::log(q) + (1 - l) * std::log1p(-q));
  };
  AccumulateRatio(accumulator, prediction, label, weight, y, s.count, loss, RatioOne);
}

template <class T, class L>
void Calibration(const double* accumulator, const T* prediction, const L* label, const T* weight,
                 double* y, const RatioSizes& s) {
  AccumulateRatio(
      accumulator, prediction, label, weight, y, s.count, [](double p, double) { return p; },
      [](double, double l) { return l; });
}

template <class T>
void RunningMean(const double* accumulator, const T* x, const T* weight, double* y,
                 const RatioSizes& s) {
  AccumulateRatio(
      accumulator, x, x, weight, y, s.count, [](double p, double) { return p; }, RatioOne);
}

template <class T, class L>
void RunningMse(const double* accumulator, const T* prediction, const L* label, const T* weight,
                double* y, const RatioSizes& s) {
  AccumulateRatio(
      accumulator, prediction, label, weight, y, s.count,
      [](double p, double l) { return (p - l) * (p - l); }, RatioOne);
}

template <class T, class L>
void RunningMae(const double* accumulator, const T* prediction, const L* label, const T* weight,
                double* y, const RatioSizes& s) {
  AccumulateRatio(
      accumulator, prediction, label, weight, y, s.count,
      [](double p, double l) { return std::fabs(p - l); }, RatioOne);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RatioSizes;

// A kernel of a metric with the operands accumulator, prediction, label and weight.
#define CATAMARAN_RATIO_KERNEL(name)                                                \
  KernelStatus Run##name(KernelContext& c) {                                        \
    const RatioSizes s = WithCount<RatioSizes>(c, 1);                               \
    ForNumberLabels(c, 1, 2, [&]<class T, class L>(T, L) {                          \
      reference::name(c.in(0).data<double>(), c.in(1).data<T>(), c.in(2).data<L>(), \
                      WeightData<T>(c, 3), c.out().data<double>(), s);              \
    });                                                                             \
    return KernelStatus::kDone;                                                     \
  }
CATAMARAN_RATIO_KERNEL(BinaryAccuracy)
CATAMARAN_RATIO_KERNEL(LogLoss)
CATAMARAN_RATIO_KERNEL(Calibration)
CATAMARAN_RATIO_KERNEL(RunningMse)
CATAMARAN_RATIO_KERNEL(RunningMae)
#undef CATAMARAN_RATIO_KERNEL

KernelStatus RunRunningMean(KernelContext& c) {
  const RatioSizes s = WithCount<RatioSizes>(c, 1);
  DispatchFloating(
      c.in(1).tensor.dtype,
      [&]<class T>(T) {
        reference::RunningMean(c.in(0).data<double>(), c.in(1).data<T>(), WeightData<T>(c, 2),
                               c.out().data<double>(), s);
      },
      "running_mean");
  return KernelStatus::kDone;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const bool has = q.op->def().FindArg("threshold") != nullptr;
  words << q.in[1]->size() << (has ? q.op->attr("threshold").AsDouble() : 0.0);
}

OpBuilder DefineRatio(OpSet& ops, const char* name, const char* reference, KernelFn run,
                      bool probabilities) {
  OpBuilder op = ops.Define(name);
  op.Group("metric")
      .In("accumulator", kRatioDoc)
      .In("prediction", probabilities ? "probabilities of any shape" : "of any shape")
      .In("label", "as prediction; its dtype, bool or an integer")
      .OptionalIn("weight", kWeightDoc)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 2) && WantNumberLabel(c, 1, 2) && WantWeight(c, 1, 2, 3)) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("RatioSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference(reference, run);
  const Tensor start = Floats({2}, {0, 0}, DType::kF64), later = Floats({2}, {5, 8}, DType::kF64);
  op.AddSample({.inputs = {start, Floats({4}, {0.9, 0.2, 0.6, 0.3}), Floats({4}, {1, 0, 0, 1})}})
      .AddSample({.inputs = {later, Uniform({5, 3}, 0, 1), Uniform({5, 3}, 0, 1, 2),
                             Uniform({5, 3}, 0, 2, 3)}})
      .AddSample(
          {.inputs = {later, Uniform({9}, 0, 1),
                      Bools({9}, {true, false, true, true, false, false, true, false, true})}})
      .AddSample({.inputs = {later, Uniform({3}, 0, 1), Ints({3}, {1, 0, 1}, DType::kI32)}})
      .AddSample({.inputs = {later, Empty({0, 3}), Empty({0, 3})}})
      .AddSample({.inputs = {later, Floats({4}, {NAN, 0, 1, 1.5}), Floats({4}, {1, 1, 0, 1})},
                  .note = "NaN"})
      .AddSample({.inputs = {later, Uniform({5}, 0, 1), Ints({5}, {1, 0, 1, 1, 0})},
                  .ragged_lengths = {{}, {2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
  return op;
}

}  // namespace

void DefineBinaryAccuracy(OpSet& ops) {
  DefineRatio(ops, "binary_accuracy", "BinaryAccuracy", RunBinaryAccuracy, true)
      .WithAttr("threshold", AttrKind::kFloat, 0.5, "predictions from here on are positive")
      .Doc(
          "Counts the predictions that are on the side of the threshold that their label (above "
          "0.5 or not) says. A NaN prediction is wrong. ratio_value gives the accuracy.")
      .Formula("y = accumulator + [sum of w [p is right], sum of w]")
      .AddSample({.inputs = {Floats({2}, {0, 0}, DType::kF64), Floats({3}, {-1, 0, 2}),
                             Floats({3}, {0, 1, 1})},
                  .attrs = {{"threshold", 0.0}}});
}

void DefineLogLoss(OpSet& ops) {
  DefineRatio(ops, "log_loss", "LogLoss", RunLogLoss, true)
      .Doc(
          "Adds up the binary cross entropies of predictions, which are brought into "
          "[1e-7, 1 - 1e-7] first. NaN stays NaN. ratio_value gives the log loss.")
      .Formula("y = accumulator + [-sum of w (l log(p) + (1 - l) log(1 - p)), sum of w]");
}

void DefineCalibration(OpSet& ops) {
  DefineRatio(ops, "calibration", "Calibration", RunCalibration, true)
      .Doc(
          "Adds up predictions and labels. ratio_value gives the mean prediction over the mean "
          "label: 1 where predictions are right on average. NaN stays NaN.")
      .Formula("y = accumulator + [sum of w p, sum of w l]");
}

void DefineRunningMean(OpSet& ops) {
  ops.Define("running_mean")
      .Group("metric")
      .Doc("Adds up numbers. ratio_value gives their mean. NaN stays NaN.")
      .Formula("y = accumulator + [sum of w x, sum of w]")
      .In("accumulator", kRatioDoc)
      .In("x", "of any shape, such as losses")
      .OptionalIn("weight", "as x; 1 where left out")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 2) && c.WantFloat(1) && WantWeight(c, 1, 1, 2)) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("RatioSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("RunningMean", RunRunningMean)
      .AddSample({.inputs = {Floats({2}, {6, 3}, DType::kF64), Floats({3}, {1, 2, 4})}})
      .AddSample({.inputs = {Floats({2}, {6, 3}, DType::kF64), Uniform({4, 3}, -1, 1),
                             Uniform({4, 3}, 0, 2, 2)}})
      .AddSample({.inputs = {Floats({2}, {6, 3}, DType::kF64), Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Floats({2}, {6, 3}, DType::kF64), Empty({0})}})
      .AddSample({.inputs = {Floats({2}, {6, 3}, DType::kF64), Floats({2}, {NAN, 1})}});
}

void DefineRunningMse(OpSet& ops) {
  DefineRatio(ops, "running_mse", "RunningMse", RunRunningMse, false)
      .Doc("Adds up squared errors. ratio_value gives the mean squared error. NaN stays NaN.")
      .Formula("y = accumulator + [sum of w (p - l)^2, sum of w]");
}

void DefineRunningMae(OpSet& ops) {
  DefineRatio(ops, "running_mae", "RunningMae", RunRunningMae, false)
      .Doc("Adds up absolute errors. ratio_value gives the mean absolute error. NaN stays NaN.")
      .Formula("y = accumulator + [sum of w |p - l|, sum of w]");
}

}  // namespace catamaran
