#include "catamaran/base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>

namespace catamaran {
namespace {

int Twice(int x) { return 2 * x; }
int Apply(FunctionRef<int(int)> function, int x) { return function(x); }

TEST(FunctionRef, CallsFunctionsPointersAndLambdas) {
  int offset = 10;
  int (*pointer)(int) = Twice;
  const auto constant = [](int x) { return -x; };
  EXPECT_EQ(Apply(Twice, 4), 8);
  EXPECT_EQ(Apply(pointer, 4), 8);
  EXPECT_EQ(Apply(constant, 4), -4);
  EXPECT_EQ(Apply([&](int x) { return x + offset; }, 4), 14);
}

TEST(FunctionRef, ACopyRefersToTheCallableAndNotToTheOriginal) {
  int calls = 0;
  auto count = [&] { ++calls; };
  auto original = std::make_unique<FunctionRef<void()>>(count);
  const FunctionRef<void()> copy = *original;
  original.reset();
  copy();
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, PassesOnArgumentsThatCanOnlyBeMoved) {
  const auto read = [](std::unique_ptr<int> p) { return *p; };
  const FunctionRef<int(std::unique_ptr<int>)> ref = read;
  EXPECT_EQ(ref(std::make_unique<int>(7)), 7);
}

}  // namespace
}  // namespace catamaran
