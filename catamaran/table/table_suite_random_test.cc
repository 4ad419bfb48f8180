// Random steps on a home of rows and on the reference table, side by side.

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/table_suite_test_util.h"

namespace catamaran {
namespace {

using namespace table_test;  // NOLINT: all of it is for tests

// A step with all that it points to. The same seed makes the same step.
class RandomStep {
 public:
  RandomStep(const TableConfig& config, unsigned seed, int64_t step, int64_t time, int keys_up_to,
             size_t batch = 40)
      : config_(config), random_(seed), keys_up_to_(keys_up_to), batch_(batch) {
    step_.step = step;
    step_.event_time = time;
    const bool observes = Chance(2);
    if (observes) {
      for (int n = 1 + Chance(3); n > 0; --n) AddObservation();
    }
    if (config.optimizer && (!observes || Chance(2))) {
      for (int n = 1 + Chance(4); n > 0; --n) AddPush();
    }
    for (size_t i = 0; i < values_.size(); ++i) pushes_[i].rows = values_[i].get();
    step_.observations = observations_;
    step_.pushes = pushes_;
  }
  RandomStep(const RandomStep&) = delete;

  const TableStep& step() const { return step_; }
  const std::set<uint64_t>& keys() const { return all_keys_; }

 private:
  bool Chance(unsigned one_in) { return random_() % one_in == 0; }
  float Number() { return static_cast<float>(random_() % 2001) / 1000 - 1; }

  std::vector<float>& Floats(size_t n) {
    floats_.push_back(std::make_unique<std::vector<float>>(n));
    for (float& x : *floats_.back()) x = Number();
    return *floats_.back();
  }
  // Few keys often, many seldom.
  const std::vector<uint64_t>& Keys(size_t n) {
    keys_.push_back(std::make_unique<std::vector<uint64_t>>());
    for (size_t i = 0; i < n; ++i) {
      const auto range = static_cast<uint64_t>(Chance(2) ? 1 + keys_up_to_ / 20 : keys_up_to_);
      keys_.back()->push_back(random_() % range);
    }
    return *keys_.back();
  }
  // Splits n keys into bags, some empty.
  const std::vector<int64_t>& Offsets(size_t n) {
    offsets_.push_back(std::make_unique<std::vector<int64_t>>(1, 0));
    for (size_t at = 0; at < n || Chance(2);) {
      at = std::min(n, at + random_() % 5);
      offsets_.back()->push_back(static_cast<int64_t>(at));
    }
    return *offsets_.back();
  }
  template <class T>
  void SetFeature(T& to, const std::vector<uint64_t>& keys) {
    if (!config_.features.empty() && !Chance(4)) {
      const size_t f = random_() % config_.features.size();
      to.salt = FeatureSalt(config_.features[f]);
      to.feature = static_cast<int>(f) + 1;
    }
    to.keys = keys.data();
    to.num_keys = static_cast<int64_t>(keys.size());
    if (Chance(2)) to.key_type = DType::kI64;
    for (uint64_t id : keys) all_keys_.insert(SaltedKey(id, to.salt));
  }
  void AddObservation() {
    TableObservation o;
    const std::vector<uint64_t>& keys = Keys(random_() % batch_ / 4 * 4);
    SetFeature(o, keys);
    if (Chance(3)) {
      const auto& offsets = Offsets(keys.size());
      o.offsets = offsets.data();
      o.num_groups = static_cast<int64_t>(offsets.size()) - 1;
    } else {
      o.keys_per_group = Chance(2) ? 1 : 4;
    }
    o.show_for_all = Chance(2);
    o.click_for_all = Chance(2);
    const auto values = [&] {
      std::vector<float>& v = Floats(keys.size() * 2 + 64);
      for (float& x : v) x = std::abs(x) * 2;
      return v.data();
    };
    if (!Chance(3)) o.show = values();
    if (!Chance(3)) o.click = values();
    observations_.push_back(o);
  }
  void AddPush() {
    auto rows = std::make_unique<RowsValue>();
    rows->width = config_.width;
    for (unsigned n = 1 + random_() % 2; n > 0; --n) {
      RowsSegment s;
      const std::vector<uint64_t>& keys = Keys(random_() % batch_ / 4 * 4);
      SetFeature(s, keys);
      s.pool = static_cast<Pool>(random_() % 4);
      s.num_bags = s.num_keys;
      if (s.pool != Pool::kNone) {
        if (Chance(2)) s.weights = Floats(keys.size()).data();
        s.stride = 4;
        s.num_bags = s.num_keys / 4;
        if (Chance(2)) {
          const auto& offsets = Offsets(keys.size());
          s.offsets = offsets.data();
          s.num_bags = static_cast<int64_t>(offsets.size()) - 1;
        }
      }
      s.gradients = Floats(static_cast<size_t>(s.num_bags * config_.width)).data();
      if (Chance(3)) s.scale = 0.5;
      rows->segments.push_back(s);
    }
    values_.push_back(std::move(rows));
    TablePush push;
    if (Chance(3)) push.scale = 0.3;
    if (Chance(3)) push.lr_scale = 0.7;
    pushes_.push_back(push);
  }

  const TableConfig& config_;
  std::mt19937 random_;
  int keys_up_to_;
  size_t batch_;
  std::vector<std::unique_ptr<std::vector<float>>> floats_;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> keys_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> offsets_;
  std::vector<std::unique_ptr<RowsValue>> values_;
  std::vector<TableObservation> observations_;
  std::vector<TablePush> pushes_;
  std::set<uint64_t> all_keys_;
  TableStep step_;
};

TableConfig RandomConfig(unsigned seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  TableConfig config =
      Config(one_of(1, 3, 16, 64, 1024),
             one_of("sgd", "momentum", "adagrad", "rowwise_adagrad", "adam", "ftrl"));
  config.seed = random();
  config.store = one_of(RowStore::kF32, RowStore::kBf16, RowStore::kInt8);
  config.unadmitted = one_of(Unadmitted::kInit, Unadmitted::kZeros, Unadmitted::kShared);
  switch (random() % 4) {
    case 0:
      break;
    case 1:
      config.admit = {TableAdmit::Kind::kCount, 1 + static_cast<int64_t>(random() % 4)};
      if (random() % 2) config.admit.time_to_live = 20 * kSecond;
      break;
    case 2:
      config.admit = {TableAdmit::Kind::kProbability, 1, 0.3};
      break;
    case 3:
      config.admit = {.kind = TableAdmit::Kind::kSketch,
                      .count = 1 + static_cast<int64_t>(random() % 4),
                      .sketch_bytes = TableSketch::kMinBytes,
                      .window = 15 * kSecond};
  }
  if (random() % 2) config.score = {0.5, 2, one_of(int64_t{0}, 10 * kSecond)};
  if (random() % 3 == 0) config.expire.unseen = 25 * kSecond;
  if (random() % 3 == 0) config.expire.min_score = 0.3;
  if (random() % 3 == 0) {
    config.expire.max_bytes = 60 * AccountedBytes(RowLayout(config), RowClass::kFull);
  }
  if (random() % 2) config.grow_at = 2;
  if (random() % 2) config.features = {"user", "item", "shop"};
  return config;
}

std::string Describe(const TableConfig& config) {
  return fmt::format(
      "width {} {} store {} admit {} unadmitted {} unseen {} score {} bytes {} grow {}",
      config.width, config.optimizer->fact().name, static_cast<int>(config.store),
      static_cast<int>(config.admit.kind), static_cast<int>(config.unadmitted),
      config.expire.unseen, config.expire.min_score.has_value(), config.expire.max_bytes,
      config.grow_at.has_value());
}

// Everything that can be seen of the two is the same.
void ExpectSame(const DurableTable& got, const DurableTable& want, const std::set<uint64_t>& keys) {
  const std::vector<uint64_t> list(keys.begin(), keys.end());
  ASSERT_EQ(got.size(), want.size());
  for (uint64_t key : list) {
    const Found a = Get(got, key), b = Get(want, key);
    ASSERT_EQ(a.exists(), b.exists()) << key;
    ASSERT_TRUE(a == b) << "the records of " << key << " differ";
  }
  const std::vector<float> a = PullRows(got, list), b = PullRows(want, list);
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  const TableInfo x = got.Info(), y = want.Info();
  ASSERT_EQ(x.rows, y.rows);
  ASSERT_EQ(x.narrow_rows, y.narrow_rows);
  ASSERT_EQ(x.waiting, y.waiting);
  ASSERT_EQ(x.expired, y.expired);
  ASSERT_EQ(x.features.size(), y.features.size());
  for (size_t f = 0; f < x.features.size(); ++f) {
    ASSERT_EQ(x.features[f].rows, y.features[f].rows);
    ASSERT_EQ(x.features[f].occurrences, y.features[f].occurrences);
    ASSERT_EQ(x.features[f].shows, y.features[f].shows);
    ASSERT_EQ(x.features[f].clicks, y.features[f].clicks);
  }
}

TEST_P(TableSuite, AgreesWithTheReferenceOnRandomSteps) {
  for (unsigned seed = 0; seed < 120; seed += GetParam().one_round_in) {
    const TableConfig config = RandomConfig(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, Describe(config)));
    const auto table = Make(config);
    ReferenceTable oracle(config);
    std::set<uint64_t> keys = {1, UINT64_MAX};
    for (int64_t step = 0; step < 40; ++step) {
      const RandomStep random(config, seed * 1000 + static_cast<unsigned>(step), step,
                              step * kSecond, 200);
      keys.insert(random.keys().begin(), random.keys().end());
      table->Apply(random.step());
      oracle.Apply(random.step());
      if (step % 10 == 9) {
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*table, oracle, keys)) << step;
      }
      if (step == 30) {
        ASSERT_EQ(table->Expire(35 * kSecond), oracle.Expire(35 * kSecond));
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(*table, oracle, keys));
  }
}

TEST_P(TableSuite, LargeStepsOnManyThreadsGiveTheSame) {
  ThreadPool pool(3);
  for (unsigned seed = 0; seed < 8; seed += GetParam().one_round_in) {
    TableConfig config = RandomConfig(seed + 500);
    config.width = std::min<int64_t>(config.width, 16);
    config.expire.max_bytes *= 50;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, Describe(config)));
    const auto table = Make(config);
    ReferenceTable oracle(config);
    std::set<uint64_t> keys;
    for (int64_t step = 0; step < 4; ++step) {
      const RandomStep random(config, seed * 1000 + static_cast<unsigned>(step), step,
                              step * 10 * kSecond, 20'000, 12'000);
      keys.insert(random.keys().begin(), random.keys().end());
      TableStep with_pool = random.step();
      with_pool.pool = &pool;
      table->Apply(with_pool);
      oracle.Apply(random.step());
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(*table, oracle, keys));
  }
}

// A table that is saved by cuts, restored in the middle and trained on is the one that never
// stopped.
TEST_P(TableSuite, CutsPutOverOneAnotherAreTheTable) {
  for (unsigned seed = 0; seed < 40; seed += GetParam().one_round_in) {
    TableConfig config = RandomConfig(seed + 900);
    config.width = std::min<int64_t>(config.width, 64);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, Describe(config)));
    auto table = Make(config);
    ReferenceTable oracle(config);
    auto saved = std::make_shared<SavedRows>(config);
    std::set<uint64_t> keys;
    std::mt19937 random(seed);
    std::unique_ptr<TableCut> cut;
    for (int64_t step = 0; step < 60; ++step) {
      const RandomStep next(config, seed * 1000 + static_cast<unsigned>(step), step, step * kSecond,
                            150);
      keys.insert(next.keys().begin(), next.keys().end());
      if (step % 5 == 4) {
        cut = table->Cut(step == 4);
        // Half of them are written while a later step has changed the table.
        const bool late = random() % 2 == 0, kept = step == 4 || random() % 3 != 0;
        const auto as_it_was = std::make_shared<SavedRows>(*saved);
        std::string cold;
        const auto save = [&] {
          saved->Add(*cut);
          cold = SaveColdRows(*table);
        };
        if (!late) save();
        const auto before_step = std::make_unique<ReferenceTable>(config);
        const auto everything = oracle.Cut(true);
        SavedRows copy(config);
        copy.Add(*everything);
        before_step->Attach(std::make_shared<SavedRows>(copy));
        oracle.EndCut(nullptr, true);

        table->Apply(next.step());
        oracle.Apply(next.step());
        if (late) save();
        table->EndCut(std::move(cut), kept);

        const auto restored = Restore(config, saved, cold);
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*restored, *before_step, keys)) << step;
        if (!kept) saved = as_it_was;
        // What was restored goes on as the others do, whether its rows have moved in or not.
        if (random() % 2) {
          while (restored->MoveIn(50)) {
          }
        }
        restored->Apply(next.step());
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*restored, oracle, keys)) << step;
        continue;
      }
      table->Apply(next.step());
      oracle.Apply(next.step());
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(*table, oracle, keys));
  }
}

// What a cut of full rows holds is what changed: `touched` keys a step, `changed` different ones.
void ExpectHolds(const DurableTable& table, TableCut& cut, const std::set<uint64_t>& changed,
                 int64_t touched) {
  std::set<uint64_t> rows, deleted;
  cut.ForEachRow(RowClass::kFull, [&](const uint32_t* r) { rows.insert(RecordKey(r)); });
  cut.ForEachDeleted([&](uint64_t key) { deleted.insert(key); });
  EXPECT_FALSE(cut.full());
  if (!table.keeps_cold_rows()) {
    EXPECT_EQ(rows, changed);
    EXPECT_EQ(deleted, std::set<uint64_t>());
    return;
  }
  // What changed may have left memory. A step makes no more rows leave than it touches, and where
  // one leaves another may move, which changes it.
  for (uint64_t key : changed) EXPECT_TRUE(rows.contains(key) || deleted.contains(key)) << key;
  EXPECT_LE(std::ssize(deleted), touched);
  EXPECT_LE(std::ssize(rows), std::ssize(changed) + touched);
}

TEST_P(TableSuite, ACutHoldsWhatChangedAndNothingElse) {
  const TableConfig config = Config(4);
  const auto table = Make(config);
  std::vector<uint64_t> keys(1000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  Observe(*table, 0, 0, keys);
  const auto saved = std::make_shared<SavedRows>(config);
  auto cut = table->Cut(true);
  saved->Add(*cut);
  table->EndCut(std::move(cut), true);

  Observe(*table, 1, 0, {3, 4, 4, 5'000});
  cut = table->Cut(false);
  ExpectHolds(*table, *cut, {3, 4, 5'000}, 3);
  table->EndCut(std::move(cut), false);

  Observe(*table, 2, 0, {3, 6});
  cut = table->Cut(false);
  ExpectHolds(*table, *cut, {3, 4, 5'000, 6}, 5);  // what was not kept is changed still
  saved->Add(*cut);
  const std::string cold = SaveColdRows(*table);
  table->EndCut(std::move(cut), true);
  std::set<uint64_t> all(keys.begin(), keys.end());
  all.insert({5'000, 5'001});
  ASSERT_NO_FATAL_FAILURE(ExpectSame(*Restore(config, saved, cold), *table, all));

  cut = table->Cut(false);
  ExpectHolds(*table, *cut, {}, 0);
  table->EndCut(std::move(cut), true);
}

TEST_P(TableSuite, ARecordThatIsPutIsTheRowAndCountsAsChanged) {
  TableConfig config = Config(3, "adagrad");
  config.grow_at = 5;
  const auto table = Make(config);
  const RowRules rules(config);
  std::vector<uint32_t> record(static_cast<size_t>(rules.layout().of(RowClass::kFull).words));
  rules.Make(RowClass::kFull, 42, 0, 9, record.data());
  Observe(*table, 0, 0, {42, 43});
  const auto saved = std::make_shared<SavedRows>(config);
  auto cut = table->Cut(true);
  saved->Add(*cut);
  table->EndCut(std::move(cut), true);
  table->Put(RowClass::kFull, record.data());
  EXPECT_EQ(Get(*table, 42).words, record);
  EXPECT_EQ(table->size(), 2);
  EXPECT_EQ(table->Info().narrow_rows, 1);

  cut = table->Cut(false);
  if (!table->keeps_cold_rows()) {
    EXPECT_EQ(cut->num_rows(RowClass::kFull), 1);
  }
  EXPECT_LE(cut->num_rows(RowClass::kNarrow), 1);  // a row that had to move may be among them
  saved->Add(*cut);
  const std::string cold = SaveColdRows(*table);
  table->EndCut(std::move(cut), true);
  const auto restored = Restore(config, saved, cold);
  EXPECT_EQ(Get(*restored, 42).words, record);
  EXPECT_EQ(Get(*restored, 43), Get(*table, 43));
}

TEST_P(TableSuite, ARowIsSeenWholeWhileItIsTrained) {
  TableConfig config = ZeroConfig(33, "sgd", 1.0);
  config.expire.unseen = 64 * kSecond;
  const auto table = Make(config);
  const std::vector<uint64_t> keys = {1, 2, 3, 4, 5, 6, 7, 8};
  std::atomic<bool> stop = false;
  std::atomic<int64_t> torn = 0, pulls = 0;
  std::thread reader([&] {
    while (!stop) {
      const std::vector<float> rows = PullRows(*table, keys);
      for (size_t r = 0; r < keys.size(); ++r) {
        for (size_t i = 1; i < 33; ++i) torn += rows[r * 33 + i] != rows[r * 33];
      }
      ++pulls;
    }
  });
  const Batch batch(33, keys, std::vector<float>(keys.size() * 33, -1.0f));
  for (int64_t step = 0; step < 2000 || pulls < 20; ++step) {
    // Now and then all rows go, and come again.
    Push(*table, step, step * kSecond, batch);
    if (step % 50 == 49) table->Expire((step + 65) * kSecond);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace catamaran
