// Walks the op set. For every op, sample and dtype: the type rule against the real result, every
// kernel against the reference, the gradient against finite differences in f64, and the program
// around the op through its stored form. An op without samples fails.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/proto.h"
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

// Ops that live in a program with state or control flow have tests of their own.
bool NeedsExecutor(const OpDef& def) {
  if (def.traits.structural || def.traits.effect || def.traits.reads_state ||
      def.traits.mutates_first) {
    return true;
  }
  for (const ArgSpec& arg : def.args) {
    if (arg.kind == ArgKind::kState || arg.kind == ArgKind::kStates) return true;
  }
  return false;
}

// Samples are tensors: ops on rows and stacks, which no tensor can stand for, have tests of their
// own too.
bool WorksOnRows(const OpDef& def) {
  return def.traits.holds_operands || def.name.starts_with("rows_") ||
         def.name.starts_with("stack_");
}

bool Computes(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// One sample in one precision: a program whose only function is the op around its inputs.
class OpCase {
 public:
  // f32 inputs are given in the dtype `floats`.
  OpCase(const OpDef& def, const Sample& sample, DType floats)
      : program_("sample", AllOps()), sample_(sample) {
    auto owned = std::make_unique<Function>();
    owned->name = "f";
    owned->typed = true;
    function_ = program_.items.Add(std::move(owned));
    std::vector<Value*> operands;
    const size_t values = static_cast<size_t>(def.num_value_args());
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      Tensor tensor = sample.inputs[i];
      const bool optional = i < values && IsOptional(def, i);
      if (optional && tensor.raw_data() == nullptr && tensor.num_elements() == 0) {
        operands.push_back(nullptr);
        continue;
      }
      if (tensor.dtype() == DType::kF32) tensor = Cast(tensor, floats);
      const std::vector<int64_t> lengths =
          i < sample.ragged_lengths.size() ? sample.ragged_lengths[i] : std::vector<int64_t>();
      operands.push_back(function_->body().AddArg(fmt::format("in{}", i), TypeOf(tensor, lengths)));
      function_->order.push_back(false);  // no static argument
      arguments_.push_back({tensor, lengths});
    }
    while (!operands.empty() && operands.back() == nullptr)
      operands.pop_back();  // as the text has it
    emitter_ = std::make_unique<Emitter>(program_, *function_, function_->body());
    const int results = def.num_results < 0 ? sample.num_results : def.num_results;
    op_ = emitter_->EmitOp(def, {operands, sample.attrs, {}, {}, results}, {});
  }

  Program& program() { return program_; }
  Function& function() { return *function_; }
  Op& op() { return *op_; }
  Emitter& emit() { return *emitter_; }
  std::vector<RunnerValue>& arguments() { return arguments_; }

  // Ends the function; it returns the op's results and then `more`.
  void Return(std::vector<Value*> more = {}) {
    std::vector<Value*> values;
    for (int i = 0; i < op_->num_results(); ++i) values.push_back(op_->result(i));
    values.insert(values.end(), more.begin(), more.end());
    emitter_->EmitOp(program_.ops().Get("return"), {values, {}, {}, {}, 0}, {});
    for (Value* value : values) function_->results.push_back({"", value->type});
  }

  RunnerValue ValueLike(const Type& type, const Tensor& tensor) const {
    RunnerValue value{tensor, {}};
    if (type.is_ragged()) {
      for (int i = 0; i < function_->num_params(); ++i) {
        const Type& param = function_->param(i)->type;
        if (param.is_ragged() && param.ragged_name() == type.ragged_name()) {
          value.lengths = arguments_[static_cast<size_t>(i)].lengths;
        }
      }
    }
    return value;
  }

 private:
  static bool IsOptional(const OpDef& def, size_t operand) {
    size_t k = 0;
    for (const ArgSpec& arg : def.args) {
      if (arg.kind != ArgKind::kValue && arg.kind != ArgKind::kOptional) continue;
      if (k++ == operand) return arg.kind == ArgKind::kOptional;
    }
    return false;
  }

  // Equal lengths mean the same ragged dimension.
  Type TypeOf(const Tensor& tensor, const std::vector<int64_t>& lengths) {
    std::vector<Dim> dims;
    for (int64_t dim : tensor.shape()) dims.push_back(dim);
    if (lengths.empty()) return Type::Tensor(tensor.dtype(), std::move(dims));
    size_t which = 0;
    while (which < ragged_.size() && ragged_[which] != lengths) ++which;
    if (which == ragged_.size()) ragged_.push_back(lengths);
    dims[0] = Dim::Name(fmt::format("T{}", which));
    dims.insert(dims.begin(), Dim(static_cast<int64_t>(lengths.size())));
    return Type::Tensor(tensor.dtype(), std::move(dims), 1);
  }

  Program program_;
  const Sample& sample_;
  Function* function_ = nullptr;
  Op* op_ = nullptr;
  std::unique_ptr<Emitter> emitter_;
  std::vector<RunnerValue> arguments_;
  std::vector<std::vector<int64_t>> ragged_;
};

bool ReturnsTensorsOnly(const Op& op) {
  for (int i = 0; i < op.num_results(); ++i) {
    if (!op.result(i)->type.is_tensor()) return false;
  }
  return true;
}

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
  EXPECT_FALSE(def().kernels.empty());
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
    OpCase c(def(), sample, in_double ? DType::kF64 : DType::kF32);
    if (!ReturnsTensorsOnly(c.op())) return;
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
      OpCase single(def(), rounded, DType::kF32), halves(def(), rounded, half);
      if (!ReturnsTensorsOnly(single.op())) return;
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
    OpCase plain(def(), sample, DType::kF64), derived(def(), sample, DType::kF64);
    if (!ReturnsTensorsOnly(plain.op())) return;
    plain.Return();
    RunnerOptions options;
    options.kernel = "reference";

    // In the derived function, the gradients that arrive at the results are further arguments.
    const std::vector<Tensor> results = RunStraight(plain.function(), plain.arguments(), options);
    std::vector<Tensor> weights;
    std::vector<Var> arriving;
    Op& op = derived.op();
    for (int i = 0; i < op.num_results(); ++i) {
      const Tensor& y = results[static_cast<size_t>(i)];
      weights.push_back(Cast(Uniform(y.shape(), 0.5, 1.5, 90 + i), DType::kF64));
      if (y.dtype() != DType::kF64) {
        arriving.push_back({});
        continue;
      }
      const Type& type = op.result(i)->type;
      derived.arguments().push_back(derived.ValueLike(type, weights.back()));
      arriving.push_back(
          derived.emit().Wrap(derived.function().body().AddArg(fmt::format("g{}", i), type)));
    }
    std::vector<bool> wanted;
    bool any = false;
    for (int i = 0; i < op.num_operands(); ++i) {
      const Value* operand = op.operand(i);  // an argument, unless it is a default
      wanted.push_back(operand && operand->owner() && operand->type.dtype() == DType::kF64);
      any |= wanted.back();
    }
    bool flows = false;
    for (const Var& g : arriving) flows |= static_cast<bool>(g);
    if (!any || !flows) return;
    GradContext context(derived.emit(), op, arriving, wanted);
    op.def().grad(context);

    std::vector<Value*> returned;
    std::vector<int> position(static_cast<size_t>(op.num_operands()), -1);
    for (int i = 0; i < op.num_operands(); ++i) {
      const Var grad = context.grads()[static_cast<size_t>(i)];
      if (!grad || !wanted[static_cast<size_t>(i)]) continue;
      if (!grad.type().is_tensor()) return;  // rows have tests of their own
      EXPECT_EQ(grad.type().ToString(), op.operand(i)->type.ToString())
          << "the gradient of operand " << i;
      position[static_cast<size_t>(i)] = op.num_results() + static_cast<int>(returned.size());
      returned.push_back(grad.value());
    }
    derived.Return(returned);
    const std::vector<Tensor> all = RunStraight(derived.function(), derived.arguments(), options);

    size_t argument = 0;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (!op.operand(i) || !op.operand(i)->owner()) continue;
      const size_t at = argument++;
      if (!wanted[static_cast<size_t>(i)]) continue;
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
    OpCase c(def(), sample, in_double ? DType::kF64 : DType::kF32);
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
    OpCase c(def(), sample, in_double ? DType::kF64 : DType::kF32);
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
