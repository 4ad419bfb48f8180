#include "catamaran/table/reference_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/table/step_recorder.h"

namespace catamaran {
namespace {

constexpr int64_t kDay = kNanosecondsPerDay;

TableConfig Config(int64_t width, std::string_view optimizer = "sgd", double lr = 0.1) {
  TableConfig config;
  config.width = width;
  config.init = {TableInit::Kind::kNormal, 0.5, 0};
  config.optimizer = MakeOptimizer(optimizer, lr);
  config.seed = 7;
  return config;
}

std::vector<float> PullRows(const Table& table, const std::vector<uint64_t>& keys) {
  std::vector<float> out(keys.size() * static_cast<size_t>(table.width()));
  int calls = 0;
  table.Pull(keys, out,
             {[](void* c, std::exception_ptr e) { *static_cast<int*>(c) += e ? 100 : 1; }, &calls});
  EXPECT_EQ(calls, 1);
  return out;
}

// A push of keys with one gradient row each.
struct Batch {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;
  RowsValue rows;

  Batch(int64_t width, std::vector<uint64_t> k, std::vector<float> g)
      : keys(std::move(k)), gradients(std::move(g)) {
    rows.width = width;
    rows.segments.push_back({.keys = keys.data(),
                             .num_keys = static_cast<int64_t>(keys.size()),
                             .gradients = gradients.data()});
  }
  TablePush push() const { return {&rows}; }
};

void Push(Table& table, int64_t step, int64_t time, const Batch& batch) {
  const TablePush push = batch.push();
  table.Apply({step, time, {}, {&push, 1}});
}

void Observe(Table& table, int64_t step, int64_t time, const std::vector<uint64_t>& keys) {
  const TableObservation seen{.keys = keys.data(), .num_keys = static_cast<int64_t>(keys.size())};
  table.Apply({step, time, {&seen, 1}, {}});
}

TEST(ReferenceTable, PullMakesNoRowAndGivesTheInitialValueOfTheKey) {
  ReferenceTable table(Config(5));
  const auto a = PullRows(table, {1, 2, 1});
  EXPECT_EQ(table.size(), 0);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 5, a.begin() + 10));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 5, a.begin() + 5));
  EXPECT_EQ(a, PullRows(ReferenceTable(Config(5)), {1, 2, 1}));
  TableConfig other = Config(5);
  other.seed = 8;
  EXPECT_NE(a, PullRows(ReferenceTable(other), {1, 2, 1}));
}

TEST(ReferenceTable, InitialValuesHaveTheDeclaredDistribution) {
  TableConfig config = Config(8);
  std::vector<uint64_t> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 977;
  double sum = 0, squares = 0;
  const auto normal = PullRows(ReferenceTable(config), keys);
  for (float x : normal) sum += x, squares += x * x;
  const double n = static_cast<double>(normal.size());
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 0.5, 0.01);

  config.init = {TableInit::Kind::kUniform, -1, 3};
  sum = 0;
  for (float x : PullRows(ReferenceTable(config), keys)) {
    ASSERT_GE(x, -1);
    ASSERT_LT(x, 3);
    sum += x;
  }
  EXPECT_NEAR(sum / n, 1, 0.03);
  config.init = {TableInit::Kind::kConstant, 2.5, 0};
  EXPECT_EQ(PullRows(ReferenceTable(config), {9}), std::vector<float>(8, 2.5f));
}

TEST(ReferenceTable, EveryKeyIsLegal) {
  TableConfig config = Config(1);
  config.init = {};
  ReferenceTable table(config);
  Push(table, 0, 0, Batch(1, {0, UINT64_MAX, uint64_t{1} << 63}, {1, 2, 3}));
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(PullRows(table, {UINT64_MAX, 0}), (std::vector<float>{-0.2f, -0.1f}));
}

TEST(ReferenceTable, EqualKeysAreAddedUpBeforeOneOptimizerStep) {
  TableConfig config = Config(1, "adagrad", 1.0);
  config.init = {};
  ReferenceTable table(config);
  Push(table, 0, 0, Batch(1, {5, 6, 5}, {3, 1, 1}));
  // One step with gradient 4: a = 16, w = -4 / 4. Two steps would give -1 - 1/sqrt(10).
  EXPECT_NEAR(PullRows(table, {5})[0], -1, 1e-6);
}

TEST(ReferenceTable, AdamCountsTheStepsOfEachRow) {
  TableConfig config = Config(1, "adam", 0.1);
  config.init = {};
  ReferenceTable table(config);
  for (int step = 0; step < 3; ++step) Push(table, step, 0, Batch(1, {1}, {2}));
  Push(table, 3, 0, Batch(1, {2}, {2}));
  // With a constant gradient every corrected step is lr: a late row moves as an early one did.
  EXPECT_NEAR(PullRows(table, {1})[0], -0.3, 1e-5);
  EXPECT_NEAR(PullRows(table, {2})[0], -0.1, 1e-5);
}

// Every rule, with all its slots: the row is what the rule makes of it, step by step.
TEST(ReferenceTable, RowsFollowTheRuleOfTheirOptimizer) {
  for (const OptimizerFact& fact : Optimizers()) {
    TableConfig config = Config(3, fact.name);
    for (const HyperFact& hyper : fact.hypers) {
      if (hyper.flag) SetHyper(*config.optimizer, hyper.name, 1);
      if (hyper.default_value == 0 && !hyper.flag) SetHyper(*config.optimizer, hyper.name, 0.1);
    }
    ReferenceTable table(config);
    std::vector<float> want = PullRows(table, {5});
    std::vector<float> slots[kMaxSlots];
    float* at[kMaxSlots] = {};
    for (size_t k = 0; k < config.optimizer->slots().size(); ++k) {
      slots[k].assign(3, static_cast<float>(config.optimizer->SlotInitial(static_cast<int>(k))));
      at[k] = slots[k].data();
    }
    for (int64_t step = 1; step <= 4; ++step) {
      const float x = static_cast<float>(step);
      const std::vector<float> g = {0.5f * x, -x, 2};
      Push(table, step, step, Batch(3, {5}, g));
      rules::Apply(fact.rule, config.optimizer->hyper, want.data(), g.data(), at, 1, 3, 0.1, step);
      EXPECT_EQ(PullRows(table, {5}), want) << fact.name << " " << step;
    }
  }
}

TEST(ReferenceTable, ScalesMultiplyGradientAndLearningRate) {
  TableConfig config = Config(1, "adagrad", 1.0);
  config.init = {};
  ReferenceTable table(config);
  const Batch batch(1, {1}, {2});
  TablePush push = batch.push();
  push.scale = 100;     // adagrad's first step does not see it
  push.lr_scale = 0.5;  // but this
  table.Apply({0, 0, {}, {&push, 1}});
  EXPECT_NEAR(PullRows(table, {1})[0], -0.5, 1e-6);
}

TEST(ReferenceTable, PooledGradientsExpandAsThePoolingSays) {
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
    TableConfig config = Config(1, "sgd", 1.0);
    config.init = {};
    ReferenceTable table(config);
    RowsValue rows{.width = 1};
    rows.segments.push_back({.keys = keys.data(),
                             .num_keys = 4,
                             .pool = pool,
                             .offsets = offsets.data(),
                             .num_bags = 3,
                             .weights = use_weights ? weights.data() : nullptr,
                             .gradients = gradients.data()});
    const TablePush push{&rows};
    table.Apply({0, 0, {}, {&push, 1}});
    const auto got = PullRows(table, {1, 2, 3});
    EXPECT_NEAR(got[0], -one, 1e-4);
    EXPECT_NEAR(got[1], -two, 1e-4);
    EXPECT_NEAR(got[2], -three, 1e-3);
  }
}

TEST(ReferenceTable, CountAdmitsFromTheNthOccurrenceOn) {
  TableConfig config = Config(1);
  config.init = {};
  config.admit = {TableAdmit::Kind::kCount, 3};
  ReferenceTable table(config);
  Push(table, 0, 0, Batch(1, {1, 1, 2}, {1, 1, 1}));
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.Info().waiting, 2);
  Push(table, 1, 0, Batch(1, {1}, {1}));
  EXPECT_EQ(table.size(), 1);
  EXPECT_FLOAT_EQ(PullRows(table, {1})[0], -0.1f);  // the step that made it, not those before
}

TEST(ReferenceTable, AStepThatObservesCountsInObservationsOnly) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 3};
  ReferenceTable table(config);
  const std::vector<uint64_t> keys = {1};
  const TableObservation seen{.keys = keys.data(), .num_keys = 1};
  const Batch batch(1, {1, 1}, {1, 1});
  const TablePush push = batch.push();
  table.Apply({0, 0, {&seen, 1}, {&push, 1}});
  table.Apply({1, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(table.size(), 0);
  table.Apply({2, 0, {&seen, 1}, {&push, 1}});
  EXPECT_EQ(table.size(), 1);
  ReferenceTable::Metadata metadata;
  ASSERT_TRUE(table.Find(1, &metadata));
  EXPECT_EQ(metadata.show, 3);
}

TEST(ReferenceTable, ProbabilityAdmitsThatShareAndTheSameKeysEachTime) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kProbability, 1, 0.25};
  std::vector<uint64_t> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ReferenceTable a(config), b(config);
  Observe(a, 3, 0, keys);
  Observe(b, 3, 0, keys);
  EXPECT_NEAR(static_cast<double>(a.size()), 1000, 120);
  for (uint64_t key : keys) ASSERT_EQ(a.Find(key, nullptr), b.Find(key, nullptr));
  Observe(a, 4, 0, keys);
  EXPECT_NEAR(static_cast<double>(a.size()), 1750, 160);
}

TEST(ReferenceTable, UnadmittedKeysReadWhatTheTableDeclares) {
  TableConfig config = Config(2);
  config.admit = {TableAdmit::Kind::kCount, 100};
  config.unadmitted = Unadmitted::kZeros;
  EXPECT_EQ(PullRows(ReferenceTable(config), {4}), (std::vector<float>{0, 0}));
  config.unadmitted = Unadmitted::kShared;
  ReferenceTable shared(config);
  const auto before = PullRows(shared, {4, 5});
  EXPECT_EQ(before[0], before[2]);
  Push(shared, 0, 0, Batch(2, {4, 6}, {1, 2, 3, 4}));
  const auto after = PullRows(shared, {5});
  EXPECT_FLOAT_EQ(after[0], before[0] - 0.1f * 4);
  EXPECT_FLOAT_EQ(after[1], before[1] - 0.1f * 6);
  EXPECT_EQ(shared.size(), 0);
}

TEST(ReferenceTable, RowsUnseenForTooLongGoByEventTime) {
  TableConfig config = Config(1);
  config.expire.unseen = 30 * kDay;
  ReferenceTable table(config);
  Observe(table, 0, 1 * kDay, {1, 2});
  Observe(table, 1, 20 * kDay, {2});
  EXPECT_EQ(table.Expire(31 * kDay), 0);
  EXPECT_EQ(table.Expire(32 * kDay), 1);
  EXPECT_TRUE(table.Find(2, nullptr));
  EXPECT_FALSE(table.Find(1, nullptr));
}

TEST(ReferenceTable, ShowsAndClicksAreOfTheKeysGroup) {
  ReferenceTable table(Config(1));
  const std::vector<uint64_t> keys = {1, 2, 1, 3};
  const std::vector<float> click = {1, 0.5};
  TableObservation seen{.keys = keys.data(), .num_keys = 4, .click = click.data()};
  seen.keys_per_group = 2;
  table.Apply({0, 9 * kNanosecondsPerSecond, {&seen, 1}, {}});
  ReferenceTable::Metadata metadata;
  ASSERT_TRUE(table.Find(1, &metadata));
  EXPECT_EQ(metadata.show, 2);
  EXPECT_EQ(metadata.click, 1.5f);
  EXPECT_EQ(metadata.last_seen, 9);
  const std::vector<int64_t> offsets = {0, 0, 4};
  seen.offsets = offsets.data();
  seen.num_groups = 2;
  table.Apply({1, 10 * kNanosecondsPerSecond, {&seen, 1}, {}});
  ASSERT_TRUE(table.Find(3, &metadata));
  EXPECT_EQ(metadata.click, 1.0f);  // 0.5 twice
}

TEST(ReferenceTable, APushWithoutOptimizerOrOfAnotherWidthChangesNothing) {
  TableConfig config = Config(2);
  config.optimizer.reset();
  ReferenceTable table(config);
  EXPECT_THROW(Push(table, 0, 0, Batch(2, {1}, {1, 1})), Error);
  ReferenceTable narrow(Config(2));
  EXPECT_THROW(Push(narrow, 0, 0, Batch(1, {1}, {1})), Error);
  EXPECT_EQ(narrow.size(), 0);
}

TEST(ReferenceTable, ExportAndImportKeepEverything) {
  for (const char* optimizer : {"sgd", "momentum", "rowwise_adagrad", "adam"}) {
    TableConfig config = Config(3, optimizer);
    config.admit = {TableAdmit::Kind::kCount, 2};
    config.unadmitted = Unadmitted::kShared;
    ReferenceTable a(config), b(config);
    std::mt19937 random(3);
    const auto train = [&](ReferenceTable& table, int step, unsigned seed) {
      std::mt19937 r(seed);
      std::vector<uint64_t> keys;
      std::vector<float> gradients;
      for (int i = 0; i < 20; ++i) {
        keys.push_back(r() % 30);
        for (int k = 0; k < 3; ++k) gradients.push_back(static_cast<float>(r() % 100) / 50 - 1);
      }
      Push(table, step, step * kDay, Batch(3, keys, gradients));
    };
    for (int step = 0; step < 5; ++step) train(a, step, random());
    b.Import(a.Export());
    const unsigned seed = random();
    train(a, 5, seed);
    train(b, 5, seed);
    const NamedTensors x = a.Export(), y = b.Export();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].first, y[i].first);
      EXPECT_TRUE(x[i].second.Equals(y[i].second)) << optimizer << " " << x[i].first;
    }
  }
}

TEST(ReferenceTable, ImportRefusesWhatDoesNotFitAndNamesIt) {
  ReferenceTable a(Config(3, "adam")), b(Config(3, "sgd"));
  Push(b, 0, 0, Batch(3, {1}, {1, 1, 1}));
  Push(a, 0, 0, Batch(3, {8}, {1, 1, 1}));
  const auto before = PullRows(a, {8});
  try {
    a.Import(b.Export());
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("slot.m"), std::string::npos) << e.what();
  }
  EXPECT_EQ(PullRows(a, {8}), before);
  EXPECT_EQ(a.size(), 1);
}

TEST(StepRecorder, GivesTheTableOneStep) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 2};
  ReferenceTable table(config);
  StepRecorder recorder(table);
  const Batch batch(1, {1, 1}, {1, 1});
  const TablePush push = batch.push();
  const std::vector<uint64_t> keys = {1};
  const TableObservation seen{.keys = keys.data(), .num_keys = 1};
  recorder.Apply({0, 0, {}, {&push, 1}});
  recorder.Apply({0, 0, {&seen, 1}, {}});
  EXPECT_EQ(table.Info().waiting, 0);
  recorder.Commit(0, 0);
  EXPECT_EQ(table.Info().waiting, 1);  // counted once, by the observation
  recorder.Apply({0, 0, {&seen, 1}, {}});
  recorder.Discard();
  recorder.Commit(1, 0);
  EXPECT_EQ(table.size(), 0);
}

// The same semantics, worked out again from the definition: all occurrences of a run are kept, and
// the state of one key is computed from its own history alone.
class BruteForce {
 public:
  explicit BruteForce(const TableConfig& config) : config_(config) {}

  struct Event {
    int64_t step, time;
    bool counts;  // for admission
    float show, click;
    std::vector<float> gradient;  // empty: an observation
  };
  void Add(uint64_t key, Event event) { history_[key].push_back(std::move(event)); }

  // The row of a key after its whole history, or nothing.
  bool Row(uint64_t key, std::vector<float>* row, float* show) const {
    const auto it = history_.find(key);
    if (it == history_.end()) return false;
    bool alive = false;
    int64_t count = 0, updates = 0;
    float waiting_show = 0;
    std::vector<double> w, a;
    const size_t width = static_cast<size_t>(config_.width);
    const auto& events = it->second;
    for (size_t i = 0; i < events.size();) {
      const int64_t step = events[i].step;
      std::vector<double> sum(width, 0);
      bool pushed = false;
      for (; i < events.size() && events[i].step == step; ++i) {
        const Event& e = events[i];
        if (e.counts && !alive) {
          ++count;
          alive = config_.admit.kind == TableAdmit::Kind::kNone || count >= config_.admit.count;
          if (alive) {
            std::vector<float> start(width);
            FillInitialRow(config_, key, start.data());
            w.assign(start.begin(), start.end());
            a.assign(width, 0);
          }
        }
        waiting_show += e.show;
        if (!e.gradient.empty()) {
          pushed = true;
          for (size_t k = 0; k < width; ++k) sum[k] += e.gradient[k];
        }
      }
      if (!alive || !pushed) continue;
      ++updates;
      for (size_t k = 0; k < width; ++k) {
        a[k] += sum[k] * sum[k];
        w[k] -= config_.optimizer->lr * sum[k] / (std::sqrt(a[k]) + 1e-8);
      }
    }
    if (!alive) return false;
    row->assign(w.begin(), w.end());
    *show = waiting_show;
    return true;
  }

 private:
  TableConfig config_;
  std::unordered_map<uint64_t, std::vector<Event>> history_;
};

TEST(ReferenceTable, AgreesWithBruteForceOnRandomSteps) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    TableConfig config = Config(1 + seed % 5, "adagrad", 0.2);
    config.unadmitted = Unadmitted::kZeros;
    if (seed % 2) config.admit = {TableAdmit::Kind::kCount, 1 + seed % 4};
    ReferenceTable table(config);
    BruteForce brute(config);
    const bool observes = seed % 3 == 0;
    for (int64_t step = 0; step < 20; ++step) {
      std::vector<uint64_t> seen_keys;
      std::vector<float> show;
      for (unsigned i = 0; observes && i < random() % 12; ++i) {
        seen_keys.push_back(random() % 15);
        show.push_back(static_cast<float>(random() % 4));
      }
      for (size_t i = 0; i < seen_keys.size(); ++i) {
        brute.Add(seen_keys[i], {step, step, true, show[i], 0, {}});
      }
      std::vector<uint64_t> keys;
      std::vector<float> gradients;
      for (unsigned i = 0; i < random() % 12; ++i) {
        keys.push_back(random() % 15);
        std::vector<float> g;
        for (int64_t k = 0; k < config.width; ++k) {
          g.push_back(static_cast<float>(random() % 1000) / 500 - 1);
        }
        gradients.insert(gradients.end(), g.begin(), g.end());
        const bool counts = !observes || config.admit.kind == TableAdmit::Kind::kNone;
        brute.Add(keys.back(), {step, step, counts, 0, 0, g});
      }
      const Batch batch(config.width, keys, gradients);
      const TablePush push = batch.push();
      const TableObservation seen{.keys = seen_keys.data(),
                                  .num_keys = static_cast<int64_t>(seen_keys.size()),
                                  .show = show.data()};
      table.Apply({step, step, {&seen, observes ? 1u : 0u}, {&push, 1}});
    }
    for (uint64_t key = 0; key < 15; ++key) {
      std::vector<float> row;
      float show = 0;
      ReferenceTable::Metadata metadata;
      const bool exists = brute.Row(key, &row, &show);
      ASSERT_EQ(table.Find(key, &metadata), exists) << "seed " << seed << " key " << key;
      const auto got = PullRows(table, {key});
      for (size_t k = 0; k < got.size(); ++k) {
        ASSERT_NEAR(got[k], exists ? row[k] : 0, 1e-5) << "seed " << seed << " key " << key;
      }
      if (exists) {
        ASSERT_FLOAT_EQ(metadata.show, show) << "seed " << seed << " key " << key;
      }
    }
  }
}

}  // namespace
}  // namespace catamaran
