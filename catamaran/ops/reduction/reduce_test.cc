#include "catamaran/ops/reduction/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

// A function with one op on one parameter.
struct OneOp {
  OneOp(const std::string& name, const Type& type, std::vector<NamedAttr> attrs)
      : program("test", TestOps()) {
    auto owned = std::make_unique<Function>();
    owned->typed = true;
    owned->name = "f";
    function = program.items.Add(std::move(owned));
    Value* x = function->body().AddArg("x", type);
    Emitter emit(program, *function, function->body());
    const OpDef& def = program.ops().Get(name);
    Op* op = emit.EmitOp(def, {{x}, std::move(attrs), {}, {}, def.num_results}, {});
    emit.EmitOp(program.ops().Get("return"), {{op->result()}, {}, {}, {}, 0}, {});
  }
  Program program;
  Function* function;
};

template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reduce, EveryReductionGivesTheSameBitsOnAnyNumberOfThreads) {
  ThreadPool two(2), five(5);
  const std::vector<std::pair<Shape, Attr>> cases = {
      {{300000}, Attr::Ints({0})},          {{3, 90001}, Attr::Ints({1})},
      {{30001, 7}, Attr::Ints({0})},        {{300, 1500}, Attr::Ints({0})},
      {{50, 40, 90}, Attr::Ints({0, 2})},   {{60, 40, 90}, Attr::Ints({1})},
      {{40, 9, 70, 11}, Attr::Ints({0, 2})}};
  for (const char* name : {"sum", "mean", "max", "min", "prod", "var", "std", "norm"}) {
    for (const auto& [shape, axes] : cases) {
      std::vector<Dim> dims(shape.begin(), shape.end());
      OneOp one(name, Type::Tensor(DType::kF32, dims), {{"axes", axes}});
      const RunnerValue x[] = {{Uniform(shape, 0.9, 1.1)}};
      const Tensor alone = RunStraight(*one.function, x, {DetectIsa(), "vector", nullptr}).at(0);
      for (ThreadPool* pool : {&two, &five}) {
        EXPECT_TRUE(
            alone.Equals(RunStraight(*one.function, x, {DetectIsa(), "vector", pool}).at(0)))
            << name << " of " << shape.ToString() << " over " << axes.ToString();
      }
    }
  }
}

TEST(Reduce, TheLargestOfNothingIsAnErrorThatNamesTheAxis) {
  for (const char* name : {"max", "min"}) {
    // Known before it runs …
    EXPECT_THAT(ErrorOf([&] {
                  OneOp(name, Type::Tensor(DType::kF32, {3, 0}), {{"axes", Attr::Ints({1})}});
                }),
                HasSubstr("axis 1 has no elements"));
    // … and when it does.
    OneOp one(name, Type::Tensor(DType::kF32, {Dim::Name("N"), 3}), {{"axes", Attr::Ints({0})}});
    for (const char* kernel : {"vector", "reference"}) {
      EXPECT_THAT(ErrorOf([&] {
                    const RunnerValue x[] = {{Empty({0, 3})}};
                    RunStraight(*one.function, x, {DetectIsa(), kernel, nullptr});
                  }),
                  HasSubstr("axis 0 of [0, 3] has no elements"));
    }
    const RunnerValue x[] = {{Floats({1, 3}, {1, 2, 3})}};
    EXPECT_EQ(RunStraight(*one.function, x, {}).at(0).shape(), Shape({3}));
  }
  EXPECT_THAT(ErrorOf([] {
                OneOp("argmax", Type::Tensor(DType::kF32, {0, 2}), {{"axis", 0}});
              }),
              HasSubstr("axis 0 has no elements"));
}

TEST(Reduce, AxesThatAreNotThereAreRefused) {
  const Type x = Type::Tensor(DType::kF32, {2, 3});
  EXPECT_THAT(ErrorOf([&] {
                OneOp("prod", x, {{"axes", Attr::Ints({2})}});
              }),
              HasSubstr("there is no axis 2"));
  EXPECT_THAT(ErrorOf([&] {
                OneOp("any", x, {{"axes", Attr::Ints({0, -2})}});
              }),
              HasSubstr("named twice"));
  EXPECT_THAT(ErrorOf([&] { OneOp("norm", x, {{"p", 0.0}}); }), HasSubstr("p must be positive"));
  EXPECT_THAT(ErrorOf([&] { OneOp("cumsum", x, {{"axis", 2}}); }), HasSubstr("axis is 2"));
}

TEST(Reduce, TheVarianceOfNumbersFarFromZeroKeepsItsDigits) {
  for (const char* kernel : {"vector", "reference"}) {
    for (Attr axes : {Attr::Ints({0}), Attr::Ints({1})}) {
      OneOp one("var", Type::Tensor(DType::kF32, {64, 64}), {{"axes", axes}});
      Tensor x = Tensor::Allocate(DType::kF32, {64, 64});
      for (int i = 0; i < 64; ++i) {
        for (int j = 0; j < 64; ++j) {
          x.mutable_data<float>()[static_cast<size_t>(64 * i + j)] =
              static_cast<float>(1e6 + (i + j) % 2);
        }
      }
      const RunnerValue in[] = {{x}};
      const Tensor y = RunStraight(*one.function, in, {DetectIsa(), kernel, nullptr}).at(0);
      for (float v : y.data<float>()) EXPECT_FLOAT_EQ(v, 0.25f);
    }
  }
}

}  // namespace
}  // namespace catamaran
