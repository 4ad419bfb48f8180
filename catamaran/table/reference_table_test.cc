#include "catamaran/table/reference_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {
namespace {

using namespace table_test;  // NOLINT: all of it is for tests

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
