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

double UlpError64(double got, long double wanted) {
  const auto rounded = static_cast<double>(wanted);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || !std::isfinite(got)) return rounded == got ? 0 : INFINITY;
  const double next = std::nextafter(std::fabs(rounded), INFINITY);
  const long double unit = static_cast<long double>(next) - std::fabs(rounded);
  return static_cast<double>(std::fabs(got - wanted) / unit);
}

// Numbers over the whole range of T: patterns of bits, odd ones too, and corners.
template <class T>
std::vector<T> Everywhere() {
  std::vector<T> x;
  const auto add = [&](uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    x.push_back(value);
  };
  if (sizeof(T) == 4) {
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) add(bits);
  } else {
    for (uint64_t i = 0; i < 400000; ++i) add(i * 46116860184273ull);
  }
  // Where functions bend and results are of ordinary size.
  for (int i = -100000; i < 100000; ++i) x.push_back(static_cast<T>(i) * static_cast<T>(0.00037));
  for (double corner : {0.0, -0.0, double(INFINITY), -double(INFINITY), double(NAN), 1e-40, -1e-40,
                        88.7, -103.9, 709.7, -744.9, 3.14159265358979, 1.5707963267949, 1e5, 1e7}) {
    x.push_back(static_cast<T>(corner));
  }
  return x;
}

double WorstError(Isa isa, ScalarKind kind, double (*truth)(double)) {
  const VectorFn run = FindVector(isa, kind, VectorType::kF32, 0);
  const std::vector<float> x = Everywhere<float>();
  std::vector<float> y(x.size());
  const void* in[] = {x.data()};
  run(in, y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, UlpError(y[i], truth(x[i])));
  return worst;
}

double WorstError64(Isa isa, ScalarKind kind, long double (*truth)(long double)) {
  const VectorFn run = FindVector(isa, kind, VectorType::kF64, 0);
  const std::vector<double> x = Everywhere<double>();
  std::vector<double> y(x.size());
  const void* in[] = {x.data()};
  run(in, y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, UlpError64(y[i], truth(x[i])));
  return worst;
}

TEST(FloatMath, IsWithinFourUnitsInTheLastPlaceOverAllFloats) {
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    const auto level = static_cast<Isa>(isa);
    SCOPED_TRACE(IsaName(level));
    EXPECT_LT(WorstError(level, ScalarKind::kExp, [](double x) { return std::exp(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kExpm1, [](double x) { return std::expm1(x); }), 3);
    EXPECT_LT(WorstError(level, ScalarKind::kLog, [](double x) { return std::log(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kLog1p, [](double x) { return std::log1p(x); }), 4);
    EXPECT_LT(WorstError(level, ScalarKind::kTanh, [](double x) { return std::tanh(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kErf, [](double x) { return std::erf(x); }), 3);
    EXPECT_LT(WorstError(level, ScalarKind::kSin, [](double x) { return std::sin(x); }), 2);
    EXPECT_LT(WorstError(level, ScalarKind::kCos, [](double x) { return std::cos(x); }), 2);
    EXPECT_LT(
        WorstError(level, ScalarKind::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }),
        4);
  }
}

TEST(FloatMath, IsWithinFourUnitsInTheLastPlaceInDoubleToo) {
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    const auto level = static_cast<Isa>(isa);
    SCOPED_TRACE(IsaName(level));
    using Wide = long double;
    EXPECT_LT(WorstError64(level, ScalarKind::kExp, [](Wide x) { return std::exp(x); }), 2);
    EXPECT_LT(WorstError64(level, ScalarKind::kExpm1, [](Wide x) { return std::expm1(x); }), 3);
    EXPECT_LT(WorstError64(level, ScalarKind::kLog, [](Wide x) { return std::log(x); }), 2);
    EXPECT_LT(WorstError64(level, ScalarKind::kLog1p, [](Wide x) { return std::log1p(x); }), 4);
    EXPECT_LT(WorstError64(level, ScalarKind::kTanh, [](Wide x) { return std::tanh(x); }), 4);
    EXPECT_LT(WorstError64(level, ScalarKind::kSin, [](Wide x) { return std::sin(x); }), 3);
    EXPECT_LT(WorstError64(level, ScalarKind::kCos, [](Wide x) { return std::cos(x); }), 3);
    EXPECT_LT(
        WorstError64(level, ScalarKind::kSigmoid, [](Wide x) { return 1 / (1 + std::exp(-x)); }),
        4);
  }
}

// 1 + erf rounds to units of 1, so the error of gelu is one of x.
TEST(FloatMath, GeluIsWithinHalfAMillionthOfItsArgument) {
  const std::vector<float> x = Everywhere<float>();
  std::vector<float> y(x.size());
  const void* in[] = {x.data()};
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    FindFused(static_cast<Isa>(isa), FusedFormula::kGelu)(in, y.data(),
                                                          static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const double wanted = 0.5 * x[i] * std::erfc(-x[i] * 0.7071067811865476);
      ASSERT_LE(std::fabs(y[i] - wanted), 5e-7 * std::fabs(x[i]) + 1e-44) << "gelu of " << x[i];
    }
  }
}

TEST(FloatMath, PowersAreWithinTwoUnitsAndHaveTheCornersOfTheStandardLibrary) {
  std::vector<float> a, b;
  const float corners[] = {0.0f,      -0.0f, 1,        -1,       2,     -2,     0.5f,
                           -0.5f,     3,     -3,       1e-40f,   1e38f, -1e38f, INFINITY,
                           -INFINITY, NAN,   16777216, 16777218, -5,    1.5f,   7.25f};
  for (float x : corners) {
    for (float y : corners) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (int i = 1; i < 400; ++i) {
    for (int k = -200; k < 200; ++k) {
      a.push_back(0.013f * static_cast<float>(i * i));
      b.push_back(0.17f * static_cast<float>(k));
    }
  }
  std::vector<float> y(a.size());
  const void* in[] = {a.data(), b.data()};
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    FindVector(static_cast<Isa>(isa), ScalarKind::kPow, VectorType::kF32, 0)(
        in, y.data(), static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < y.size(); ++i) {
      const double wanted = std::pow(double(a[i]), double(b[i]));
      ASSERT_LT(UlpError(y[i], wanted), 2) << a[i] << " to the power of " << b[i] << " is " << y[i];
      if (std::isnan(y[i])) continue;
      ASSERT_EQ(std::signbit(y[i]), std::signbit(wanted)) << a[i] << " " << b[i];
    }
  }
}

TEST(FloatMath, GivesTheSameBitsForEveryInstructionSetAndEverySplit) {
  std::vector<float> x(1000), whole(1000), parts(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.02f * static_cast<float>(i) - 9.7f;
  for (ScalarKind kind : {ScalarKind::kExp, ScalarKind::kLog, ScalarKind::kTanh, ScalarKind::kErf,
                          ScalarKind::kSigmoid, ScalarKind::kLog1p, ScalarKind::kExpm1,
                          ScalarKind::kSin, ScalarKind::kCos}) {
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
