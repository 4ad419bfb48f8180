// Numbers as small integers.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catamaran/data/features/bucket.h"
#include "catamaran/data/features/standard_functions.h"

namespace catamaran {

FeatureKernel BucketKernel(FeatureCall& call, std::vector<double> boundaries) {
  call.NeedNumber(0);
  const ValueType type{ValueKind::kInteger, call.type(0).shape};
  return {type, [boundaries = std::move(boundaries)](const FeatureArgs& args, FeatureValues& out) {
            const auto& x = args[0].numbers;
            const auto missing = static_cast<int64_t>(boundaries.size()) + 1;
            int64_t* to = out.ints.Extend(x.size());
            for (size_t i = 0; i < x.size(); ++i) {
              to[i] = std::isnan(x[i])
                          ? missing
                          : std::ranges::upper_bound(boundaries, x[i]) - boundaries.begin();
            }
          }};
}

namespace {

FeatureKernel BindBucket(FeatureCall& call) {
  call.NeedValues(1);
  std::vector<double> boundaries = call.Numbers("boundaries");
  if (boundaries.empty()) call.Fail("wanted boundaries, as in bucket(age, [18, 30, 60])");
  if (!std::ranges::is_sorted(boundaries, std::less_equal<>())) {
    call.Fail("the boundaries do not rise");
  }
  const auto last = static_cast<int64_t>(boundaries.size());
  FeatureKernel kernel = BucketKernel(call, std::move(boundaries));
  kernel.mark_outside = [type = kernel.type, last](const FeatureArgs&, const FeatureValues& out,
                                                   std::span<uint8_t> marks) {
    MarkRows(type, out.offsets, marks,
             [&](size_t i) { return out.ints[i] == 0 || out.ints[i] == last; });
  };
  return kernel;
}

FeatureKernel BindOneHot(FeatureCall& call) {
  call.NeedValues(1);
  call.NeedInteger(0);
  if (!call.type(0).is_single()) call.Fail("wanted a single integer");
  const int64_t size = call.Integer("size", 0, 1, 1 << 20);
  if (size == 0) call.Fail("wanted size=…");
  return {{ValueKind::kNumber, {size}},
          [size](const FeatureArgs& args, FeatureValues& out) {
            const auto count = static_cast<size_t>(args.rows * size);
            double* to = out.numbers.Extend(count);
            std::fill_n(to, count, 0.0);
            for (const int64_t i : args[0].ints) {
              if (i >= 0 && i < size) to[i] = 1;
              to += size;
            }
          },
          [size](const FeatureArgs& args, const FeatureValues&, std::span<uint8_t> marks) {
            for (size_t r = 0; r < marks.size(); ++r) {
              if (args[0].ints[r] < 0 || args[0].ints[r] >= size) marks[r] = 1;
            }
          }};
}

}  // namespace

void AddBucketFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "bucket",
                 .usage = "bucket(x, [boundaries])",
                 .about = "how many boundaries are not larger than x: 0 to their number n; n + 1 "
                          "where x is missing",
                 .bind = BindBucket});
  functions.Add({.name = "one_hot",
                 .usage = "one_hot(x, size=…)",
                 .about = "a vector with a 1 at place x, all 0 where x is outside",
                 .bind = BindOneHot});
}

}  // namespace catamaran
