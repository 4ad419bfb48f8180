#include "catamaran/table/memory/step_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/memory/memory_table_test_util.h"

namespace catamaran {
namespace {

// A step with all kinds of sources.
std::unique_ptr<RandomStep> AnyStep(const TableConfig& config, unsigned seed, int64_t ids,
                                    uint64_t different) {
  RandomStep::Shape shape;
  shape.ids = ids;
  shape.different = different;
  shape.observes = seed % 4 != 0;
  return std::make_unique<RandomStep>(config, seed, 1, 2, shape);
}

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
    config.features = {"user", "item"};
    const RowRules rules(config);
    StepBatch batch(rules, 3);
    for (unsigned seed = 0; seed < 40; ++seed) {
      const auto random = AnyStep(config, seed, seed % 3 == 0 ? 20 : 500, 1 + seed * 10);
      const Expected expected(random->step());
      batch.Gather(random->step(), nullptr, true);
      ASSERT_EQ(batch.parts().size(), 1u);
      ExpectSame(batch, expected, width);
      std::vector<uint64_t> order;
      for (const StepKey& key : batch.parts()[0].keys()) order.push_back(key.key);
      ASSERT_EQ(order, expected.order);
      batch.Gather(random->step(), &pool, true);
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
  const auto random = AnyStep(config, 1, 60'000, 20'000);
  batch.Gather(random->step(), &pool, true);
  ExpectSame(batch, Expected(random->step()), 3);
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
