// Convolution and pooling beyond what small samples reach: batches in several blocks, filters
// split over threads, long rows; and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/onednn.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

Tensor RunOp(const std::string& op, const std::vector<Tensor>& inputs,
             const std::vector<NamedAttr>& attrs, const std::string& kernel = "",
             ThreadPool* pool = nullptr) {
  KernelBench bench;
  bench.kernel = kernel;
  bench.pool = pool;
  std::vector<Value*> operands;
  for (const Tensor& t : inputs) operands.push_back(bench.Arg(t));
  const Op* done = bench.Run(op, operands, {}, attrs);
  return bench.tensor(done->result(0)).Clone();
}

// The error that the type rule gives.
std::string Refusal(const std::string& op, const std::vector<Tensor>& inputs,
                    const std::vector<NamedAttr>& attrs) {
  try {
    RunOp(op, inputs, attrs);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  std::vector<NamedAttr> attrs;
};

// Five images in blocks of two: whole blocks and one left over.
std::vector<Case> Batches() {
  const Tensor x = Uniform({5, 8, 64, 64}, -1, 1, 1), w = Uniform({8, 8, 3, 3}, -1, 1, 2),
               y = Uniform({5, 8, 64, 64}, -1, 1, 3), b = Uniform({8}, -1, 1, 4);
  return {{"conv2d", {x, w, b}, {{"padding", 1}}},
          {"conv2d_grad_input", {y, w}, {{"padding", 1}, {"size", Attr::Ints({64, 64})}}},
          {"conv2d_grad_weight", {x, y}, {{"padding", 1}, {"kernel", Attr::Ints({3, 3})}}},
          {"conv_transpose2d", {y, w, b}, {{"padding", 1}}}};
}

// One image and many filters.
std::vector<Case> SingleImages() {
  const Tensor x = Uniform({1, 16, 20, 20}, -1, 1, 1), w = Uniform({64, 16, 3, 3}, -1, 1, 2),
               y = Uniform({1, 64, 18, 18}, -1, 1, 3), b = Uniform({64}, -1, 1, 4);
  return {{"conv2d", {x, w, b}, {}},
          {"conv2d_grad_input", {y, w}, {{"size", Attr::Ints({20, 20})}}},
          {"conv2d_grad_weight", {x, y}, {{"kernel", Attr::Ints({3, 3})}}}};
}

TEST(Convolution, BatchesInSeveralBlocksGiveWhatTheReferenceGives) {
  for (const Case& c : Batches()) {
    SCOPED_TRACE(c.op);
    std::vector<Tensor> doubles;
    for (const Tensor& t : c.inputs) doubles.push_back(Cast(t, DType::kF64));
    const Tensor wanted = Cast(RunOp(c.op, doubles, c.attrs, "im2col"), DType::kF32);
    EXPECT_TRUE(AllClose(RunOp(c.op, c.inputs, c.attrs, "im2col"), wanted, 1e-3, 1e-3, true));
    if (!onednn::kAvailable) continue;
    EXPECT_TRUE(AllClose(RunOp(c.op, c.inputs, c.attrs, "onednn"), wanted, 1e-3, 1e-3, true));
  }
}

// Images with few channels: rows that are shorter and longer than vectors, windows of every size,
// more padding on one side, filters that fill no tile.
TEST(Convolution, FewChannelsGiveWhatTheReferenceGives) {
  ThreadPool pool(3);
  uint64_t seed = 1;
  for (const int64_t width : {8, 10, 17, 28, 33, 50}) {
    for (const int64_t kernel : {1, 2, 3, 4, 5, 6, 7}) {
      for (const int64_t out : {1, 3, 6, 7}) {
        const int64_t in = 1 + (width + kernel + out) % 5, height = 5 + out;
        const int64_t rows = 1 + kernel % 3, top = rows / 2, left = kernel / 2;
        const Attr padding = Attr::Ints({top, left, rows - 1 - top, kernel - 1 - left});
        const Tensor x = Uniform({3, in, height, width + kernel}, -1, 1, ++seed),
                     w = Uniform({out, in, rows, kernel}, -1, 1, ++seed),
                     b = Uniform({out}, -1, 1, ++seed);
        const Tensor y = RunOp("conv2d", {x, w, b}, {{"padding", padding}}, "im2col");
        const std::vector<Case> cases = {
            {"conv2d", {x, w, b}, {{"padding", padding}}},
            {"conv2d_grad_input",
             {y, w},
             {{"padding", padding}, {"size", Attr::Ints({height, width + kernel})}}},
            {"conv2d_grad_weight",
             {x, y},
             {{"padding", padding}, {"kernel", Attr::Ints({rows, kernel})}}}};
        for (const Case& c : cases) {
          SCOPED_TRACE(c.op + " " + x.shape().ToString() + " " + w.shape().ToString());
          const Tensor direct = RunOp(c.op, c.inputs, c.attrs, "direct");
          EXPECT_TRUE(AllClose(direct, RunOp(c.op, c.inputs, c.attrs, "im2col"), 1e-3, 1e-3, true));
          EXPECT_TRUE(
              AllClose(direct, RunOp(c.op, c.inputs, c.attrs, "direct", &pool), 0, 0, true));
        }
      }
    }
  }
}

TEST(Convolution, ThreadsShareTheFiltersOfASingleImage) {
  ThreadPool pool(3);
  for (const Case& c : SingleImages()) {
    SCOPED_TRACE(c.op);
    const Tensor alone = RunOp(c.op, c.inputs, c.attrs);
    EXPECT_TRUE(AllClose(RunOp(c.op, c.inputs, c.attrs, "", &pool), alone, 1e-5, 1e-5, true));
  }
}

// Rows longer than what vector code takes at a time.
TEST(Pooling, LongRowsGiveWhatTheReferenceGives) {
  const Tensor x = Uniform({1, 1, 2, 9000}, -1, 1, 1);
  for (int64_t stride : {1, 2, 3, 40}) {
    for (const char* op : {"max_pool", "avg_pool"}) {
      SCOPED_TRACE(fmt::format("{}, stride {}", op, stride));
      const std::vector<NamedAttr> attrs = {
          {"kernel", Attr::Ints({2, 5})}, {"stride", Attr::Ints({1, stride})}, {"padding", 1}};
      const Tensor y = RunOp(op, {x}, attrs, "reference");
      EXPECT_TRUE(AllClose(RunOp(op, {x}, attrs, "vector"), y, 1e-5, 1e-6, true));
      const bool max = std::string(op) == "max_pool";
      std::vector<Tensor> inputs = {Uniform(y.shape(), -1, 1, 2)};
      std::vector<NamedAttr> grad_attrs = attrs;
      if (max) {
        inputs.insert(inputs.begin(), x);
      } else {
        grad_attrs.push_back({"size", Attr::Ints({2, 9000})});
      }
      const std::string grad = std::string(op) + "_grad";
      EXPECT_TRUE(AllClose(RunOp(grad, inputs, grad_attrs),
                           RunOp(grad, inputs, grad_attrs, "reference"), 1e-5, 1e-6, true));
    }
  }
}

TEST(Convolution, RefusesWhatDoesNotFitAndSaysWhy) {
  const Tensor x = Uniform({1, 4, 5, 5}, -1, 1), w = Uniform({6, 4, 3, 3}, -1, 1);
  EXPECT_THAT(Refusal("conv2d", {x, Uniform({6, 3, 3, 3}, -1, 1)}, {}), HasSubstr("channels"));
  EXPECT_THAT(Refusal("conv2d", {x, Uniform({6, 4, 7, 3}, -1, 1)}, {}),
              HasSubstr("the window spans 7 elements of spatial axis 0, which has 5"));
  EXPECT_THAT(Refusal("conv2d", {x, w}, {{"stride", 0}}), HasSubstr("stride must be at least 1"));
  EXPECT_THAT(Refusal("conv2d", {x, w}, {{"padding", -1}}), HasSubstr("must not be negative"));
  EXPECT_THAT(Refusal("conv2d", {x, w}, {{"stride", Attr::Ints({1, 2, 3})}}),
              HasSubstr("stride wants one number, or 2"));
  EXPECT_THAT(Refusal("conv2d", {x, w}, {{"padding", Attr::Word("full")}}),
              HasSubstr("padding wants numbers, same or valid, found full"));
  EXPECT_THAT(Refusal("conv2d", {x, w}, {{"padding", Attr::Word("same")}, {"stride", 2}}),
              HasSubstr("padding=same wants stride 1"));
  EXPECT_THAT(Refusal("conv2d", {x, Uniform({6, 1, 3, 3}, -1, 1)}, {{"groups", 4}}),
              HasSubstr("groups=4 does not divide the 6 filters"));
  EXPECT_THAT(Refusal("conv_transpose2d", {x, Uniform({4, 2, 3, 3}, -1, 1)},
                      {{"stride", 2}, {"output_padding", 2}}),
              HasSubstr("output_padding must be less than stride"));
}

TEST(Pooling, RefusesWhatDoesNotFitAndSaysWhy) {
  const Tensor x = Uniform({1, 2, 5, 5}, -1, 1);
  EXPECT_THAT(Refusal("max_pool", {x}, {{"kernel", 2}, {"padding", 2}}),
              HasSubstr("padding is at most half of the window"));
  EXPECT_THAT(Refusal("avg_pool", {x}, {{"kernel", 6}}), HasSubstr("the window spans 6"));
  EXPECT_THAT(Refusal("max_pool", {x}, {{"kernel", 0}}), HasSubstr("at least one element"));
  EXPECT_THAT(Refusal("adaptive_avg_pool", {x}, {{"size", Attr::Ints({2})}}),
              HasSubstr("size wants 2 numbers"));
  EXPECT_THAT(Refusal("interpolate", {x}, {}), HasSubstr("wants size or scale"));
  EXPECT_THAT(Refusal("interpolate", {x}, {{"scale", 0.1}}), HasSubstr("the result is empty"));
  EXPECT_THAT(Refusal("interpolate", {x}, {{"scale", 2}, {"mode", Attr::Word("trilinear")}}),
              HasSubstr("trilinear wants 3 spatial axes, found 2"));
}

}  // namespace
}  // namespace catamaran
