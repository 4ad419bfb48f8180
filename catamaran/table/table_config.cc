#include "catamaran/table/table_config.h"

#include <cmath>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"

namespace catamaran {
namespace {

// Streams of one seed that must not meet.
constexpr uint64_t kInitStream = 0x696e6974;
constexpr uint64_t kSharedStream = 0x73686172;
constexpr uint64_t kAdmitStream = 0x61646d69;
constexpr uint64_t kFeatureStream = 0x66656174;

// Philox(stream, block, key): the key is a counter, so different keys never share bits.
void Fill(const TableConfig& config, uint64_t stream, uint64_t key, float* row) {
  const TableInit& init = config.init;
  for (int64_t i = 0; i < config.width; i += 4) {
    float four[4] = {};
    if (init.kind == TableInit::Kind::kConstant) {
      for (float& x : four) x = static_cast<float>(init.a);
    } else if (init.kind != TableInit::Kind::kZeros) {
      const PhiloxBlock bits = Philox(stream, static_cast<uint64_t>(i / 4), key);
      if (init.kind == TableInit::Kind::kUniform) {
        const float low = static_cast<float>(init.a), span = static_cast<float>(init.b - init.a);
        for (int k = 0; k < 4; ++k) four[k] = low + span * UniformFloat(bits.words[k]);
      } else {
        const float deviation = static_cast<float>(init.a);
        for (int k = 0; k < 4; k += 2) {
          const NormalPair pair = NormalFloats(bits.words[k], bits.words[k + 1]);
          four[k] = deviation * pair.first;
          four[k + 1] = deviation * pair.second;
        }
      }
    }
    for (int64_t k = i; k < config.width && k < i + 4; ++k) row[k] = four[k - i];
  }
}

}  // namespace

void CheckTableConfig(const TableConfig& config) {
  if (config.width <= 0) Fail("table: a row must have at least one number, not {}", config.width);
  if (config.admit.kind == TableAdmit::Kind::kCount && config.admit.count < 1) {
    Fail("table: admit = count(n) wants n of at least 1, not {}", config.admit.count);
  }
  const double p = config.admit.probability;
  if (config.admit.kind == TableAdmit::Kind::kProbability && !(p >= 0 && p <= 1)) {
    Fail("table: admit = probability(p) wants p from 0 to 1, not {}", p);
  }
  if (config.expire.unseen < 0) Fail("table: expire wants a time that is not negative");
  if (!std::isfinite(config.init.a) || !std::isfinite(config.init.b)) {
    Fail("table: the initial values must be finite");
  }
}

uint64_t FeatureSalt(std::string_view feature) {
  return feature.empty() ? 0 : HashString(feature, kFeatureStream) | 1;
}

void FillInitialRow(const TableConfig& config, uint64_t key, float* row) {
  Fill(config, HashCombine(config.seed, kInitStream), key, row);
}

void FillSharedRow(const TableConfig& config, float* row) {
  Fill(config, HashCombine(config.seed, kSharedStream), 0, row);
}

bool DrawAdmits(const TableConfig& config, uint64_t key, int64_t step) {
  const PhiloxBlock bits =
      Philox(HashCombine(config.seed, kAdmitStream), static_cast<uint64_t>(step), key);
  return UniformDouble(bits.words[0], bits.words[1]) < config.admit.probability;
}

}  // namespace catamaran
