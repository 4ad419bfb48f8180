#include "catamaran/table/row_rules.h"

#include <gtest/gtest.h>

#include <random>

namespace catamaran {
namespace {

constexpr int64_t kDay = kNanosecondsPerDay;
constexpr uint32_t kDaySeconds = 86'400;

TableConfig Config(int64_t width, std::string_view optimizer = "adagrad") {
  TableConfig config;
  config.width = width;
  config.init = {TableInit::Kind::kNormal, 0.5, 0};
  config.optimizer = MakeOptimizer(optimizer, 0.1);
  config.seed = 7;
  return config;
}

std::vector<uint32_t> Made(const RowRules& rules, RowClass c, uint64_t key, uint32_t now = 0) {
  std::vector<uint32_t> record(static_cast<size_t>(rules.layout().of(c).words), ~0u);
  rules.Make(c, key, 0, now, record.data());
  return record;
}

std::vector<float> ReadRow(const RowRules& rules, RowClass c, const std::vector<uint32_t>& record) {
  std::vector<float> out(static_cast<size_t>(rules.config().width), -99.0f);
  rules.Read(c, record.data(), out.data());
  return out;
}

TEST(RowRules, ARowBeginsAsAKeyWithoutARowReads) {
  for (const RowStore store : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
    for (const bool grows : {false, true}) {
      TableConfig config = Config(9);
      config.store = store;
      if (grows) config.grow_at = 3;
      const RowRules rules(config);
      std::vector<float> initial(9, -99.0f);
      rules.ReadInitial(42, initial.data());
      EXPECT_EQ(ReadRow(rules, rules.first_class(), Made(rules, rules.first_class(), 42)), initial);
      EXPECT_EQ(initial[1] == 0, grows);
    }
  }
}

TEST(RowRules, ShowsHalveEveryHalfLifeAndScoresToo) {
  TableConfig config = Config(2);
  config.score = {0.5, 3, 2 * kDay};
  const RowRules rules(config);
  std::vector<uint32_t> record = Made(rules, RowClass::kFull, 1, 10 * kDaySeconds);
  rules.See(8, 4, record.data());
  EXPECT_DOUBLE_EQ(rules.Score(record.data(), 10 * kDaySeconds), 0.5 * 4 + 3 * 4);
  EXPECT_DOUBLE_EQ(rules.Score(record.data(), 12 * kDaySeconds), 0.5 * 2 + 3 * 2);
  EXPECT_EQ(record[row_words::kLastSeen], 10 * kDaySeconds);
  rules.Fade(14 * kDaySeconds, record.data());
  rules.See(1, 0, record.data());
  EXPECT_FLOAT_EQ(RecordFloat(record.data(), row_words::kShow), 3);
  EXPECT_FLOAT_EQ(RecordFloat(record.data(), row_words::kClick), 1);
  rules.Fade(5, record.data());  // the past changes nothing
  EXPECT_EQ(record[row_words::kLastSeen], 14 * kDaySeconds);
  EXPECT_FLOAT_EQ(RecordFloat(record.data(), row_words::kShow), 3);
}

TEST(RowRules, EveryOptimizerDoesWhatItsRuleSaysForManyUpdates) {
  for (const OptimizerFact& fact : Optimizers()) {
    const RowRules rules(Config(3, fact.name));
    const Optimizer& optimizer = *rules.config().optimizer;
    std::vector<uint32_t> record = Made(rules, RowClass::kFull, 5);
    std::vector<float> want = ReadRow(rules, RowClass::kFull, record);
    std::vector<float> slots[kMaxSlots];
    float* at[kMaxSlots] = {};
    for (size_t k = 0; k < optimizer.slots().size(); ++k) {
      slots[k].assign(3, static_cast<float>(optimizer.SlotInitial(static_cast<int>(k))));
      at[k] = slots[k].data();
    }
    std::mt19937 random(3);
    for (int64_t update = 1; update <= 1100; ++update) {  // past the corrections kept ready
      float g[3];
      for (float& x : g) x = static_cast<float>(random() % 1000) / 500 - 1;
      rules.Update(rules.ForStep(update, 0.5), RowClass::kFull, g, record.data());
      rules::Apply(fact.rule, optimizer.hyper, want.data(), g, at, 1, 3, 0.1 * 0.5, update);
      ASSERT_EQ(ReadRow(rules, RowClass::kFull, record), want) << fact.name << " " << update;
    }
  }
}

TEST(RowRules, SmallUpdatesCountOnAverageInRoundedStores) {
  for (const RowStore store : {RowStore::kBf16, RowStore::kInt8}) {
    TableConfig config = Config(2, "sgd");
    config.store = store;
    config.init = {TableInit::Kind::kConstant, 1, 0};
    const RowRules rules(config);
    const float g[2] = {0, 0.001f};  // lr 0.1: each update is far below half a quantum
    double sum = 0;
    for (uint64_t key = 0; key < 200; ++key) {
      std::vector<uint32_t> record = Made(rules, RowClass::kFull, key);
      for (int64_t step = 0; step < 1000; ++step) {
        rules.Update(rules.ForStep(step, 1), RowClass::kFull, g, record.data());
      }
      sum += static_cast<double>(ReadRow(rules, RowClass::kFull, record)[1]);
    }
    EXPECT_NEAR(sum / 200, 0.9, 0.01);
  }
}

TEST(RowRules, AGrownRowKeepsItsColumnAndGetsTheOthersAsNew) {
  for (const RowStore store : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
    for (const char* optimizer : {"adam", "rowwise_adagrad", "ftrl"}) {
      TableConfig config = Config(5, optimizer);
      config.store = store;
      config.grow_at = 2;
      if (optimizer != std::string_view("adam")) {
        SetHyper(*config.optimizer, "initial_accumulator", 0.25);
      }
      const RowRules rules(config);
      std::vector<uint32_t> narrow = Made(rules, RowClass::kNarrow, 77, 9);
      narrow[row_words::kTag] |= 3;  // its feature
      const float g[5] = {1, 100, 100, 100, 100};
      rules.Update(rules.ForStep(0, 1), RowClass::kNarrow, g, narrow.data());
      rules.See(2, 1, narrow.data());
      EXPECT_TRUE(rules.ShouldGrow(narrow.data(), 9));
      std::vector<uint32_t> full = Made(rules, RowClass::kFull, 1);
      rules.Grow(narrow.data(), 1, full.data());
      const std::vector<float> before = ReadRow(rules, RowClass::kNarrow, narrow);
      const std::vector<float> after = ReadRow(rules, RowClass::kFull, full);
      std::vector<float> start(5);
      FillInitialRow(config, 77, start.data());
      const float tolerance = store == RowStore::kF32 ? 0.0f : 0.02f;
      EXPECT_NEAR(after[0], before[0], store == RowStore::kInt8 ? 0.02f : 0.0f);
      for (size_t i = 1; i < 5; ++i) EXPECT_NEAR(after[i], start[i], tolerance);
      for (int w = 0; w < rules.layout().of(RowClass::kNarrow).embedding; ++w) {
        EXPECT_EQ(full[static_cast<size_t>(w)], narrow[static_cast<size_t>(w)]) << w;
      }
      const auto& from = rules.layout().of(RowClass::kNarrow);
      const auto& to = rules.layout().of(RowClass::kFull);
      for (size_t k = 0; k < static_cast<size_t>(to.num_slots); ++k) {
        EXPECT_EQ(full[static_cast<size_t>(to.slot[k])], narrow[static_cast<size_t>(from.slot[k])]);
        if (to.slot_words[k] > 1) {
          EXPECT_EQ(RecordFloat(full.data(), to.slot[k] + 4),
                    static_cast<float>(config.optimizer->SlotInitial(static_cast<int>(k))));
        }
      }
    }
  }
}

TEST(RowRules, AdmittedKeysTakeWhatTheyWereSeenAsAlong) {
  TableConfig config = Config(3);
  config.admit = {TableAdmit::Kind::kCount, 3};
  const RowRules rules(config);
  std::vector<uint32_t> waiting(static_cast<size_t>(rules.layout().of(RowClass::kWaiting).words));
  rules.Make(RowClass::kWaiting, 8, 2, 50, waiting.data());
  EXPECT_FALSE(rules.Count(2, waiting.data()));
  rules.See(2, 1, waiting.data());
  EXPECT_TRUE(rules.Count(1, waiting.data()));
  std::vector<uint32_t> row(static_cast<size_t>(rules.layout().of(RowClass::kFull).words));
  rules.Admit(waiting.data(), row.data());
  EXPECT_EQ(RecordKey(row.data()), 8u);
  EXPECT_EQ(RecordFeature(row.data()), 2u);
  EXPECT_EQ(row[row_words::kLastSeen], 50u);
  EXPECT_EQ(RecordFloat(row.data(), row_words::kShow), 2);
  EXPECT_EQ(RecordFloat(row.data(), row_words::kClick), 1);
}

TEST(RowRules, OldIsWhatAnyPolicySays) {
  TableConfig config = Config(1);
  config.admit = {TableAdmit::Kind::kCount, 3};
  config.admit.time_to_live = 2 * kDay;
  config.expire.unseen = 10 * kDay;
  config.expire.min_score = 1;
  const RowRules rules(config);
  std::vector<uint32_t> row = Made(rules, RowClass::kFull, 1, kDaySeconds);
  EXPECT_TRUE(rules.IsOld(RowClass::kFull, row.data(), kDaySeconds));  // a score of 0
  rules.See(1, 0, row.data());
  EXPECT_FALSE(rules.IsOld(RowClass::kFull, row.data(), 11 * kDaySeconds));
  EXPECT_TRUE(rules.IsOld(RowClass::kFull, row.data(), 11 * kDaySeconds + 1));
  SetRecordFloat(row.data(), row_words::kShow, std::nanf(""));
  EXPECT_TRUE(rules.IsOld(RowClass::kFull, row.data(), kDaySeconds));
  const std::vector<uint32_t> waiting = Made(rules, RowClass::kWaiting, 1, kDaySeconds);
  EXPECT_FALSE(rules.IsOld(RowClass::kWaiting, waiting.data(), 3 * kDaySeconds));
  EXPECT_TRUE(rules.IsOld(RowClass::kWaiting, waiting.data(), 3 * kDaySeconds + 1));
}

}  // namespace
}  // namespace catamaran
