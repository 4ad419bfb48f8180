#include "catamaran/base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace catamaran {
namespace {

constexpr std::array<std::string_view, 6> kOps = {"matmul", "softmax", "sigmoid",
                                                  "relu",   "reshape", "add"};

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(Suggest("mtamul", kOps), "matmul");   // two neighbours swapped
  EXPECT_EQ(Suggest("sofmax", kOps), "softmax");  // one missing
  EXPECT_EQ(Suggest("rellu", kOps), "relu");      // one too many
  EXPECT_EQ(Suggest("sigmiod", kOps), "sigmoid");
  EXPECT_EQ(Suggest("ReLU", kOps), "relu");
}

TEST(Suggest, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(Suggest("convolution", kOps), "");
  EXPECT_EQ(Suggest("x", kOps), "");
  EXPECT_EQ(Suggest("", kOps), "");
  EXPECT_EQ(Suggest("matmul", {}), "");
  const std::array<std::string_view, 1> y = {"y"};
  EXPECT_EQ(Suggest("x", y), "");  // one edit, but nothing in common
}

TEST(Suggest, PrefersTheNearestThenTheFirst) {
  const std::array<std::string_view, 3> words = {"tanh2", "tank", "tans"};
  EXPECT_EQ(Suggest("tanh", words), "tanh2");
  const std::array<std::string_view, 2> nearer = {"lower_bound", "lower_bnd"};
  EXPECT_EQ(Suggest("lower_bn", nearer), "lower_bnd");
}

}  // namespace
}  // namespace catamaran
