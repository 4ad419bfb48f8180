// A user's library of feature functions, as docs/features.md describes it: one that computes, and
// one that learns from data.

#include <algorithm>
#include <cmath>

#include "catamaran/data/features/feature_library.h"

CATAMARAN_FEATURE_LIBRARY

namespace {

using namespace catamaran;

// A cell of a grid on the earth.
FeatureKernel BindCell(FeatureCall& call) {
  call.NeedValues(2);
  call.NeedNumber(0);
  call.NeedNumber(1);
  const double size = call.Number("degrees", 1);
  if (!(size > 0)) call.Fail("degrees is not positive");
  return {
      {ValueKind::kInteger, {}}, [size](const FeatureArgs& args, FeatureValues& out) {
        for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
          const double y = std::floor((args[0].numbers[r] + 90) / size);
          const double x = std::floor((args[1].numbers[r] + 180) / size);
          const bool missing = std::isnan(y) || std::isnan(x);
          out.ints.push_back(missing ? -1 : static_cast<int64_t>(y * std::ceil(360 / size) + x));
        }
      }};
}

class Largest : public FeatureFitter {
 public:
  void Add(const FeatureArgs& args) override {
    for (const double x : args[0].numbers) largest_ = std::max(largest_, std::fabs(x));
  }
  FittedValue Finish() override { return {.numbers = {largest_}, .texts = {}}; }

 private:
  double largest_ = 0;
};

// x by the largest |x| of the data.
FeatureKernel BindShare(FeatureCall& call) {
  call.NeedValues(1);
  call.NeedNumber(0);
  return {call.type(0),
          [by = call.fitted()->numbers[0]](const FeatureArgs& args, FeatureValues& out) {
            for (const double x : args[0].numbers) out.numbers.push_back(x / by);
          }};
}

}  // namespace

extern "C" void catamaran_add_feature_functions(catamaran::FeatureFunctionSet& functions) {
  functions.Add({.name = "cell",
                 .usage = "cell(latitude, longitude, degrees=1)",
                 .about = "the number of a cell of a grid on the earth",
                 .bind = BindCell,
                 .fit = {}});
  functions.Add({.name = "share",
                 .usage = "share(x)",
                 .about = "x by the largest of the data",
                 .bind = BindShare,
                 .fit = [](FeatureCall& call) -> std::unique_ptr<FeatureFitter> {
                   call.NeedValues(1);
                   call.NeedNumber(0);
                   return std::make_unique<Largest>();
                 }});
}
