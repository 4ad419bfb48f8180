// commit/foreign_weights_test.cc

#include "catamaran/commit/foreign_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/error.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string Path(const NameRules& rules, const std::string& name) {
  const auto found = rules.Find(name);
  if (!found) return "-";
  return found->path + (found->transposed ? "'" : "");
}

TEST(NameRules, TheFirstLineThatFitsCounts) {
  const NameRules rules = NameRules::Parse(
      "# of torch\n\n"
      "fc.weight -> @fc.w transposed  # a comment\n"
      "*.steps   -> none\n"
      "*bn*.weight -> @*bn*.scale\n"
      "*.weight -> @*.w\n",
      "torch.names");
  EXPECT_EQ(Path(rules, "fc.weight"), "fc.w'");
  EXPECT_EQ(Path(rules, "a.fc.weight"), "a.fc.w");
  EXPECT_EQ(Path(rules, "bn1.weight"), "bn1.scale");
  EXPECT_EQ(Path(rules, "l.0.bn2.weight"), "l.0.bn2.scale");
  EXPECT_EQ(Path(rules, "l.0.conv.weight"), "l.0.conv.w");
  EXPECT_EQ(Path(rules, "l.steps"), "");
  EXPECT_EQ(Path(rules, "l.bias"), "-");
  EXPECT_EQ(Path(rules, ".weight.weight"), ".weight.w") << "a star may stand for what follows it";
  EXPECT_EQ(rules.Describe(0), "torch.names:3: fc.weight -> @fc.w transposed");
}

TEST(NameRules, ALineThatIsNoneIsNamed) {
  for (const char* line : {"a", "a b", "a -> b", "a -> @", "a -> @b turned", "a -> none transposed",
                           "a -> @b transposed c", "a -> @*", "* -> @*.*"}) {
    EXPECT_THAT(ErrorOf([&] { NameRules::Parse(std::string("\n") + line, "x.names"); }),
                HasSubstr("x.names:2: "))
        << line;
  }
}

class ForeignWeights : public testing::Test {
 protected:
  ForeignWeights() : program_("net") {
    program_.Param("fc.w", "f32[2, 3]").Param("fc.b", "f32[3]");
    program_.Add(StateKind::kVar, "bn.mean", "f32[3]", Attr::Word("zeros"));
    state_ = State::Create(program_.flat, 1);
    file_.tensors = {{"weight", Tensor::From<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                     {"bias", Tensor::From<double>({3}, {0.5, 1.5, 2.5})},
                     {"count", Tensor::Scalar<int64_t>(7)}};
  }
  ImportSummary Load(const std::string& rules, const ImportOptions& options = {}) {
    const NameRules parsed = NameRules::Parse(rules, "x.names");
    return ImportWeights(*state_, file_, "w.safetensors", &parsed, options);
  }
  std::vector<float> Values(const std::string& path) const {
    const Tensor value = state_->GetTensor(path);
    const auto data = value.data<float>();
    return {data.begin(), data.end()};
  }

  test::TestProgram program_;
  std::unique_ptr<State> state_;
  SafetensorsFile file_;
};

TEST_F(ForeignWeights, AreRenamedTransposedAndConverted) {
  const ImportSummary summary =
      Load("weight -> @fc.w transposed\nbias -> @fc.b\ncount -> none\nother -> @fc.b");
  EXPECT_THAT(Values("fc.w"), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(Values("fc.b"), ElementsAre(0.5, 1.5, 2.5));
  EXPECT_THAT(Values("bn.mean"), ElementsAre(0, 0, 0)) << "vars may be left open";
  EXPECT_EQ(summary.loaded, 2u);
  EXPECT_THAT(summary.left_out, ElementsAre("count"));
  EXPECT_THAT(summary.unused, ElementsAre(3u));
}

TEST_F(ForeignWeights, NothingIsSetUnlessEverythingFits) {
  const std::vector<float> before = Values("fc.b");
  const std::string error =
      ErrorOf([&] { Load("weight -> @fc.w\nbias -> @fc.b\ncount -> @fc.bb"); });
  EXPECT_THAT(error, HasSubstr("w.safetensors: the weights do not fit:"));
  EXPECT_THAT(error, HasSubstr("weight is f32[3, 2], @fc.w is f32[2, 3]"));
  EXPECT_THAT(error, HasSubstr("count: there is no param or var @fc.bb; did you mean @fc.b?"));
  EXPECT_EQ(Values("fc.b"), before);
  EXPECT_THAT(ErrorOf([&] { Load("weight -> @fc.w transposed\ncount -> none"); }),
              HasSubstr("no line of the names fits bias"));
  EXPECT_THAT(ErrorOf([&] { Load("* -> none"); }),
              HasSubstr("nothing goes to the param @fc.w : f32[2, 3]"));
  EXPECT_THAT(ErrorOf([&] { Load("count -> none\n* -> @fc.b"); }),
              HasSubstr("weight is f32[3, 2], @fc.b is f32[3]"));
  file_.tensors.push_back({"bias2", Tensor::Zeros(DType::kF32, {3})});
  EXPECT_THAT(ErrorOf([&] { Load("weight -> @fc.w transposed\nbias* -> @fc.b\ncount -> none"); }),
              HasSubstr("bias and bias2 both go to @fc.b"));
  EXPECT_THAT(ErrorOf([&] { Load("bias -> @fc.b transposed\n* -> none"); }),
              HasSubstr("only a matrix can be transposed"));
}

TEST_F(ForeignWeights, WhatIsMissingOrNewMayBeAllowed) {
  const std::vector<float> before = Values("fc.w");
  const ImportSummary summary =
      Load("bias -> @fc.b\nweight -> @gone", {.allow_new = true, .allow_missing = true});
  EXPECT_EQ(summary.loaded, 1u);
  EXPECT_THAT(summary.initialised, ElementsAre("fc.w"));
  EXPECT_THAT(summary.left_out, ElementsAre("weight", "count"));
  EXPECT_EQ(Values("fc.w"), before);
}

TEST_F(ForeignWeights, WithoutRulesTensorsAreCalledByOurPaths) {
  file_.tensors = {{"fc.w", Tensor::Zeros(DType::kF32, {2, 3})},
                   {"fc.b", Tensor::From<float>({3}, {1, 2, 3})}};
  EXPECT_EQ(ImportWeights(*state_, file_, "w", nullptr).loaded, 2u);
  EXPECT_THAT(Values("fc.b"), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace catamaran
