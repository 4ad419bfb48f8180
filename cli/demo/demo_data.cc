// cli/demo_data.cc

#include "cli/demo/demo_data.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catamaran/base/random.h"

namespace catamaran::cli {

SpiralPoints MakeSpirals(uint64_t seed, int64_t first, int64_t count) {
  constexpr double kTurns = 2.0, kNoise = 0.02, kTwoPi = 6.283185307179586;
  std::vector<float> x, label;
  for (int64_t i = first; i < first + count; ++i) {
    const PhiloxBlock random = Philox(seed, static_cast<uint64_t>(i));
    const int arm = static_cast<int>(random.words[0] >> 31);
    // The square root spreads the points evenly along the arm.
    const double along = std::sqrt(0.02 + 0.98 * UniformFloat(random.words[1]));
    const double angle = along * kTurns * kTwoPi + arm * kTwoPi / 2;
    const NormalPair noise = NormalFloats(random.words[2], random.words[3]);
    x.push_back(static_cast<float>(along * std::cos(angle) + kNoise * noise.first));
    x.push_back(static_cast<float>(along * std::sin(angle) + kNoise * noise.second));
    label.push_back(static_cast<float>(arm));
  }
  return {Tensor::FromVector<float>({count, 2}, x), Tensor::FromVector<float>(label)};
}

std::string DrawPoints(const Tensor& x, const Tensor& probability, int width, int height) {
  std::vector<std::string> rows(static_cast<size_t>(height),
                                std::string(static_cast<size_t>(width), ' '));
  const auto points = x.data<float>();
  const auto p = probability.data<float>();
  const auto place = [](float at, int cells) {
    const int cell = static_cast<int>((at + 1.05f) / 2.1f * static_cast<float>(cells));
    return static_cast<size_t>(std::clamp(cell, 0, cells - 1));
  };
  for (size_t i = 0; i < p.size(); ++i) {
    rows[place(-points[2 * i + 1], height)][place(points[2 * i], width)] = p[i] > 0.5f ? '#' : 'o';
  }
  std::string text;
  for (const std::string& row : rows) {
    const size_t end = row.find_last_not_of(' ');
    text += (end == row.npos ? "" : "  " + row.substr(0, end + 1)) + "\n";
  }
  return text;
}

}  // namespace catamaran::cli
