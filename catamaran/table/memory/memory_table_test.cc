#include "catamaran/table/memory/memory_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/table/memory/memory_table_test_util.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {
namespace {

constexpr int64_t kSecond = kNanosecondsPerSecond;

TableConfig Config(int64_t width, std::string_view optimizer) {
  TableConfig config;
  config.width = width;
  config.init = {TableInit::Kind::kNormal, 0.5, 0};
  config.optimizer = MakeOptimizer(optimizer, 0.1);
  config.seed = 7;
  return config;
}

// Policies of all kinds, by number.
TableConfig AnyConfig(unsigned n) {
  const auto optimizers = Optimizers();
  TableConfig config =
      Config(std::array{1, 3, 16, 40}[n % 4], optimizers[n % optimizers.size()].name);
  config.store = std::array{RowStore::kF32, RowStore::kBf16, RowStore::kInt8}[n % 3];
  switch (n % 5) {
    case 0:
      break;
    case 1:
      config.admit = {TableAdmit::Kind::kCount, 3};
      config.admit.time_to_live = n % 2 == 0 ? 20 * kSecond : 0;
      break;
    case 2:
      config.admit.kind = TableAdmit::Kind::kProbability;
      config.admit.probability = 0.3;
      break;
    case 3:
      config.admit = {TableAdmit::Kind::kSketch, 3};
      config.admit.sketch_bytes = 1 << 18;
      config.admit.window = 30 * kSecond;
      break;
    case 4:
      config.grow_at = 4;
      break;
  }
  config.unadmitted = std::array{Unadmitted::kInit, Unadmitted::kShared, Unadmitted::kZeros}[n % 3];
  if (n % 2 == 1) config.score.half_life = 10 * kSecond;
  config.score.click_weight = 2;
  if (n % 4 == 1) config.expire.unseen = 15 * kSecond;
  if (n % 4 == 2) config.expire.min_score = 0.5;
  if (n % 7 == 3) config.expire.max_bytes = 20'000;
  if (n % 3 != 0) config.features = {"user", "item"};
  return config;
}
constexpr unsigned kConfigs = 60;  // each rule with each policy

RandomStep::Shape AnyShape(unsigned n, unsigned step) {
  RandomStep::Shape shape;
  shape.different = 30 + 40 * (n % 5);
  shape.observes = (n + step / 4) % 3 != 0;
  shape.pushes = step % 5 != 2;
  return shape;
}

void ExpectSame(const TableContents& got, const TableContents& want, unsigned n) {
  ASSERT_EQ(got.records.size(), want.records.size()) << n;
  for (const auto& [hash, record] : want.records) {
    const auto it = got.records.find(hash);
    ASSERT_TRUE(it != got.records.end()) << n;
    ASSERT_EQ(static_cast<int>(it->second.c), static_cast<int>(record.c)) << n;
    ASSERT_EQ(it->second.words, record.words) << n;
  }
  for (const auto& [name, bytes] : want.extras) {
    ASSERT_TRUE(got.extras.count(name)) << name;
    ASSERT_EQ(got.extras.at(name), bytes) << n << " " << name;
  }
}

std::vector<float> PullAll(const Table& table, uint64_t keys) {
  std::vector<uint64_t> all;
  for (uint64_t key = 0; key < keys; ++key) all.push_back(key);
  std::vector<float> out(all.size() * static_cast<size_t>(table.width()));
  std::exception_ptr failed;
  table.Pull(
      all, out,
      {[](void* to, std::exception_ptr e) { *static_cast<std::exception_ptr*>(to) = e; }, &failed});
  if (failed) std::rethrow_exception(failed);
  return out;
}

TEST(MemoryTable, DoesInEveryStepWhatTheReferenceDoes) {
  for (unsigned n = 0; n < kConfigs; ++n) {
    const TableConfig config = AnyConfig(n);
    MemoryTable table(config);
    ReferenceTable reference(config);
    for (unsigned step = 0; step < 30; ++step) {
      const RandomStep random(config, n * 1000 + step, step, 100 * kSecond + step * kSecond * 2,
                              AnyShape(n, step));
      table.Apply(random.step());
      reference.Apply(random.step());
      ASSERT_EQ(table.size(), reference.size()) << n << " " << step;
      if (step % 6 != 5) continue;
      ExpectSame(ContentsOf(table), ContentsOf(reference), n);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_EQ(PullAll(table, 100), PullAll(reference, 100)) << n;
    }
    const TableInfo got = table.Info(), want = reference.Info();
    EXPECT_EQ(got.rows, want.rows);
    EXPECT_EQ(got.narrow_rows, want.narrow_rows);
    EXPECT_EQ(got.waiting, want.waiting);
    EXPECT_EQ(got.expired, want.expired);
    ASSERT_EQ(got.features.size(), want.features.size());
    for (size_t f = 0; f < got.features.size(); ++f) {
      EXPECT_EQ(got.features[f].rows, want.features[f].rows) << n << " " << f;
      EXPECT_EQ(got.features[f].occurrences, want.features[f].occurrences);
      EXPECT_EQ(got.features[f].shows, want.features[f].shows);
    }
    EXPECT_EQ(table.Expire(10'000 * kSecond), reference.Expire(10'000 * kSecond));
    ExpectSame(ContentsOf(table), ContentsOf(reference), n);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MemoryTable, NoResultDependsOnShardsOrThreads) {
  ThreadPool pool(3);
  for (unsigned n = 0; n < 15; ++n) {
    const TableConfig config = AnyConfig(n);
    MemoryTable one(config, {.shards = 1});
    MemoryTable two(config, {.shards = 2});
    MemoryTable eight(config, {.shards = 8});
    MemoryTable many(config, {.shards = 64});
    for (unsigned step = 0; step < 4; ++step) {
      RandomStep::Shape shape = AnyShape(n, step);
      shape.ids = 5'000;
      shape.different = 4'000;
      const RandomStep random(config, n * 1000 + step, step, step * kSecond, shape);
      one.Apply(random.step());
      two.Apply(random.step(&pool));
      eight.Apply(random.step());
      many.Apply(random.step(&pool));
    }
    const TableContents want = ContentsOf(one);
    ExpectSame(ContentsOf(two), want, n);
    ExpectSame(ContentsOf(eight), want, n);
    ExpectSame(ContentsOf(many), want, n);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MemoryTable, AStepThatMakesNoSenseChangesNothing) {
  TableConfig config = Config(4, "sgd");
  MemoryTable table(config);
  const std::vector<uint64_t> keys = {1, 2};
  const std::vector<float> gradients(8);
  RowsValue rows{.width = 2};
  rows.segments.push_back({.keys = keys.data(), .num_keys = 2, .gradients = gradients.data()});
  const TablePush push{&rows};
  const TableObservation seen{.keys = keys.data(), .num_keys = 2};
  EXPECT_THROW(table.Apply({0, 0, {&seen, 1}, {&push, 1}}), Error);
  EXPECT_EQ(table.size(), 0);
}

}  // namespace
}  // namespace catamaran
