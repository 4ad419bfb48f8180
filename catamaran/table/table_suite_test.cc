#include <cmath>

#include "catamaran/base/error.h"
#include "catamaran/table/table_suite_test_util.h"

namespace catamaran {
namespace {

using namespace table_test;  // NOLINT: all of it is for tests

INSTANTIATE_TEST_SUITE_P(
    Reference, TableSuite,
    testing::ValuesIn<HomeUnderTest>({{"Table",
                                       [](const TableConfig& config) {
                                         return std::make_unique<ReferenceTable>(config);
                                       }}}),
    HomeName);

// --- Reading.

TEST_P(TableSuite, PullMakesNoRowAndGivesTheInitialValueOfTheKey) {
  const auto table = Make(Config(5));
  const auto a = PullRows(*table, {1, 2, 1});
  EXPECT_EQ(table->size(), 0);
  EXPECT_FALSE(Get(*table, 1).exists());
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 5, a.begin() + 10));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 5, a.begin() + 5));
  EXPECT_EQ(a, PullRows(*Make(Config(5)), {1, 2, 1}));
  TableConfig other = Config(5);
  other.seed = 8;
  EXPECT_NE(a, PullRows(*Make(other), {1, 2, 1}));
  EXPECT_TRUE(PullRows(*table, {}).empty());
}

TEST_P(TableSuite, PullChangesNothingOfARow) {
  TableConfig config = Config(3, "adam");
  config.admit = {TableAdmit::Kind::kCount, 2};
  const auto table = Make(config);
  Push(*table, 0, kDay, Batch(3, {1, 1, 2}, std::vector<float>(9, 1)));
  const Found row = Get(*table, 1), waiting = Get(*table, 2);
  ASSERT_TRUE(row.is_row());
  ASSERT_TRUE(waiting.exists() && !waiting.is_row());
  for (int i = 0; i < 5; ++i) PullRows(*table, {1, 2, 3, 2});
  EXPECT_EQ(Get(*table, 1), row);
  EXPECT_EQ(Get(*table, 2), waiting);
  EXPECT_FALSE(Get(*table, 3).exists());
  EXPECT_EQ(table->Info().waiting, 1);
}

TEST_P(TableSuite, InitialValuesHaveTheDeclaredDistribution) {
  TableConfig config = Config(8);
  std::vector<uint64_t> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 977;
  double sum = 0, squares = 0;
  const auto normal = PullRows(*Make(config), keys);
  for (float x : normal) sum += x, squares += x * x;
  const double n = static_cast<double>(normal.size());
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 0.5, 0.01);

  config.init = {TableInit::Kind::kUniform, -1, 3};
  sum = 0;
  for (float x : PullRows(*Make(config), keys)) {
    ASSERT_GE(x, -1);
    ASSERT_LT(x, 3);
    sum += x;
  }
  EXPECT_NEAR(sum / n, 1, 0.03);
  config.init = {TableInit::Kind::kConstant, 2.5, 0};
  EXPECT_EQ(PullRows(*Make(config), {9}), std::vector<float>(8, 2.5f));
}

TEST_P(TableSuite, EveryKeyIsLegal) {
  const auto table = Make(ZeroConfig(1));
  Push(*table, 0, 0, Batch(1, {0, UINT64_MAX, uint64_t{1} << 63}, {1, 2, 3}));
  EXPECT_EQ(table->size(), 3);
  EXPECT_EQ(PullRows(*table, {UINT64_MAX, 0}), (std::vector<float>{-0.2f, -0.1f}));
}

TEST_P(TableSuite, APullOfTheWrongSizeIsRefused) {
  const auto table = Make(Config(2));
  const std::vector<uint64_t> keys = {1};
  std::vector<float> out(3);
  Waiter waiter;
  EXPECT_THROW(table->Pull(keys, out, waiter.done()), Error);
}

// --- Gradients.

TEST_P(TableSuite, EqualKeysAreAddedUpBeforeOneOptimizerStep) {
  const auto table = Make(ZeroConfig(1, "adagrad", 1.0));
  Push(*table, 0, 0, Batch(1, {5, 6, 5}, {3, 1, 1}));
  // One step with gradient 4: a = 16, w = -4 / 4. Two steps would give -1 - 1/sqrt(10).
  EXPECT_NEAR(PullRows(*table, {5})[0], -1, 1e-6);
}

TEST_P(TableSuite, EqualKeysAreAddedUpInTheOrderOfTheBatch) {
  const auto table = Make(ZeroConfig(1, "sgd", 1.0));
  // In float the order shows: 1 is lost beside 1e8 and not after -1e8.
  Push(*table, 0, 0, Batch(1, {5, 6, 5, 6, 5, 6}, {1e8f, 1e8f, -1e8f, 1, 1, -1e8f}));
  EXPECT_EQ(PullRows(*table, {5, 6}), (std::vector<float>{-1, 0}));
}

TEST_P(TableSuite, SeveralPushesAreOneStep) {
  const auto table = Make(ZeroConfig(1, "adagrad", 1.0));
  const Batch a(1, {5}, {3}), b(1, {5, 7}, {1, 2});
  TablePush pushes[] = {a.push(), b.push()};
  pushes[1].scale = 5;
  table->Apply({0, 0, {}, pushes});
  EXPECT_NEAR(PullRows(*table, {5})[0], -1, 1e-6);
  EXPECT_FLOAT_EQ(
      RecordFloat(Get(*table, 5).words.data(), table->layout().of(RowClass::kFull).slot[0]), 64);
}

TEST_P(TableSuite, AdamCountsTheStepsOfEachRow) {
  const auto table = Make(ZeroConfig(1, "adam", 0.1));
  for (int step = 0; step < 3; ++step) Push(*table, step, 0, Batch(1, {1}, {2}));
  Push(*table, 3, 0, Batch(1, {2}, {2}));
  // With a constant gradient every corrected step is lr: a late row moves as an early one did.
  EXPECT_NEAR(PullRows(*table, {1})[0], -0.3, 1e-5);
  EXPECT_NEAR(PullRows(*table, {2})[0], -0.1, 1e-5);
}

// Every rule, with all its slots: the row is what the rule makes of it, step by step.
TEST_P(TableSuite, RowsFollowTheRuleOfTheirOptimizer) {
  for (const OptimizerFact& fact : Optimizers()) {
    TableConfig config = Config(3, fact.name);
    for (const HyperFact& hyper : fact.hypers) {
      if (hyper.flag) SetHyper(*config.optimizer, hyper.name, 1);
      if (hyper.default_value == 0 && !hyper.flag) SetHyper(*config.optimizer, hyper.name, 0.1);
    }
    const auto table = Make(config);
    std::vector<float> want = PullRows(*table, {5});
    std::vector<float> slots[kMaxSlots];
    float* at[kMaxSlots] = {};
    for (size_t k = 0; k < config.optimizer->slots().size(); ++k) {
      slots[k].assign(3, static_cast<float>(config.optimizer->SlotInitial(static_cast<int>(k))));
      at[k] = slots[k].data();
    }
    for (int64_t step = 1; step <= 4; ++step) {
      const float x = static_cast<float>(step);
      const std::vector<float> g = {0.5f * x, -x, 2};
      Push(*table, step, step, Batch(3, {5}, g));
      rules::Apply(fact.rule, config.optimizer->hyper, want.data(), g.data(), at, 1, 3, 0.1, step);
      EXPECT_EQ(PullRows(*table, {5}), want) << fact.name << " " << step;
    }
  }
}

TEST_P(TableSuite, ScalesMultiplyGradientAndLearningRate) {
  const auto table = Make(ZeroConfig(1, "adagrad", 1.0));
  const Batch batch(1, {1}, {2});
  TablePush push = batch.push();
  push.scale = 100;     // adagrad's first step does not see it
  push.lr_scale = 0.5;  // but this
  table->Apply({0, 0, {}, {&push, 1}});
  EXPECT_NEAR(PullRows(*table, {1})[0], -0.5, 1e-6);
}

TEST_P(TableSuite, PooledGradientsExpandAsThePoolingSays) {
  const std::vector<uint64_t> keys = {1, 2, 2, 3};
  const std::vector<int64_t> offsets = {0, 3, 3, 4};
  const std::vector<float> weights = {1, 2, 2, 3};
  const std::vector<float> gradients = {10, 100, 1000};
  for (const auto& [pool, use_weights, one, two, three] :
       std::vector<std::tuple<Pool, bool, double, double, double>>{
           {Pool::kSum, false, 10, 20, 1000},
           {Pool::kMean, false, 10 / 3., 20 / 3., 1000},
           {Pool::kSqrt, false, 10 / std::sqrt(3.), 20 / std::sqrt(3.), 1000},
           {Pool::kSum, true, 10, 40, 3000},
           {Pool::kMean, true, 2, 8, 1000},
           {Pool::kSqrt, true, 10 / 3., 40 / 3., 1000}}) {
    const auto table = Make(ZeroConfig(1, "sgd", 1.0));
    RowsValue rows{.width = 1};
    rows.segments.push_back({.keys = keys.data(),
                             .num_keys = 4,
                             .pool = pool,
                             .offsets = offsets.data(),
                             .num_bags = 3,
                             .weights = use_weights ? weights.data() : nullptr,
                             .gradients = gradients.data()});
    const TablePush push{&rows};
    table->Apply({0, 0, {}, {&push, 1}});
    const auto got = PullRows(*table, {1, 2, 3});
    EXPECT_NEAR(got[0], -one, 1e-4);
    EXPECT_NEAR(got[1], -two, 1e-4);
    EXPECT_NEAR(got[2], -three, 1e-3);
  }
}

TEST_P(TableSuite, APushWithoutOptimizerOrOfAnotherWidthChangesNothing) {
  TableConfig config = Config(2);
  config.optimizer.reset();
  const auto table = Make(config);
  EXPECT_THROW(Push(*table, 0, 0, Batch(2, {1}, {1, 1})), Error);
  const auto narrow = Make(Config(2));
  EXPECT_THROW(Push(*narrow, 0, 0, Batch(1, {1}, {1})), Error);
  EXPECT_EQ(narrow->size(), 0);
}

TEST_P(TableSuite, RowsThatAreRoundedLearnOnAverage) {
  for (const RowStore store : {RowStore::kBf16, RowStore::kInt8}) {
    TableConfig config = Config(2, "sgd", 1.0);
    config.init = {TableInit::Kind::kConstant, 1, 0};
    config.store = store;
    const auto table = Make(config);
    std::vector<uint64_t> keys(300);
    std::vector<float> gradients;
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = i;
      gradients.insert(gradients.end(), {0, 0.0004f});  // a step is far less than a half is apart
    }
    const Batch batch(2, keys, gradients);
    for (int64_t step = 0; step < 500; ++step) Push(*table, step, 0, batch);
    const auto rows = PullRows(*table, keys);
    double sum = 0;
    for (size_t i = 1; i < rows.size(); i += 2) sum += static_cast<double>(rows[i]);
    EXPECT_NEAR(sum / static_cast<double>(keys.size()), 0.8, 0.01);
  }
}

// --- Admission.

TEST_P(TableSuite, CountAdmitsFromTheNthOccurrenceOn) {
  TableConfig config = ZeroConfig(1);
  config.admit = {TableAdmit::Kind::kCount, 3};
  const auto table = Make(config);
  Push(*table, 0, 0, Batch(1, {1, 1, 2}, {1, 1, 1}));
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(table->Info().waiting, 2);
  Push(*table, 1, 0, Batch(1, {1}, {1}));
  EXPECT_EQ(table->size(), 1);
  EXPECT_EQ(table->Info().waiting, 1);
  EXPECT_FLOAT_EQ(PullRows(*table, {1})[0], -0.1f);  // the step that made it, not those before
}

TEST_P(TableSuite, CountsAreForgottenAfterTheirTime) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 3};
  config.admit.time_to_live = 7 * kDay;
  const auto table = Make(config);
  Observe(*table, 0, 0, {1, 1, 2, 2});
  Observe(*table, 1, 7 * kDay, {1});
  EXPECT_EQ(table->size(), 1);  // within the time
  Observe(*table, 2, 7 * kDay + kSecond, {2});
  EXPECT_EQ(table->size(), 1);  // its two were forgotten
  EXPECT_EQ(Get(*table, 2).words[row_words::kCount], 1u);
  EXPECT_EQ(Get(*table, 2).show(), 1);
}

TEST_P(TableSuite, AStepThatObservesCountsInObservationsOnly) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 3};
  const auto table = Make(config);
  const std::vector<uint64_t> keys = {1};
  const TableObservation seen{.keys = keys.data(), .num_keys = 1};
  const Batch batch(1, {1, 1}, {1, 1});
  const TablePush push = batch.push();
  table->Apply({0, 0, {&seen, 1}, {&push, 1}});
  table->Apply({1, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(table->size(), 0);
  table->Apply({2, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(table->size(), 1);
  EXPECT_EQ(Get(*table, 1).show(), 3);
}

TEST_P(TableSuite, AnObservationOfNoKeyIsAnObservation) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 1};
  const auto table = Make(config);
  const TableObservation seen{};
  const Batch batch(1, {1}, {1});
  const TablePush push = batch.push();
  table->Apply({0, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(table->size(), 0);
}

TEST_P(TableSuite, ProbabilityAdmitsThatShareAndTheSameKeysEachTime) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kProbability, 1, 0.25};
  std::vector<uint64_t> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const auto a = Make(config), b = Make(config);
  Observe(*a, 3, 0, keys);
  Observe(*b, 3, 0, keys);
  EXPECT_NEAR(static_cast<double>(a->size()), 1000, 120);
  for (uint64_t key : keys) ASSERT_EQ(Get(*a, key), Get(*b, key));
  Observe(*a, 4, 0, keys);
  EXPECT_NEAR(static_cast<double>(a->size()), 1750, 160);
}

TEST_P(TableSuite, ASketchAdmitsWhatIsFrequentAndNotWhatPassesByOnce) {
  TableConfig config = Config(1);
  config.admit = {.kind = TableAdmit::Kind::kSketch,
                  .count = 3,
                  .sketch_bytes = TableSketch::kMinBytes,
                  .window = kDay};
  const auto table = Make(config);
  uint64_t next = 1000;
  for (int64_t step = 0; step < 100; ++step) {
    std::vector<uint64_t> keys;
    for (int i = 0; i < 2000; ++i) keys.push_back(next++);
    if (step % 5 == 0) keys.push_back(1);
    Observe(*table, step, 0, keys);
    EXPECT_EQ(Get(*table, 1).is_row(), step >= 10) << step;
  }
  EXPECT_LT(table->size(), 1000);  // of 200,000 keys that were there once
  EXPECT_EQ(table->Info().waiting, 0);
}

TEST_P(TableSuite, UnadmittedKeysReadWhatTheTableDeclares) {
  TableConfig config = Config(2);
  config.admit = {TableAdmit::Kind::kCount, 100};
  config.unadmitted = Unadmitted::kZeros;
  EXPECT_EQ(PullRows(*Make(config), {4}), (std::vector<float>{0, 0}));
  config.unadmitted = Unadmitted::kShared;
  const auto shared = Make(config);
  const auto before = PullRows(*shared, {4, 5});
  EXPECT_EQ(before[0], before[2]);
  Push(*shared, 0, 0, Batch(2, {4, 6}, {1, 2, 3, 4}));
  const auto after = PullRows(*shared, {5});
  EXPECT_FLOAT_EQ(after[0], before[0] - 0.1f * 4);
  EXPECT_FLOAT_EQ(after[1], before[1] - 0.1f * 6);
  EXPECT_EQ(shared->size(), 0);
}

TEST_P(TableSuite, APushToAMissingRowPassesAdmissionAgain) {
  TableConfig config = ZeroConfig(1);
  config.expire.unseen = kDay;
  config.admit = {TableAdmit::Kind::kCount, 2};
  const auto table = Make(config);
  Push(*table, 0, 0, Batch(1, {1, 1}, {1, 1}));
  EXPECT_EQ(table->size(), 1);
  EXPECT_EQ(table->Expire(2 * kDay), 1);
  Push(*table, 1, 2 * kDay, Batch(1, {1}, {1}));
  EXPECT_EQ(table->size(), 0);
  Push(*table, 2, 2 * kDay, Batch(1, {1}, {1}));
  EXPECT_EQ(table->size(), 1);
  EXPECT_FLOAT_EQ(PullRows(*table, {1})[0], -0.1f);
}

// --- Metadata and features.

TEST_P(TableSuite, ShowsAndClicksAreOfTheKeysGroup) {
  const auto table = Make(Config(1));
  const std::vector<uint64_t> keys = {1, 2, 1, 3};
  const std::vector<float> click = {1, 0.5};
  TableObservation seen{.keys = keys.data(), .num_keys = 4, .click = click.data()};
  seen.keys_per_group = 2;
  const float one = 1;
  seen.show = &one;
  seen.show_for_all = true;
  table->Apply({0, 9 * kSecond, {&seen, 1}, {}});
  EXPECT_EQ(Get(*table, 1).show(), 2);
  EXPECT_EQ(Get(*table, 1).click(), 1.5f);
  EXPECT_EQ(Get(*table, 1).last_seen(), 9u);
  const std::vector<int64_t> offsets = {0, 0, 4};
  seen.offsets = offsets.data();
  seen.num_groups = 2;
  table->Apply({1, 10 * kSecond, {&seen, 1}, {}});
  EXPECT_EQ(Get(*table, 3).click(), 1.0f);  // 0.5 twice
}

TEST_P(TableSuite, ShowsFadeWithEventTime) {
  TableConfig config = Config(1);
  config.score.half_life = kDay;
  const auto table = Make(config);
  Observe(*table, 0, 0, {1, 1, 1, 1}, 1, 0.5);
  Observe(*table, 1, 2 * kDay, {1});
  EXPECT_FLOAT_EQ(Get(*table, 1).show(), 2);
  EXPECT_FLOAT_EQ(Get(*table, 1).click(), 0.5);
}

TEST_P(TableSuite, APushMovesTheLastSightOnlyWhereNobodyObserves) {
  const auto table = Make(Config(1));
  const Batch batch(1, {1}, {1});
  Push(*table, 0, 5 * kSecond, batch);
  EXPECT_EQ(Get(*table, 1).last_seen(), 5u);
  EXPECT_EQ(Get(*table, 1).show(), 0);
  const std::vector<uint64_t> other = {2};
  const TableObservation seen{.keys = other.data(), .num_keys = 1};
  const TablePush push = batch.push();
  table->Apply({1, 6 * kSecond, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(Get(*table, 1).last_seen(), 5u);
  Push(*table, 2, 7 * kSecond, batch);
  EXPECT_EQ(Get(*table, 1).last_seen(), 7u);
}

TEST_P(TableSuite, FeaturesShareATableWithKeysAndNumbersOfTheirOwn) {
  TableConfig config = ZeroConfig(1, "sgd", 1.0);
  config.features = {"user", "item"};
  const auto table = Make(config);
  const std::vector<uint64_t> ids = {7, 8};
  const std::vector<float> click = {1, 0};
  const uint64_t user = FeatureSalt("user"), item = FeatureSalt("item");
  const TableObservation seen[] = {
      {.keys = ids.data(), .num_keys = 2, .click = click.data(), .salt = user, .feature = 1},
      {.keys = ids.data(), .num_keys = 1, .salt = item, .feature = 2}};
  RowsValue rows{.width = 1};
  const float gradients[] = {1, 2};
  rows.segments.push_back(
      {.keys = ids.data(), .num_keys = 1, .gradients = gradients, .salt = user, .feature = 1});
  rows.segments.push_back(
      {.keys = ids.data(), .num_keys = 1, .gradients = gradients + 1, .salt = item, .feature = 2});
  const TablePush push{&rows};
  table->Apply({0, 0, seen, {&push, 1}});
  EXPECT_EQ(PullRows(*table, {SaltedKey(7, user), SaltedKey(7, item), 7}),
            (std::vector<float>{-1, -2, 0}));
  EXPECT_EQ(RecordFeature(Get(*table, SaltedKey(7, item)).words.data()), 2u);
  const TableInfo info = table->Info();
  ASSERT_EQ(info.features.size(), 2u);
  EXPECT_EQ(info.features[0].name, "user");
  EXPECT_EQ(info.features[0].rows, 2);
  EXPECT_EQ(info.features[0].occurrences, 2);
  EXPECT_EQ(info.features[0].shows, 2);
  EXPECT_EQ(info.features[0].clicks, 1);
  EXPECT_EQ(info.features[1].rows, 1);
  EXPECT_EQ(info.features[1].occurrences, 1);
  Push(*table, 1, 0, Batch(1, {7}, {1}));
  EXPECT_EQ(table->Info().features[0].rows, 2);  // a key without a feature belongs to none
}

// --- Growing.

TEST_P(TableSuite, ARowGetsItsFullWidthWhenItsScoreReachesTheLimit) {
  TableConfig config = Config(3, "adagrad", 1.0);
  config.init = {TableInit::Kind::kConstant, 2, 0};
  config.grow_at = 3;
  const auto table = Make(config);
  EXPECT_EQ(PullRows(*table, {1}), (std::vector<float>{2, 0, 0}));
  Observe(*table, 0, 0, {1, 1});
  Push(*table, 1, 0, Batch(3, {1}, {5, 5, 5}));
  EXPECT_EQ(PullRows(*table, {1}), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(table->Info().narrow_rows, 1);
  const std::vector<uint64_t> keys = {1};
  const TableObservation seen{.keys = keys.data(), .num_keys = 1};
  const Batch batch(3, {1}, {0, 5, 5});
  const TablePush push = batch.push();
  table->Apply({2, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(PullRows(*table, {1}), (std::vector<float>{1, 1, 1}));  // grown, then that gradient
  EXPECT_EQ(table->Info().narrow_rows, 0);
  EXPECT_EQ(table->size(), 1);
  const auto& full = table->layout().of(RowClass::kFull);
  const Found row = Get(*table, 1);
  EXPECT_EQ(RecordFloat(row.words.data(), full.slot[0]), 25);  // what column 0 had gathered
}

// --- Expiry.

TEST_P(TableSuite, RowsUnseenForTooLongGoByEventTime) {
  TableConfig config = Config(1);
  config.expire.unseen = 30 * kDay;
  const auto table = Make(config);
  Observe(*table, 0, 1 * kDay, {1, 2});
  Observe(*table, 1, 20 * kDay, {2});
  EXPECT_EQ(table->Expire(31 * kDay), 0);
  EXPECT_EQ(table->Expire(32 * kDay), 1);
  EXPECT_TRUE(Get(*table, 2).exists());
  EXPECT_FALSE(Get(*table, 1).exists());
  EXPECT_EQ(table->Info().expired, 1);
}

TEST_P(TableSuite, OldRowsGoWhileStepsGoOn) {
  TableConfig config = Config(1);
  config.expire.unseen = 64 * kSecond;
  const auto table = Make(config);
  std::vector<uint64_t> keys(20'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  Observe(*table, 0, 0, keys);
  for (int64_t step = 1; step < 90; ++step) Observe(*table, step, step * kSecond, {5, 999'999});
  EXPECT_EQ(table->size(), 2);
  EXPECT_TRUE(Get(*table, 5).is_row());
  EXPECT_EQ(table->Info().expired, 19'999);
}

TEST_P(TableSuite, RowsWhoseScoreFadesBelowTheLimitGo) {
  TableConfig config = Config(1);
  config.score = {1, 10, kDay};
  config.expire.min_score = 2;
  const auto table = Make(config);
  Observe(*table, 0, 0, {1, 1, 1, 1});
  Observe(*table, 1, 0, {2}, 1, 1);
  EXPECT_EQ(table->Expire(kDay), 0);  // 2 and 5 are left
  EXPECT_EQ(table->Expire(2 * kDay), 1);
  EXPECT_TRUE(Get(*table, 2).is_row());
  EXPECT_EQ(table->Expire(4 * kDay), 1);
}

TEST_P(TableSuite, TheByteBudgetKeepsTheBestWithinItsMargin) {
  TableConfig config = Config(4);
  const int64_t row = AccountedBytes(RowLayout(config), RowClass::kFull);
  config.expire.max_bytes = 8'000 * row;
  const auto table = Make(config);
  uint64_t next = 0;
  for (int64_t step = 0; step < 60; ++step) {
    std::vector<uint64_t> often, seldom;
    for (int i = 0; i < 100; ++i) often.push_back(next++);
    for (int i = 0; i < 300; ++i) seldom.push_back(next++);
    Observe(*table, 2 * step, 0, often, 50);
    Observe(*table, 2 * step + 1, 0, seldom, 2);
    EXPECT_LE(static_cast<double>(table->size()), 8'000 * 1.05) << step;
  }
  EXPECT_GT(static_cast<double>(table->size()), 8'000 * 0.9);
  int64_t kept_often = 0;
  for (uint64_t key = 0; key < next; ++key) {
    kept_often += key % 400 < 100 && Get(*table, key).is_row();
  }
  EXPECT_EQ(kept_often, 6'000);  // all of them
}

}  // namespace
}  // namespace catamaran
