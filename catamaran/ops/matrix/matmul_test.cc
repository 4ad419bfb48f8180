// Products and convolutions at sizes that the samples do not reach: every kernel, several numbers
// of threads.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

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
  EXPECT_GT(seen[1], 10);
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

// The product by its definition, in double: axes before the last two broadcast, a vector is one row
// or one column.
std::vector<double> ByLoops(const Tensor& a, const Tensor& b, bool ta, bool tb, Shape* shape) {
  const auto matrix = [](const Shape& s, bool column) {
    return s.rank() > 1 ? s : column ? Shape{s[0], 1} : Shape{1, s[0]};
  };
  const Shape sa = matrix(a.shape(), false), sb = matrix(b.shape(), true);
  const int ra = sa.rank(), rb = sb.rank(), rank = std::max(ra, rb) - 2;
  const int64_t m = sa[ta ? ra - 1 : ra - 2], k = sa[ta ? ra - 2 : ra - 1];
  const int64_t n = sb[tb ? rb - 2 : rb - 1];
  Shape batch;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank + 2 - ra), in_b = axis - (rank + 2 - rb);
    batch.Append(std::max(in_a < 0 ? 1 : sa[in_a], in_b < 0 ? 1 : sb[in_b]));
  }
  // Where the matrix of an operand begins for one index of the batch.
  const auto matrix_at = [&](const Shape& s, int64_t index) {
    int64_t at = 0, step = s[s.rank() - 1] * s[s.rank() - 2];
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int own = axis - (rank + 2 - s.rank());
      const int64_t i = index % batch[axis];
      index /= batch[axis];
      if (own < 0) continue;
      if (s[own] > 1) at += i * step;
      step *= s[own];
    }
    return at;
  };
  std::vector<double> y;
  for (int64_t q = 0; q < batch.num_elements(); ++q) {
    const float* pa = a.data<float>().data() + matrix_at(sa, q);
    const float* pb = b.data<float>().data() + matrix_at(sb, q);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum +=
              static_cast<double>(pa[ta ? p * m + i : i * k + p]) * pb[tb ? j * k + p : p * n + j];
        }
        y.push_back(sum);
      }
    }
  }
  *shape = batch;
  if (a.shape().rank() > 1) shape->Append(m);
  if (b.shape().rank() > 1) shape->Append(n);
  return y;
}

TEST(Matmul, EveryFormIsWhatTheLoopsSay) {
  struct Form {
    Shape a, b;
    bool ta = false, tb = false;
  };
  const std::vector<Form> forms = {
      {{7}, {7}},
      {{7}, {7, 70}},
      {{70}, {65, 70}, false, true},
      {{65, 70}, {70}},
      {{70, 65}, {70}, true},
      {{7}, {3, 7, 5}},
      {{3, 5, 7}, {7}},
      {{2, 3, 7, 5}, {7}, true},
      {{9, 17}, {17, 33}},
      {{17, 9}, {33, 17}, true, true},
      {{3, 9, 17}, {17, 33}},
      {{3, 17, 9}, {17, 33}, true},
      {{9, 17}, {3, 17, 33}},
      {{3, 9, 17}, {3, 17, 33}},
      {{3, 9, 17}, {1, 33, 17}, false, true},
      {{1, 9, 17}, {3, 17, 33}},
      {{2, 1, 9, 17}, {3, 17, 33}},
      {{2, 3, 1, 17, 9}, {1, 4, 33, 17}, true, true},
      {{5, 1, 40}, {5, 40, 40}},
      {{5, 40, 40}, {5, 40, 1}},
      {{2, 64, 64}, {2, 64, 64}, false, true},
  };
  for (const Form& form : forms) {
    const Tensor a = Uniform(form.a, -1, 1, 1), b = Uniform(form.b, -1, 1, 2);
    SCOPED_TRACE(
        fmt::format("{} {} {} {}", form.a.ToString(), form.b.ToString(), form.ta, form.tb));
    Shape shape;
    const std::vector<double> wanted = ByLoops(a, b, form.ta, form.tb, &shape);
    const std::vector<NamedAttr> attrs = {{"transpose_a", form.ta}, {"transpose_b", form.tb}};
    KernelBench bench;
    Op* op = bench.Run("matmul", {bench.Arg(a), bench.Arg(b)}, {}, attrs);
    const Tensor& y = bench.tensor(op->result());
    ASSERT_EQ(y.shape(), shape);
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(y.data<float>()[i], wanted[i], 1e-4) << i;
    CheckKernels("matmul", {a, b}, attrs);
  }
}

TEST(Matmul, Bf16IsAddedUpInSingle) {
  // 1 + 4096 * 2^-8 = 17: each step is lost when sums are bf16.
  const int64_t k = 4097;
  Tensor a = Uniform({8, k}, 0, 1).Clone(), b = Uniform({k, 8}, 0, 1).Clone();
  for (float& x : a.mutable_data<float>()) x = 1;
  for (float& x : b.mutable_data<float>()) x = 0x1p-8f;
  for (size_t j = 0; j < 8; ++j) b.mutable_data<float>()[j] = 1;
  KernelBench bench;
  Op* op =
      bench.Run("matmul", {bench.Arg(Cast(a, DType::kBF16)), bench.Arg(Cast(b, DType::kBF16))});
  const Tensor y = Cast(bench.tensor(op->result()), DType::kF32);
  for (float x : y.data<float>()) EXPECT_EQ(x, 17.0f);
}

std::string EinsumError(const char* equation, std::vector<Tensor> operands) {
  KernelBench bench;
  std::vector<Value*> values;
  for (Tensor& tensor : operands) values.push_back(bench.Arg(std::move(tensor)));
  try {
    bench.Run("einsum", values, {}, {{"equation", equation}});
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Einsum, MistakesAreNamed) {
  const auto some = [](const Shape& shape) { return Uniform(shape, -1, 1); };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(EinsumError("ij,jk->ik", {some({2, 3}), some({4, 5})}), "sizes of index j differ: 3 and 4");
  has(EinsumError("ii->i", {some({2, 3})}), "sizes of index i differ: 2 and 3");
  has(EinsumError("ij,jk->il", {some({2, 3}), some({3, 5})}),
      "index l of the result is in no operand");
  has(EinsumError("ij,jk->ik", {some({2, 3})}), "has 2 operands, 1 are given");
  has(EinsumError("ij->i", {some({2, 3, 4})}), "\"ij\" names 2 axes; operand 0 has 3");
  has(EinsumError("i1->i", {some({2, 3})}), "is not a list of letters");
}

TEST(Einsum, LargeContractionsAgreeWithTheReference) {
  const auto check = [](const char* equation, const std::vector<Shape>& shapes) {
    SCOPED_TRACE(equation);
    std::vector<Tensor> operands;
    for (const Shape& shape : shapes)
      operands.push_back(Uniform(shape, -1, 1, operands.size() + 1));
    CheckKernels("einsum", operands, {{"equation", equation}});
  };
  check("bthd,bshd->bhts", {{2, 33, 3, 16}, {2, 40, 3, 16}});
  check("bhts,bshd->bthd", {{2, 3, 33, 40}, {2, 40, 3, 16}});
  check("ijk,kjl->li", {{20, 30, 7}, {7, 30, 9}});
  check("ab,bc,cd,de->ae", {{5, 30}, {30, 40}, {40, 20}, {20, 3}});
  check("nchw,oc->nohw", {{2, 16, 9, 9}, {8, 16}});
  check("i,ij,j->", {{50}, {50, 60}, {60}});
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
