// Measures the vector code's elementary functions of floats against those of the standard
// library in double, over the whole range of floats.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "catamaran/ops/vector_isa.h"

namespace catamaran {
namespace {

// The distance in units in the last place of the true value.
double UlpError(float got, double wanted) {
  const auto rounded = static_cast<float>(wanted);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || !std::isfinite(got)) return rounded == got ? 0 : INFINITY;
  const float next = std::nextafter(std::fabs(rounded), INFINITY);
  return std::fabs(double(got) - wanted) / (double(next) - std::fabs(double(rounded)));
}

double WorstError(Isa isa, ScalarKind kind, double (*truth)(double)) {
  const VectorFn run = FindVector(isa, kind, VectorType::kF32, 0);
  std::vector<float> x, y;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {  // also odd patterns
    const auto word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, 4);
    x.push_back(value);
  }
  for (float corner : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 88.7f, -103.9f}) {
    x.push_back(corner);
  }
  y.resize(x.size());
  const void* in[] = {x.data()};
  run(in, y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, UlpError(y[i], truth(x[i])));
  return worst;
}

TEST(FloatMath, IsWithinFourUnitsInTheLastPlaceOverAllFloats) {
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    const auto level = static_cast<Isa>(isa);
    SCOPED_TRACE(IsaName(level));
    EXPECT_LT(WorstError(level, ScalarKind::kExp, [](double x) { return std::exp(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kLog, [](double x) { return std::log(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kLog1p, [](double x) { return std::log1p(x); }), 4);
    EXPECT_LT(WorstError(level, ScalarKind::kTanh, [](double x) { return std::tanh(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kErf, [](double x) { return std::erf(x); }), 3);
    EXPECT_LT(
        WorstError(level, ScalarKind::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }),
        4);
  }
}

TEST(FloatMath, GivesTheSameBitsForEveryInstructionSetAndEverySplit) {
  std::vector<float> x(1000), whole(1000), parts(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.02f * static_cast<float>(i) - 9.7f;
  for (ScalarKind kind : {ScalarKind::kExp, ScalarKind::kLog, ScalarKind::kTanh, ScalarKind::kErf,
                          ScalarKind::kSigmoid, ScalarKind::kLog1p}) {
    const void* in[] = {x.data()};
    FindVector(Isa::kPlain, kind, VectorType::kF32, 0)(in, whole.data(), 1000);
    for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
      for (int64_t at = 0; at < 1000; at += 7) {
        const void* part[] = {x.data() + at};
        FindVector(static_cast<Isa>(isa), kind, VectorType::kF32, 0)(
            part, parts.data() + at, std::min<int64_t>(7, 1000 - at));
      }
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(std::memcmp(&whole[i], &parts[i], 4) == 0 || std::isnan(whole[i]), true)
            << InfoOf(kind).op << "(" << x[i] << ")";
      }
    }
  }
}

}  // namespace
}  // namespace catamaran
