#include "catamaran/serve/batch/assemble.h"

#include <gtest/gtest.h>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

// Sequences and a dense argument; what comes out is ragged too.
constexpr const char* kProgram = R"(program p
fn infer(ids: i64[B, *T], weights: f32[B, *T], x: f32[B, 2])
    -> (longer: i64[B, *T], sums: f32[B], x: f32[B, 2]) {
  return ids + ids, ragged_pool(weights, pool=sum), x
}
)";

class AssembleTest : public ::testing::Test {
 protected:
  AssembleTest() : program_(kProgram), infer_(program_.Get("infer")), signature_(infer_) {}

  BoundInputs Bind(std::vector<int64_t> ids, std::vector<int64_t> offsets, std::vector<float> x) {
    InferRequest request;
    const std::vector<float> weights(ids.begin(), ids.end());
    request.inputs = {{"ids", Tensor::FromVector(ids)},
                      {"ids.offsets", Tensor::FromVector(offsets)},
                      {"weights", Tensor::FromVector(weights)},
                      {"x", Tensor::FromVector<float>({static_cast<int64_t>(x.size()) / 2, 2}, x)}};
    BoundInputs bound;
    const Status status = signature_.Bind(request, bound);
    EXPECT_TRUE(status.ok()) << status.message;
    return bound;
  }

  RunResult Run(std::vector<const BoundInputs*> inputs, int64_t rows) {
    AssembledBatch batch;
    Assemble(signature_, inputs, rows, batch);
    return infer_.Run(program_.state(), batch.feeds);
  }

  TestProgram program_;
  const Executable& infer_;
  const Signature signature_;
};

TEST_F(AssembleTest, SequencesOfSeveralRequestsComeBackToTheirOwners) {
  ASSERT_TRUE(signature_.batches()) << signature_.why_not();
  const BoundInputs a = Bind({1, 2, 3}, {0, 2, 3}, {1, 2, 3, 4});
  const BoundInputs b = Bind({}, {0, 0}, {5, 6});
  const BoundInputs c = Bind({7, 8}, {0, 2}, {9, 9, 8, 8, 7, 7});  // one sequence for three rows
  EXPECT_EQ(c.rows, 3);
  const RunResult result = Run({&a, &b, &c}, 8);
  std::vector<NamedTensor> outputs;
  AppendOutput("longer", result, 0, 0, 2, outputs);
  EXPECT_TRUE(outputs[0].tensor.Equals(Tensor::FromVector<int64_t>({2, 4, 6})));
  EXPECT_EQ(outputs[1].name, "longer.offsets");
  EXPECT_TRUE(outputs[1].tensor.Equals(Tensor::FromVector<int64_t>({0, 2, 3})));
  outputs.clear();
  AppendOutput("longer", result, 0, 3, 6, outputs);
  EXPECT_TRUE(outputs[0].tensor.Equals(Tensor::FromVector<int64_t>({14, 16, 14, 16, 14, 16})));
  EXPECT_TRUE(outputs[1].tensor.Equals(Tensor::FromVector<int64_t>({0, 2, 4, 6})));
  outputs.clear();
  AppendOutput("sums", result, 1, 0, 6, outputs);
  EXPECT_TRUE(outputs[0].tensor.Equals(Tensor::FromVector<float>({3, 3, 0, 15, 15, 15})));
  outputs.clear();
  AppendOutput("x", result, 2, 2, 4, outputs);
  EXPECT_TRUE(outputs[0].tensor.Equals(Tensor::From<float>({2, 2}, {5, 6, 9, 9})));
}

TEST_F(AssembleTest, ARequestThatFitsIsFedFromItsOwnMemory) {
  const BoundInputs a = Bind({1, 2, 3}, {0, 2, 3}, {1, 2, 3, 4});
  AssembledBatch batch;
  const BoundInputs* const inputs[] = {&a};
  Assemble(signature_, inputs, 2, batch);
  EXPECT_TRUE(batch.memory.empty());
  EXPECT_EQ(batch.feeds[2].tensor.data, a.arguments[2].values.raw_data());
}

TEST_F(AssembleTest, OffsetsThatMakeNoSenseAreRefused) {
  const auto problem = [&](std::vector<int64_t> offsets) {
    InferRequest request;
    request.inputs = {{"ids", Tensor::FromVector<int64_t>({1, 2})},
                      {"ids.offsets", Tensor::FromVector(offsets)},
                      {"weights", Tensor::FromVector<float>({1, 2})},
                      {"x", Tensor::From<float>({1, 2}, {1, 2})}};
    if (offsets.empty()) request.inputs.erase(request.inputs.begin() + 1);
    BoundInputs bound;
    return signature_.Bind(request, bound).message;
  };
  EXPECT_EQ(problem({}), "input ids : i64[B, *T]: it is ragged and needs an input ids.offsets");
  for (const std::vector<int64_t>& offsets :
       {std::vector<int64_t>{0, 3}, {1, 2}, {0, 2, 1, 2}, {-1, 2}, {0, 1}}) {
    EXPECT_EQ(problem(offsets),
              "input ids : i64[B, *T]: ids.offsets must rise from 0 to 2, the number of values");
  }
  EXPECT_EQ(problem({0, 2}), "");
}

}  // namespace
}  // namespace catamaran
