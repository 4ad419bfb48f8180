#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/samples.h"
#include "catamaran/ops/sorting/sorted_line.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& op, const std::vector<Tensor>& inputs,
                    std::vector<NamedAttr> attrs) {
  KernelBench bench;
  try {
    std::vector<Value*> operands;
    for (const Tensor& input : inputs) operands.push_back(bench.Arg(input));
    bench.Run(op, operands, {}, std::move(attrs));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Every length at which another way of sorting begins, against the standard library.
template <class T>
void ExpectSorted(const Tensor& x, bool descending) {
  const auto data = x.data<T>();
  std::vector<int64_t> wanted(data.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::stable_sort(wanted.begin(), wanted.end(), [&](int64_t a, int64_t b) {
    const T v = data[static_cast<size_t>(a)], w = data[static_cast<size_t>(b)];
    return descending ? w < v : v < w;
  });
  for (Isa isa : {Isa::kPlain, DetectIsa()}) {
    SortedLine<T> line;
    line.Sort(RankFunctionsFor(isa), data.data(), 1, static_cast<int64_t>(data.size()), descending);
    for (size_t k = 0; k < data.size(); ++k) {
      ASSERT_EQ(line.at(static_cast<int64_t>(k)), wanted[k]) << k << " of " << data.size();
      ASSERT_EQ(line.value(static_cast<int64_t>(k)), data[static_cast<size_t>(wanted[k])]);
    }
  }
}

TEST(Sorting, LinesOfEveryLengthAreSortedAndStable) {
  for (int64_t n : {1,  2,  15,  16,  17,  24,  25,   48,   49,   80,   95,
                    96, 97, 159, 160, 161, 200, 5000, 8191, 8192, 20000}) {
    for (bool descending : {false, true}) {
      ExpectSorted<float>(RandomInts({n}, -50, 50, DType::kF32), descending);
      ExpectSorted<float>(Uniform({n}, -1, 1), descending);
      ExpectSorted<int8_t>(RandomInts({n}, -128, 128, DType::kI8), descending);
      ExpectSorted<int64_t>(RandomInts({n}, -50, 50), descending);
      ExpectSorted<uint64_t>(RandomInts({n}, 0, int64_t{1} << 62, DType::kU64), descending);
    }
  }
}

TEST(Sorting, WhatIsOutOfRangeIsRefusedWithBothNumbers) {
  EXPECT_THAT(ErrorOf("bincount", {Ints({3}, {0, 5, 1})}, {{"size", 4}}),
              HasSubstr("5 at position 1 is not among the 4 numbers"));
  EXPECT_THAT(ErrorOf("bincount", {Ints({3}, {0, -1, 1})}, {{"size", 4}}),
              HasSubstr("-1 at position 1"));
  EXPECT_THAT(ErrorOf("topk", {Floats({3}, {1, 2, 3})}, {{"k", 4}}),
              HasSubstr("the best 4 of 3 elements"));
  EXPECT_THAT(ErrorOf("quantile", {Floats({3}, {1, 2, 3})}, {{"q", 1.5}}),
              HasSubstr("q must lie in [0, 1], found 1.5"));
  EXPECT_THAT(
      ErrorOf("histogram", {Floats({3}, {1, 2, 3})}, {{"bins", 2}, {"low", 1.0}, {"high", 1.0}}),
      HasSubstr("wants low < high"));
  EXPECT_THAT(ErrorOf("median", {Empty({2, 0})}, {}), HasSubstr("axis 1 has no elements"));
  EXPECT_THAT(ErrorOf("sort", {Bools({2}, {true, false})}, {}), HasSubstr("does not sort bool"));
}

}  // namespace
}  // namespace catamaran
