// Products and convolutions at sizes that the samples do not reach: every kernel, several numbers
// of threads.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"

namespace catamaran {
namespace {

// Whether |a - b| is small beside the size of b as a whole: sums may cancel.
void ExpectClose(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  const auto x = a.data<float>();
  const auto y = b.data<float>();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(y[i])));
    difference = std::max(difference, std::fabs(static_cast<double>(x[i]) - y[i]));
  }
  EXPECT_LE(difference, tolerance * (largest + 1e-30));
}

// Runs every kernel of an op on f32 operands with 0, 2 and 3 threads, each twice.
void CheckKernels(const std::string& name, const std::vector<Tensor>& operands,
                  std::vector<NamedAttr> attrs, int* kernels_seen = nullptr) {
  Program program("test", TestOps());
  auto owned = std::make_unique<Function>();
  owned->name = "f";
  owned->typed = true;
  Function& f = *program.items.Add(std::move(owned));
  std::vector<Value*> values;
  std::vector<RunnerValue> arguments;
  for (const Tensor& tensor : operands) {
    std::vector<Dim> dims;
    for (int64_t d : tensor.shape()) dims.push_back(d);
    values.push_back(f.body().AddArg(fmt::format("a{}", values.size()),
                                     Type::Tensor(tensor.dtype(), std::move(dims))));
    arguments.push_back({tensor});
  }
  Emitter emit(program, f, f.body());
  Op* op = emit.EmitOp(program.ops().Get(name), {values, std::move(attrs), {}, {}, 1}, {});
  emit.EmitOp(program.ops().Get("return"), {{op->result()}, {}, {}, {}, 0}, {});
  RunnerOptions reference;
  reference.kernel = "reference";
  const Tensor wanted = RunStraight(f, arguments, reference).at(0);
  ThreadPool two(2), three(3);
  for (const std::string& kernel : FittingKernels(f, arguments, DetectIsa())) {
    if (kernels_seen) ++kernels_seen[kernel.starts_with("onednn")];
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
      SCOPED_TRACE(fmt::format("{} {} threads {}", name, kernel, pool ? pool->threads() : 1));
      const RunnerOptions options{DetectIsa(), kernel, pool};
      const Tensor got = RunStraight(f, arguments, options).at(0);
      ExpectClose(got, wanted, 1e-5);
      EXPECT_TRUE(RunStraight(f, arguments, options).at(0).Equals(got)) << "the bits changed";
    }
  }
}

TEST(Matmul, KernelsAgreeAtOddAndLargeSizes) {
  int seen[2] = {};
  const int64_t sizes[][3] = {{1, 784, 512}, {32, 100, 130}, {257, 65, 129},
                              {513, 31, 10}, {7, 9, 1},      {100, 3, 64},
                              {1, 1, 1},     {64, 1, 65},    {3, 500, 70}};
  for (const auto& [m, k, n] : sizes) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {}", m, k, n, ta, tb));
        CheckKernels("matmul",
                     {Uniform(ta ? Shape{k, m} : Shape{m, k}, -1, 1, 1),
                      Uniform(tb ? Shape{n, k} : Shape{k, n}, -1, 1, 2)},
                     {{"transpose_a", ta}, {"transpose_b", tb}}, seen);
      }
    }
  }
  EXPECT_GT(seen[0], 0);
#if CATAMARAN_WITH_ONEDNN
  EXPECT_GT(seen[1], 20);
#endif
}

TEST(Matmul, KernelsAgreeOnStacksOfMatrices) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      CheckKernels("matmul",
                   {Uniform(ta ? Shape{5, 40, 33} : Shape{5, 33, 40}, -1, 1, 1),
                    Uniform(tb ? Shape{5, 70, 40} : Shape{5, 40, 70}, -1, 1, 2)},
                   {{"transpose_a", ta}, {"transpose_b", tb}});
    }
  }
  CheckKernels("matmul", {Uniform({4, 50, 40}, -1, 1, 1), Uniform({40, 70}, -1, 1, 2)}, {});
  CheckKernels("matmul_leading", {Uniform({4, 50, 40}, -1, 1, 1), Uniform({4, 50, 70}, -1, 1, 2)},
               {});
}

TEST(Matmul, ANaNStaysWhereItBelongs) {
  Tensor a = Uniform({64, 64}, -1, 1).Clone();
  a.mutable_data<float>()[5 * 64 + 3] = NAN;
  KernelBench bench;
  Op* op = bench.Run("matmul", {bench.Arg(a), bench.Arg(Uniform({64, 64}, -1, 1))});
  const auto y = bench.tensor(op->result()).data<float>();
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = 0; j < 64; ++j) ASSERT_EQ(std::isnan(y[i * 64 + j]), i == 5) << i << " " << j;
  }
}

TEST(Matmul, MistakesAreNamed) {
  KernelBench bench;
  const auto message = [&](Tensor a, Tensor b, std::vector<NamedAttr> attrs = {}) {
    try {
      bench.Run("matmul", {bench.Arg(std::move(a)), bench.Arg(std::move(b))}, {}, attrs);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_NE(message(Uniform({3, 4}, 0, 1), Uniform({5, 6}, 0, 1)).find("inner dimensions"),
            std::string::npos);
  EXPECT_NE(message(Uniform({3}, 0, 1), Uniform({4, 6}, 0, 1)).find("inner dimensions"),
            std::string::npos);
  EXPECT_NE(message(Uniform({3}, 0, 1), Uniform({3, 6}, 0, 1), {{"transpose_a", true}})
                .find("a vector cannot be transposed"),
            std::string::npos);
  EXPECT_NE(message(Uniform({}, 0, 1), Uniform({3, 6}, 0, 1)).find("mul scales by a number"),
            std::string::npos);
  EXPECT_NE(message(Bools({1, 1}, {true}), Bools({1, 1}, {true})).find("wants numbers"),
            std::string::npos);
  EXPECT_NE(message(Uniform({2, 3, 4}, 0, 1), Uniform({3, 4, 5}, 0, 1)).find("2 and 3"),
            std::string::npos);
}

TEST(Conv2d, KernelsAgreeAtOddSizes) {
  struct Case {
    Shape x, w;
    std::vector<NamedAttr> attrs;
    int64_t out_height, out_width;
  };
  const std::vector<Case> cases = {
      {{5, 3, 17, 19}, {7, 3, 3, 3}, {{"padding", 1}}, 17, 19},
      {{9, 16, 13, 13}, {32, 16, 3, 3}, {{"stride", 2}, {"padding", 1}}, 7, 7},
      {{3, 16, 12, 11}, {16, 1, 3, 3}, {{"groups", 16}, {"padding", 1}}, 12, 11},
      {{2, 8, 15, 14}, {6, 4, 3, 2}, {{"groups", 2}, {"dilation", 2}}, 11, 12},
      {{4, 20, 9, 9}, {10, 20, 1, 1}, {}, 9, 9},
      {{3, 2, 11, 7}, {4, 2, 4, 3}, {{"stride", Attr::Ints({3, 2})}, {"padding", 1}}, 4, 4},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.x.ToString() + " " + c.w.ToString());
    const Tensor x = Uniform(c.x, -1, 1, 1), w = Uniform(c.w, -1, 1, 2),
                 dy = Uniform({c.x[0], c.w[0], c.out_height, c.out_width}, -1, 1, 3);
    CheckKernels("conv2d", {x, w}, c.attrs);
    std::vector<NamedAttr> attrs = c.attrs;
    attrs.push_back({"size", Attr::Ints({c.x[2], c.x[3]})});
    CheckKernels("conv2d_grad_input", {dy, w}, attrs);
    attrs.back() = {"kernel", Attr::Ints({c.w[2], c.w[3]})};
    CheckKernels("conv2d_grad_weight", {x, dy}, attrs);
  }
}

TEST(Rowwise, VectorCodeAgreesOnLongRowsAndManyThreads) {
  const Tensor x = Uniform({301, 77}, -8, 8, 1);
  CheckKernels("softmax", {x}, {});
  CheckKernels("log_softmax", {x}, {});
  CheckKernels("softmax_grad", {Uniform({301, 77}, 0, 1, 1), Uniform({301, 77}, -1, 1, 2)}, {});
  CheckKernels("layer_norm", {x, Uniform({77}, 0.5, 2, 2), Uniform({77}, -1, 1, 3)}, {});
  CheckKernels("softmax_cross_entropy", {x, RandomInts({301}, 0, 77)}, {});
  CheckKernels("softmax_cross_entropy_grad",
               {x, RandomInts({301}, 0, 77), Uniform({301}, -1, 1, 2)}, {});
  CheckKernels("embedding", {Uniform({50, 33}, -1, 1), RandomInts({3000}, 0, 50)}, {});
}

TEST(CrossEntropy, ALabelThatIsNoClassIsNamed) {
  KernelBench bench;
  try {
    bench.Run("softmax_cross_entropy",
              {bench.Arg(Uniform({2, 3}, -1, 1)), bench.Arg(Ints({2}, {1, 3}))});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("label 3 of example 1"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace catamaran
