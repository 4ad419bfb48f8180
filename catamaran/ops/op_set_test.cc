// Walks the op set. For every op, sample and dtype: the type rule against the real result, every
// kernel against the reference, the gradient against finite differences in f64, and the program
// around the op through its stored form. An op without samples fails.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ops/op_case.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

std::shared_ptr<const OpSet> AllOps() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto made = std::make_shared<OpSet>();
    DefineAllOps(*made);
    return made;
  }();
  return ops;
}

// Samples are tensors: ops on rows and stacks, which no tensor can stand for, have tests of their
// own too.
bool WorksOnRows(const OpDef& def) {
  return def.traits.holds_operands || def.name.starts_with("rows_") ||
         def.name.starts_with("stack_");
}

bool Computes(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

class EveryOp : public testing::TestWithParam<std::string> {
 protected:
  const OpDef& def() const { return AllOps()->Get(GetParam()); }

  // Calls visit(sample, in_double) for every sample in every precision that it has.
  template <class F>
  void ForEachSample(F visit) {
    int index = 0;
    for (const Sample& sample : def().samples) {
      bool has_float = false;
      for (const Tensor& tensor : sample.inputs) has_float |= tensor.dtype() == DType::kF32;
      for (bool in_double : {false, true}) {
        if (in_double && !has_float) continue;
        SCOPED_TRACE(fmt::format("{}, sample {} {}, {}", def().name, index, sample.note,
                                 in_double ? "f64" : "as given"));
        visit(sample, in_double);
      }
      ++index;
    }
  }
};

TEST_P(EveryOp, IsDocumentedAndHasSamples) {
  EXPECT_FALSE(def().doc.empty());
  EXPECT_FALSE(def().group.empty());
  const bool part_of_gradient = def().name.find("_grad") != std::string::npos;
  EXPECT_TRUE(part_of_gradient || !def().formula.empty());
  EXPECT_FALSE(def().kernels.empty());
  bool attribute = false;
  for (const ArgSpec& arg : def().args) {
    const bool value = arg.kind == ArgKind::kValue || arg.kind == ArgKind::kVariadic;
    EXPECT_FALSE(value && attribute) << arg.name << " cannot be given by position: attributes "
                                     << "stand before it";
    attribute = attribute || arg.kind == ArgKind::kAttr;
  }
  if (NeedsExecutor(def())) return;
  EXPECT_TRUE(!def().samples.empty() || WorksOnRows(def())) << "an op without samples";
  ASSERT_FALSE(def().kernels.empty());
  EXPECT_EQ(def().kernels.back().name, "reference");
  EXPECT_FALSE(def().kernels.back().supports) << "the reference takes everything";
}

TEST_P(EveryOp, HasAGradientOrSaysWhyNot) {
  const int ways = (def().grad != nullptr) + !def().no_grad.empty() + def().stops_grad;
  if (def().traits.effect) return;  // nothing flows out of a commit region
  EXPECT_EQ(ways, 1) << "one of Grad, NoGrad with a reason, StopsGrad";
}

TEST_P(EveryOp, TypeRuleAndKernelsAgreeWithTheReference) {
  if (NeedsExecutor(def())) return;
  ThreadPool pool(3);
  ForEachSample([&](const Sample& sample, bool in_double) {
    OpCase c(AllOps(), def(), sample, in_double ? DType::kF64 : DType::kF32);
    if (!c.ReturnsTensorsOnly()) return;
    c.Return();
    // The runner allocates what the type rule says; the reference writes all of it, or the
    // pattern that it finds there remains and the kernels differ.
    RunnerOptions reference;
    reference.kernel = "reference";
    const std::vector<Tensor> wanted = RunStraight(c.function(), c.arguments(), reference);
    for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
      for (const std::string& name :
           FittingKernels(c.function(), c.arguments(), static_cast<Isa>(isa))) {
        for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
          RunnerOptions options{static_cast<Isa>(isa), name, threads};
          const std::vector<Tensor> got = RunStraight(c.function(), c.arguments(), options);
          ASSERT_EQ(got.size(), wanted.size());
          for (size_t i = 0; i < got.size(); ++i) {
            const bool single = got[i].dtype() == DType::kF32;
            const double rtol = sample.tolerance > 0 ? sample.tolerance : single ? 1e-5 : 1e-12;
            if (Computes(got[i].dtype())) {
              EXPECT_TRUE(AllClose(got[i], wanted[i], rtol, rtol / 10, true))
                  << name << " for " << IsaName(options.isa) << " gives\n"
                  << got[i] << "\nthe reference\n"
                  << wanted[i];
            } else {
              EXPECT_TRUE(got[i].Equals(wanted[i]))
                  << name << " for " << IsaName(options.isa) << " gives\n"
                  << got[i] << "\nthe reference\n"
                  << wanted[i];
            }
          }
        }
      }
    }
  });
}

// f16 and bf16 go in and out; what lies between is computed in f32.
TEST_P(EveryOp, TakesHalvesAndComputesInSingle) {
  if (NeedsExecutor(def()) || WorksOnRows(def())) return;
  RunnerOptions options;
  options.isa = DetectIsa();
  for (const DType half : {DType::kF16, DType::kBF16}) {
    ForEachSample([&](const Sample& sample, bool in_double) {
      if (!in_double) return;  // once for each sample with f32
      SCOPED_TRACE(Name(half));
      Sample rounded = sample;
      for (Tensor& tensor : rounded.inputs) {
        if (tensor.dtype() == DType::kF32 && tensor.num_elements() > 0) {
          tensor = Cast(Cast(tensor, half), DType::kF32);
        }
      }
      OpCase single(AllOps(), def(), rounded, DType::kF32);
      OpCase halves(AllOps(), def(), rounded, half);
      if (!single.ReturnsTensorsOnly()) return;
      single.Return();
      halves.Return();
      const auto wanted = RunStraight(single.function(), single.arguments(), options);
      const auto got = RunStraight(halves.function(), halves.arguments(), options);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < got.size(); ++i) {
        if (!IsHalf(got[i].dtype())) continue;  // decided by a rounded number, or not a float
        const Tensor rounded_result = Cast(Cast(wanted[i], half), DType::kF32);
        const double rtol = half == DType::kF16 ? 0x1p-10 : 0x1p-7;
        EXPECT_TRUE(AllClose(Cast(got[i], DType::kF32), rounded_result, rtol, 1e-6, true))
            << got[i] << "\nrounded from\n"
            << wanted[i];
      }
    });
  }
}

// Sum over the float results of weight times element.
double WeightedSum(const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (results[i].dtype() != DType::kF64) continue;
    const auto y = results[i].data<double>();
    const auto w = weights[i].data<double>();
    for (size_t k = 0; k < y.size(); ++k) sum += y[k] * w[k];
  }
  return sum;
}

TEST_P(EveryOp, GradientAgreesWithFiniteDifferences) {
  if (NeedsExecutor(def()) || !def().grad) return;
  ForEachSample([&](const Sample& sample, bool in_double) {
    if (!in_double || !sample.check_gradient) return;
    OpCase plain(AllOps(), def(), sample, DType::kF64);
    OpCase derived(AllOps(), def(), sample, DType::kF64);
    if (!plain.ReturnsTensorsOnly()) return;
    plain.Return();
    RunnerOptions options;
    options.kernel = "reference";

    // In the derived function, the gradients that arrive at the results are further arguments.
    const std::vector<RunnerValue> results =
        RunStraightValues(plain.function(), plain.arguments(), options);
    std::vector<Tensor> weights;
    std::vector<RunnerValue> arriving = results;
    Op& op = derived.op();
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& shape = results[i].tensor.shape();
      weights.push_back(Cast(Uniform(shape, 0.5, 1.5, 90 + i), DType::kF64));
      arriving[i].tensor = weights[i];
    }
    const std::vector<Value*> gradients = derived.Differentiate(arriving);
    std::vector<Value*> returned;
    std::vector<int> position(gradients.size(), -1);
    bool flows = false;
    for (const RunnerValue& result : results) flows = flows || result.tensor.dtype() == DType::kF64;
    if (!flows) return;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i]) continue;
      if (!gradients[i]->type.is_tensor()) return;  // rows have tests of their own
      EXPECT_EQ(gradients[i]->type.ToString(), op.operand(static_cast<int>(i))->type.ToString())
          << "the gradient of operand " << i;
      position[i] = op.num_results() + static_cast<int>(returned.size());
      returned.push_back(gradients[i]);
    }
    derived.Return(returned);
    const std::vector<Tensor> all = RunStraight(derived.function(), derived.arguments(), options);

    size_t argument = 0;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (!op.operand(i) || !op.operand(i)->owner()) continue;
      const size_t at = argument++;
      if (op.operand(i)->type.dtype() != DType::kF64) continue;
      const Tensor x = plain.arguments()[at].tensor;
      const int64_t count = x.num_elements();
      const int64_t step = std::max<int64_t>(1, count / 48);
      for (int64_t k = 0; k < count; k += step) {
        const double h = 1e-5;
        const auto moved = [&](double by) {
          std::vector<RunnerValue> arguments = plain.arguments();
          arguments[at].tensor = x.Clone();
          arguments[at].tensor.mutable_data<double>()[static_cast<size_t>(k)] += by;
          return WeightedSum(RunStraight(plain.function(), arguments, options), weights);
        };
        const double numeric = (moved(h) - moved(-h)) / (2 * h);
        const int where = position[static_cast<size_t>(i)];
        const double symbolic =
            where < 0 ? 0.0
                      : all[static_cast<size_t>(where)].data<double>()[static_cast<size_t>(k)];
        const double tolerance = sample.tolerance > 0 ? std::max(sample.tolerance, 1e-6) : 1e-6;
        EXPECT_NEAR(symbolic, numeric, tolerance * (10 + std::fabs(numeric)))
            << "operand " << i << ", element " << k;
      }
    }
  });
}

TEST_P(EveryOp, SurvivesItsStoredForm) {
  if (NeedsExecutor(def())) return;
  ForEachSample([&](const Sample& sample, bool in_double) {
    OpCase c(AllOps(), def(), sample, in_double ? DType::kF64 : DType::kF32);
    c.Return();
    c.program().flat = true;
    const Program back = FromProtoBytes(ToProtoBytes(c.program()), AllOps(), "sample");
    std::string why;
    EXPECT_TRUE(Equal(c.program(), back, &why)) << why;
  });
}

TEST_P(EveryOp, SurvivesItsTextForm) {
  if (NeedsExecutor(def())) return;
  ForEachSample([&](const Sample& sample, bool in_double) {
    OpCase c(AllOps(), def(), sample, in_double ? DType::kF64 : DType::kF32);
    c.Return();
    c.function().results_declared = true;
    const std::string text = Print(c.program());
    const Program back = Parse(text, "sample.ctm", AllOps(), BuilderSet());
    EXPECT_EQ(Print(back), text);
    std::string why;
    EXPECT_TRUE(Equal(c.program(), back, &why)) << why << "\n" << text;
  });
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const OpDef* def : AllOps()->All()) {
    if (!def->traits.structural && def->name != "key") names.push_back(def->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace catamaran
