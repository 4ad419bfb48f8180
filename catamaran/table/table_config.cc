#include "catamaran/table/table_config.h"

#include <cmath>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"
#include "catamaran/table/sketch.h"

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

void CheckAdmit(const TableAdmit& admit) {
  const bool counts =
      admit.kind == TableAdmit::Kind::kCount || admit.kind == TableAdmit::Kind::kSketch;
  const char* name = admit.kind == TableAdmit::Kind::kCount ? "count" : "sketch";
  if (counts && admit.count < 1) {
    Fail("table: admit = {}(n) wants n of at least 1, not {}", name, admit.count);
  }
  const double p = admit.probability;
  if (admit.kind == TableAdmit::Kind::kProbability && !(p >= 0 && p <= 1)) {
    Fail("table: admit = probability(p) wants p from 0 to 1, not {}", p);
  }
  if (admit.time_to_live < 0 || admit.window < 0) {
    Fail("table: admit wants a time that is not negative");
  }
  if (admit.kind != TableAdmit::Kind::kSketch) return;
  if (admit.count > TableSketch::kMaxCount) {
    Fail("table: admit = sketch(n) wants n of at most {}, not {}", TableSketch::kMaxCount,
         admit.count);
  }
  if (admit.sketch_bytes < TableSketch::kMinBytes) {
    Fail("table: admit = sketch(bytes) wants at least {} bytes, not {}", TableSketch::kMinBytes,
         admit.sketch_bytes);
  }
}

void CheckFeatures(const std::vector<std::string>& features) {
  if (features.size() > static_cast<size_t>(kMaxTableFeatures)) {
    Fail("table: at most {} features can share a table, not {}", kMaxTableFeatures,
         features.size());
  }
  for (size_t i = 0; i < features.size(); ++i) {
    if (features[i].empty()) Fail("table: a feature must have a name");
    for (size_t k = 0; k < i; ++k) {
      if (features[k] == features[i]) Fail("table: feature {} is named twice", features[i]);
      if (FeatureSalt(features[k]) == FeatureSalt(features[i])) {
        Fail("table: features {} and {} would have the same keys: rename one of them", features[k],
             features[i]);
      }
    }
  }
}

}  // namespace

void CheckTableConfig(const TableConfig& config) {
  if (config.width < 1 || config.width > kMaxTableWidth) {
    Fail("table: a row must have 1 to {} numbers, not {}", kMaxTableWidth, config.width);
  }
  if (!std::isfinite(config.init.a) || !std::isfinite(config.init.b)) {
    Fail("table: the initial values must be finite");
  }
  CheckAdmit(config.admit);
  const TableScore& score = config.score;
  if (!std::isfinite(score.show_weight) || !std::isfinite(score.click_weight)) {
    Fail("table: the weights of a score must be finite");
  }
  if (score.half_life < 0) Fail("table: score wants a half-life that is not negative");
  if (config.expire.unseen < 0) Fail("table: expire wants a time that is not negative");
  if (config.expire.max_bytes < 0) Fail("table: expire wants a budget that is not negative");
  if (config.expire.min_score && !std::isfinite(*config.expire.min_score)) {
    Fail("table: expire = score(below) wants a number that is finite");
  }
  if (config.grow_at && !std::isfinite(*config.grow_at)) {
    Fail("table: grow_at wants a number that is finite");
  }
  CheckFeatures(config.features);
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
