#include "catamaran/table/memory/step_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catamaran/base/thread_pool.h"

namespace catamaran {
namespace {

// A step with all kinds of sources, and what it owns.
struct RandomStep {
  std::vector<std::vector<uint64_t>> ids;
  std::vector<std::vector<int32_t>> small_ids;
  std::vector<std::vector<float>> numbers;
  std::vector<std::vector<int64_t>> offsets;
  std::vector<RowsValue> rows;
  std::vector<TableObservation> observations;
  std::vector<TablePush> pushes;
  std::mt19937 random;
  int64_t width;

  RandomStep(unsigned seed, int64_t w, int64_t num_ids, uint64_t different)
      : random(seed), width(w) {
    for (auto* all : {&numbers}) all->reserve(100);
    ids.reserve(100), small_ids.reserve(100), offsets.reserve(100), rows.reserve(100);
    const int num_observations = static_cast<int>(random() % 4);
    for (int i = 0; i < num_observations; ++i) {
      TableObservation o;
      const int64_t n = static_cast<int64_t>(random() % static_cast<unsigned>(num_ids + 1));
      if (i == 1) {
        small_ids.emplace_back();
        for (int64_t k = 0; k < n; ++k) {
          small_ids.back().push_back(static_cast<int32_t>(random() % different) - 5);
        }
        o.keys = small_ids.back().data();
        o.key_type = DType::kI32;
      } else {
        o.keys = Ids(n, different);
      }
      o.num_keys = n;
      o.feature = i;
      o.salt = i == 2 ? 77 : 0;
      if (random() % 2) {
        o.offsets = Offsets(n, 7);
        o.num_groups = 7;
        o.show = Numbers(7);
      } else {
        o.keys_per_group = 1 + static_cast<int64_t>(random() % 3);
        o.show = Numbers(n);
      }
      if (random() % 2) o.click = Numbers(n + 7);
      o.show_for_all = random() % 4 == 0;
      observations.push_back(o);
    }
    for (int i = 0; i < 2; ++i) {
      rows.push_back({.width = width});
      for (int s = 0; s < 3; ++s) {
        RowsSegment segment;
        int64_t n = static_cast<int64_t>(random() % static_cast<unsigned>(num_ids + 1));
        segment.scale = s == 1 ? 0.3 : 1;
        segment.feature = s;
        if (s == 1) {
          segment.pool = Pool::kMean;
          segment.num_bags = 5;
          segment.offsets = Offsets(n, 5);
          segment.weights = random() % 2 ? Numbers(n) : nullptr;
          segment.gradients = Numbers(5 * width);
        } else if (s == 2) {
          segment.pool = Pool::kSqrt;
          segment.stride = 3;
          segment.num_bags = n / 3;
          n = segment.num_bags * 3;
          segment.gradients = Numbers(segment.num_bags * width + 1);
          segment.salt = 99;
        } else {
          segment.gradients = Numbers(n * width + 1);
        }
        segment.keys = Ids(n, different);
        segment.num_keys = n;
        rows.back().segments.push_back(segment);
      }
      pushes.push_back({&rows.back(), i == 1 ? 0.7 : 1.0, 1.0 + i});
    }
  }

  const uint64_t* Ids(int64_t n, uint64_t different) {
    ids.emplace_back();
    for (int64_t k = 0; k <= n; ++k) ids.back().push_back(random() % different);
    return ids.back().data();
  }
  const float* Numbers(int64_t n) {
    numbers.emplace_back();
    for (int64_t k = 0; k <= n; ++k) {
      numbers.back().push_back(static_cast<float>(random() % 1000) / 300 - 1);
    }
    return numbers.back().data();
  }
  const int64_t* Offsets(int64_t n, int64_t groups) {
    offsets.emplace_back();
    for (int64_t g = 1; g < groups; ++g) {
      offsets.back().push_back(static_cast<int64_t>(random() % static_cast<unsigned>(n + 1)));
    }
    offsets.back().push_back(0);
    offsets.back().push_back(n);
    std::sort(offsets.back().begin(), offsets.back().end());
    return offsets.back().data();
  }
  TableStep step() const { return {1, 2, observations, pushes}; }
};

// The same from the definitions, in a map.
struct Expected {
  struct Key {
    std::vector<std::pair<float, float>> seen;
    std::vector<float> sum;
    uint32_t pushes = 0;
    double lr_scale = 0;
    int feature = 0;
    bool first = true;
  };
  std::map<uint64_t, Key> keys;
  std::vector<uint64_t> order;   // of first occurrence
  std::vector<uint64_t> pushed;  // all

  explicit Expected(const TableStep& step) {
    for (const TableObservation& o : step.observations) {
      const RowsSegment ids{
          .keys = o.keys, .key_type = o.key_type, .num_keys = o.num_keys, .salt = o.salt};
      int64_t group = 0;
      for (int64_t i = 0; i < o.num_keys; ++i) {
        if (o.offsets != nullptr) {
          while (o.offsets[group + 1] <= i) ++group;
        } else {
          group = i / o.keys_per_group;
        }
        At(ids.Key(i), o.feature)
            .seen.push_back({o.show ? o.show[o.show_for_all ? 0 : group] : 1.0f,
                             o.click ? o.click[o.click_for_all ? 0 : group] : 0.0f});
      }
    }
    for (const TablePush& push : step.pushes) {
      const float scale = static_cast<float>(push.scale);
      for (const RowsSegment& segment : push.rows->segments) {
        RowsValue one{.width = push.rows->width, .segments = {segment}};
        ForEachRow<float>(one, [&](uint64_t id, const float* g, float factor) {
          Key& key = At(id, segment.feature);
          pushed.push_back(id);
          ++key.pushes;
          key.lr_scale = push.lr_scale;
          for (size_t k = 0; k < static_cast<size_t>(one.width); ++k) {
            const float x = g[k] * factor * scale;
            if (key.sum.size() <= k) {
              key.sum.push_back(x);
            } else {
              key.sum[k] += x;
            }
          }
        });
      }
    }
  }

  Key& At(uint64_t id, int feature) {
    Key& key = keys[id];
    if (std::exchange(key.first, false)) {
      order.push_back(id);
      key.feature = feature;
    }
    return key;
  }
};

void ExpectSame(StepBatch& batch, const Expected& expected, int64_t width) {
  size_t total = 0;
  for (StepPart& part : batch.parts()) {
    for (const StepKey& got : part.keys()) {
      ++total;
      ASSERT_TRUE(expected.keys.count(got.key));
      const Expected::Key& want = expected.keys.at(got.key);
      std::vector<std::pair<float, float>> seen;
      part.ForEachSeen(got, [&](float show, float click) { seen.push_back({show, click}); });
      ASSERT_EQ(seen, want.seen);
      ASSERT_EQ(got.pushes, want.pushes);
      ASSERT_EQ(got.feature, want.feature);
      if (want.pushes == 0) {
        ASSERT_EQ(got.gradient, nullptr);
        continue;
      }
      const TablePush& push = batch.sources().push(got.last_source);
      ASSERT_EQ(push.lr_scale, want.lr_scale);
      const float scale = got.summed() ? 1.0f : static_cast<float>(push.scale);
      for (int64_t k = 0; k < width; ++k) {
        ASSERT_EQ(got.gradient[k] * got.factor * scale, want.sum[static_cast<size_t>(k)]);
      }
    }
  }
  ASSERT_EQ(total, expected.keys.size());
  std::vector<uint64_t> pushed;
  batch.ForEachPushed([&](const StepKey& key, const StepOccurrence& occurrence) {
    ASSERT_EQ(key.key, occurrence.key);
    pushed.push_back(key.key);
  });
  ASSERT_EQ(pushed, expected.pushed);
}

TEST(StepBatch, HoldsEveryKeyOnceWithAllThatHappensToIt) {
  ThreadPool pool(3);
  for (const int64_t width : {1, 5, 16, 37}) {
    TableConfig config;
    config.width = width;
    config.seed = 5;
    const RowRules rules(config);
    StepBatch batch(rules, 3);
    for (unsigned seed = 0; seed < 40; ++seed) {
      const RandomStep random(seed, width, seed % 3 == 0 ? 20 : 500, 1 + seed * 10);
      const Expected expected(random.step());
      batch.Gather(random.step(), nullptr, true);
      ASSERT_EQ(batch.parts().size(), 1u);
      ExpectSame(batch, expected, width);
      std::vector<uint64_t> order;
      for (const StepKey& key : batch.parts()[0].keys()) order.push_back(key.key);
      ASSERT_EQ(order, expected.order);
      batch.Gather(random.step(), &pool, true);
      ASSERT_EQ(batch.parts().size(), 8u);
      ExpectSame(batch, expected, width);
    }
  }
}

TEST(StepBatch, ManyThreadsSortALargeStepIntoParts) {
  ThreadPool pool(4);
  TableConfig config;
  config.width = 3;
  const RowRules rules(config);
  StepBatch batch(rules, 4);
  const RandomStep random(1, 3, 60'000, 20'000);
  batch.Gather(random.step(), &pool, true);
  ExpectSame(batch, Expected(random.step()), 3);
  for (size_t p = 0; p < batch.parts().size(); ++p) {
    for (const StepKey& key : batch.parts()[p].keys()) {
      ASSERT_EQ(key.hash, config.Hash(key.key));
      ASSERT_EQ(key.hash >> 60, p);
    }
  }
}

TEST(StepBatch, AGradientThatIsAloneIsNotCopied) {
  TableConfig config;
  config.width = 4;
  const RowRules rules(config);
  StepBatch batch(rules, 0);
  const std::vector<uint64_t> keys = {1, 2, 1};
  const std::vector<float> gradients(12, 1.0f);
  RowsValue rows{.width = 4};
  rows.segments.push_back({.keys = keys.data(), .num_keys = 3, .gradients = gradients.data()});
  const TablePush push{&rows};
  batch.Gather({0, 0, {}, {&push, 1}}, nullptr, false);
  const auto got = batch.parts()[0].keys();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].gradient, gradients.data() + 4);
  EXPECT_TRUE(got[0].summed());
  EXPECT_EQ(got[0].gradient[3], 2);
}

}  // namespace
}  // namespace catamaran
