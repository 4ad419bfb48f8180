#include "catamaran/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ops/fused_formulas.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

// A function with one op on parameters of these types.
struct OneOp {
  OneOp(std::shared_ptr<const OpSet> ops, const std::string& name, std::vector<Type> types,
        std::vector<NamedAttr> attrs = {})
      : program("test", std::move(ops)) {
    auto owned = std::make_unique<Function>();
    owned->typed = true;
    owned->name = "f";
    function = program.items.Add(std::move(owned));
    std::vector<Value*> operands;
    for (Type& type : types) operands.push_back(function->body().AddArg("x", std::move(type)));
    Emitter emit(program, *function, function->body());
    op = emit.EmitOp(program.ops().Get(name), {operands, std::move(attrs), {}, {}, 1}, {});
    emit.EmitOp(program.ops().Get("return"), {{op->result()}, {}, {}, {}, 0}, {});
  }
  Program program;
  Function* function;
  Op* op;
};

class ElementwiseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ops = std::make_shared<OpSet>();
    DefineAllOps(*ops);
    ops_ = ops;
  }
  std::string ErrorOf(const std::string& name, std::vector<Type> types) {
    try {
      OneOp(ops_, name, std::move(types));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static Type F32(std::vector<Dim> dims) { return Type::Tensor(DType::kF32, std::move(dims)); }

  std::shared_ptr<const OpSet> ops_;
};

TEST_F(ElementwiseTest, ResultTypesBroadcast) {
  const Dim b = Dim::Name("B");
  EXPECT_EQ(OneOp(ops_, "add", {F32({b, 3}), F32({3})}).op->result()->type.ToString(), "f32[B, 3]");
  EXPECT_EQ(OneOp(ops_, "add", {F32({b, 1}), F32({b, 7})}).op->result()->type.ToString(),
            "f32[B, 7]");
  EXPECT_EQ(OneOp(ops_, "less", {F32({b}), F32({})}).op->result()->type.ToString(), "bool[B]");
}

TEST_F(ElementwiseTest, MistakesSayWhatWasFound) {
  EXPECT_THAT(ErrorOf("add", {F32({2}), F32({3})}), HasSubstr("add: dimensions differ: 2 and 3"));
  EXPECT_THAT(ErrorOf("add", {F32({2}), Type::Tensor(DType::kF64, {2})}),
              HasSubstr("add: dtypes differ: f32 and f64"));
  EXPECT_THAT(ErrorOf("exp", {Type::Tensor(DType::kI32, {2})}), HasSubstr("does not work on i32"));
  EXPECT_THAT(ErrorOf("neg", {Type::Tensor(DType::kU64, {2})}), HasSubstr("does not work on u64"));
  EXPECT_THAT(ErrorOf("logical_and", {F32({2}), F32({2})}), HasSubstr("must be bool"));
}

TEST_F(ElementwiseTest, AnOperandThatIsLeftOutIsItsDefaultInTheDtypeOfTheOthers) {
  OneOp leaky(ops_, "leaky_relu", {Type::Tensor(DType::kF64, {2})});
  ASSERT_EQ(leaky.op->num_operands(), 2);
  EXPECT_EQ(leaky.op->operand(1)->type.ToString(), "f64[]");
  EXPECT_EQ(leaky.op->operand(1)->def()->attr("value").AsDouble(), 0.01);
  EXPECT_THAT(Print(leaky.program), HasSubstr("leaky_relu(x, slope=0.01)"));

  // Infinity is the end of the integers.
  OneOp clip(ops_, "clip", {Type::Tensor(DType::kU64, {2})});
  const Tensor x = Tensor::From<uint64_t>({2}, {3, UINT64_MAX});
  const std::vector<RunnerValue> arguments = {{x, {}}};
  EXPECT_TRUE(RunStraight(*clip.function, arguments, {})[0].Equals(x));

  EXPECT_THAT(ErrorOf("leaky_relu", {Type::Tensor(DType::kI32, {2})}),
              HasSubstr("dtypes differ: i32 and f32"));
  EXPECT_THAT(ErrorOf("prelu", {F32({2})}), HasSubstr("needs the argument slope"));
}

TEST_F(ElementwiseTest, TextMayLeaveOutAnyDefault) {
  const char* text = R"(program p
fn f(x: f32[3]) -> (f32[3], f32[3], f32[3]) {
  return clip(x, max=6), clip(x, min=0), leaky_relu(x)
}
)";
  const Program program = Parse(text, "p.ctm", ops_, BuilderSet());
  EXPECT_THAT(Print(program), HasSubstr("clip(x, max=6), clip(x, min=0), leaky_relu(x)"));
  const Program flat = Flatten(program, BuilderSet());
  const std::string expanded = Print(flat);
  EXPECT_THAT(expanded, HasSubstr("clip(x, min=-inf, max=6), clip(x, min=0, max=inf)"));
  std::string why;
  EXPECT_TRUE(
      Equal(Flatten(Parse(expanded, "p.ctm", ops_, BuilderSet()), BuilderSet()), flat, &why))
      << why;
}

TEST_F(ElementwiseTest, TheSplitOverThreadsDoesNotChangeBits) {
  ThreadPool pool(4);
  for (const char* name : {"gelu", "tanh", "softplus"}) {
    OneOp one(ops_, name, {F32({100003})});
    const RunnerValue x[] = {{Uniform({100003}, -6, 6)}};
    const Tensor alone = RunStraight(*one.function, x, {DetectIsa(), "vector", nullptr}).at(0);
    const Tensor split = RunStraight(*one.function, x, {DetectIsa(), "vector", &pool}).at(0);
    EXPECT_TRUE(alone.Equals(split)) << name;
  }
  OneOp bias(ops_, "add", {F32({3001, 33}), F32({33})});
  const RunnerValue in[] = {{Uniform({3001, 33}, -6, 6)}, {Uniform({33}, -6, 6)}};
  EXPECT_TRUE(RunStraight(*bias.function, in, {DetectIsa(), "vector", nullptr})
                  .at(0)
                  .Equals(RunStraight(*bias.function, in, {DetectIsa(), "vector", &pool}).at(0)));
}

TEST_F(ElementwiseTest, HalvesAreWidenedPieceByPieceAndRoundedAsCastDoes) {
  ThreadPool pool(3);
  for (const DType half : {DType::kF16, DType::kBF16}) {
    // Every pattern of 16 bits, and a row that broadcasts.
    Tensor x = Tensor::Allocate(half, {256, 256});
    auto* bits = static_cast<uint16_t*>(x.mutable_raw_data());
    for (int i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
    const Tensor row = Cast(Uniform({256}, -3, 3), half);
    for (const char* name : {"mul", "silu", "less"}) {
      const bool two = std::string_view(name) != "silu";
      const auto types = [&](DType dtype) {
        std::vector<Type> list = {Type::Tensor(dtype, {256, 256})};
        if (two) list.push_back(Type::Tensor(dtype, {256}));
        return list;
      };
      OneOp narrow(ops_, name, types(half)), wide(ops_, name, types(DType::kF32));
      std::vector<RunnerValue> in = {{x, {}}}, wide_in = {{Cast(x, DType::kF32), {}}};
      if (two) {
        in.push_back({row, {}});
        wide_in.push_back({Cast(row, DType::kF32), {}});
      }
      Tensor wanted = RunStraight(*wide.function, wide_in, {Isa::kPlain, "vector", nullptr}).at(0);
      if (wanted.dtype() == DType::kF32) wanted = Cast(wanted, half);
      for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
        const Tensor got =
            RunStraight(*narrow.function, in, {static_cast<Isa>(isa), "vector", &pool}).at(0);
        EXPECT_EQ(got.dtype(), wanted.dtype());
        EXPECT_TRUE(AllClose(Cast(got, DType::kF32), Cast(wanted, DType::kF32), 0, 0, true))
            << name << " of " << Name(half) << " for " << IsaName(static_cast<Isa>(isa));
      }
    }
  }
}

// A formula that its op has changed would still be right, but slow: nothing else would tell.
TEST_F(ElementwiseTest, ActivationsThatModelsSpendTheirTimeInRunAsOneLoop) {
  for (const char* name : {"gelu", "gelu_tanh", "silu", "hard_swish"}) {
    EXPECT_NE(FindFusedFormula(*ops_->Get(name).scalar, Isa::kPlain, 0), nullptr) << name;
  }
  EXPECT_NE(FindFusedFormula(*ops_->Get("leaky_relu").scalar, Isa::kPlain, 2), nullptr);
  EXPECT_EQ(FindFusedFormula(*ops_->Get("leaky_relu").scalar, Isa::kPlain, 0), nullptr);
  EXPECT_EQ(FindFusedFormula(*ops_->Get("relu").scalar, Isa::kPlain, 0), nullptr);
}

// Prepares for one leading size and runs with others, as ragged totals ask for.
TEST_F(ElementwiseTest, APlanRunsWithAnyLeadingSizeUpToItsOwn) {
  for (const char* name : {"add", "mul", "where3"}) {
    const bool bias = std::string_view(name) != "where3";
    OneOp one(ops_, bias ? name : "maximum", {F32({8, 5}), F32({bias ? 5 : 1})});
    Slot x, y, out;
    x.tensor = {nullptr, DType::kF32, {8, 5}};
    y.tensor = {nullptr, DType::kF32, {bias ? 5 : 1}};
    out.tensor = {nullptr, DType::kF32, {8, 5}};
    Slot* in[] = {&x, &y};
    Slot* outs[] = {&out};
    KernelQuery query{one.op, in, outs, nullptr, DetectIsa()};
    const Kernel& kernel = one.op->def().kernels.front();
    ASSERT_EQ(kernel.name, "vector");
    const auto prepared = kernel.prepare(query);
    for (int64_t rows : {8, 3, 1, 0}) {
      const Tensor a = Uniform({rows, 5}, -1, 1), b = Uniform({bias ? 5 : 1}, -1, 1, 2);
      Tensor c = Tensor::Zeros(DType::kF32, {rows, 5});
      x.tensor = a.view();
      y.tensor = b.view();
      out.tensor = c.view();
      KernelContext context;
      context.ins = in;
      context.outs = outs;
      context.num_ins = 2;
      context.num_outs = 1;
      context.op = one.op;
      context.prepared = prepared.get();
      ASSERT_EQ(kernel.run(context), KernelStatus::kDone);
      const Tensor fast = c.Clone();
      kernel.run(context);
      one.op->def().kernels.back().run(context);
      EXPECT_TRUE(fast.Equals(c)) << name << " with " << rows << " rows";
    }
  }
}

TEST_F(ElementwiseTest, InPlaceGivesTheSameBits) {
  OneOp one(ops_, "sigmoid", {F32({1000})});
  Tensor x = Uniform({1000}, -4, 4);
  const RunnerValue in[] = {{x.Clone()}};
  const Tensor wanted = RunStraight(*one.function, in, {DetectIsa(), "vector", nullptr}).at(0);
  Slot slot;
  slot.tensor = x.view();
  Slot* slots[] = {&slot};
  KernelQuery query{one.op, slots, slots, nullptr, DetectIsa()};
  const Kernel& kernel = one.op->def().kernels.front();
  const auto prepared = kernel.prepare(query);
  KernelContext context;
  context.ins = slots;
  context.outs = slots;
  context.num_ins = context.num_outs = 1;
  context.op = one.op;
  context.prepared = prepared.get();
  kernel.run(context);
  EXPECT_TRUE(x.Equals(wanted));
}

TEST_F(ElementwiseTest, AUsersOpWithSeveralOperandsDerivesItsGradient) {
  OpSet ops;
  DefineAllOps(ops);
  Elementwise(ops, "between", {"a", "b", "t"},
              [](Expr a, Expr b, Expr t) { return a + t * (b - a); })
      .Group("test")
      .Doc("Between a and b.")
      .Sample(Uniform({2}, 0, 1), Uniform({2}, 0, 1), Uniform({2}, 0, 1));
  const OpDef& def = ops.Get("between");
  EXPECT_TRUE(def.grad != nullptr);
  EXPECT_EQ(def.formula, "a + (t * (b - a))");
  EXPECT_EQ(def.num_value_args(), 3);
}

TEST_F(ElementwiseTest, ReductionsGiveTheSameBitsOnAnyNumberOfThreads) {
  ThreadPool two(2), five(5);
  for (const char* name : {"sum", "mean", "max"}) {
    for (Attr axes : {Attr::Ints({0, 1}), Attr::Ints({0}), Attr::Ints({1})}) {
      OneOp one(ops_, name, {F32({700, 301})}, {{"axes", axes}});
      const RunnerValue x[] = {{Uniform({700, 301}, -1, 1)}};
      const Tensor alone = RunStraight(*one.function, x, {DetectIsa(), "vector", nullptr}).at(0);
      for (ThreadPool* pool : {&two, &five}) {
        EXPECT_TRUE(
            alone.Equals(RunStraight(*one.function, x, {DetectIsa(), "vector", pool}).at(0)))
            << name << " over " << axes.ToString();
      }
    }
  }
}

TEST_F(ElementwiseTest, ASliceOutsideItsAxisIsAnErrorWhenItRuns) {
  OneOp one(ops_, "slice", {F32({4}), Type::Scalar(DType::kI64)}, {{"size", 2}});
  for (int64_t at : {-1, 3}) {
    const RunnerValue in[] = {{Uniform({4}, 0, 1)}, {Tensor::Scalar<int64_t>(at)}};
    EXPECT_THROW(RunStraight(*one.function, in, {}), Error);
  }
  const RunnerValue in[] = {{Floats({4}, {1, 2, 3, 4})}, {Tensor::Scalar<int64_t>(2)}};
  EXPECT_TRUE(RunStraight(*one.function, in, {}).at(0).Equals(Floats({2}, {3, 4})));
}

TEST_F(ElementwiseTest, AssertNamesTheElementThatDoesNotHold) {
  OneOp one(ops_, "isfinite", {F32({1})});  // any function to own the program
  Emitter emit(one.program, *one.function, one.function->body(), one.op->next());
  Value* flags = one.function->body().AddArg("flags", Type::Tensor(DType::kBool, {3}));
  emit.EmitOp(ops_->Get("assert"), {{flags}, {{"message", "must be so"}}, {}, {}, 0}, {});
  const RunnerValue good[] = {{Uniform({1}, 0, 1)}, {Bools({3}, {true, true, true})}};
  EXPECT_NO_THROW(RunStraight(*one.function, good, {}));
  const RunnerValue bad[] = {{Uniform({1}, 0, 1)}, {Bools({3}, {true, false, true})}};
  try {
    RunStraight(*one.function, bad, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("must be so (element 1 of [3])"));
  }
}

}  // namespace
}  // namespace catamaran
