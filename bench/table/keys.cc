#include "bench/table/keys.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace catamaran::bench {
namespace {

constexpr double kExponent = 1.2;

double UniformAt(uint64_t seed, uint64_t i) {
  return static_cast<double>(Mix64(Mix64(seed) + i) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<uint64_t> MakeRanks(const std::string& distribution, uint64_t rows, size_t count,
                                uint64_t seed) {
  std::vector<uint64_t> ranks(count);
  if (distribution == "uniform") {
    for (size_t i = 0; i < count; ++i) {
      ranks[i] =
          std::min(rows - 1, static_cast<uint64_t>(UniformAt(seed, i) * static_cast<double>(rows)));
    }
    return ranks;
  }
  if (distribution != "power") throw std::runtime_error("no distribution " + distribution);
  std::vector<double> sums(rows);
  double sum = 0;
  for (uint64_t r = 0; r < rows; ++r) {
    sum += std::pow(static_cast<double>(r + 1), -kExponent);
    sums[r] = sum;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto at = std::upper_bound(sums.begin(), sums.end(), UniformAt(seed, i) * sum);
    ranks[i] = std::min(rows - 1, static_cast<uint64_t>(at - sums.begin()));
  }
  return ranks;
}

KeyCase::KeyCase(const std::string& name) {
  const size_t dash = name.find('-');
  if (dash == std::string::npos) throw std::runtime_error("no case " + name);
  distribution = name.substr(0, dash);
  const size_t second = name.find('-', dash + 1);
  batch = static_cast<size_t>(std::atoll(name.substr(dash + 1, second - dash - 1).c_str()));
  const std::string rest = second == std::string::npos ? "" : name.substr(second + 1);
  if (rest == "two") {
    callers = 2;
  } else if (!rest.empty()) {
    times_rows = static_cast<size_t>(std::atoll(rest.c_str()));
  }
  if (batch == 0 || times_rows == 0) throw std::runtime_error("no case " + name);
}

size_t KeysARound(size_t batch, size_t rows) {
  const size_t keys = std::min<size_t>(1'000'000, std::max<size_t>(rows, batch));
  return std::max<size_t>(1, keys / batch) * batch;
}

std::vector<double> CheckSums(const std::vector<float>& rows) {
  double sum = 0, ordered = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i];
    ordered += rows[i] * static_cast<double>(i % 101);
  }
  return {sum, ordered};
}

}  // namespace catamaran::bench
