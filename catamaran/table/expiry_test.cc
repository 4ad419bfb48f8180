#include "catamaran/table/expiry.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr int64_t kSecond = kNanosecondsPerSecond;
constexpr int64_t kDay = kNanosecondsPerDay;

// Records by hash, visited as a home does.
class Home {
 public:
  explicit Home(const TableConfig& config) : rules(config), expiry(rules) {}

  void Add(uint64_t key, float show, int64_t time) {
    std::vector<uint32_t> record(static_cast<size_t>(rules.layout().of(RowClass::kFull).words));
    rules.Make(RowClass::kFull, key, 0, LastSeenSeconds(time), record.data());
    rules.See(show, 0, record.data());
    records[rules.config().Hash(key)] = std::move(record);
  }
  RowCounts counts() const { return {0, 0, static_cast<int64_t>(records.size())}; }
  int64_t bytes() const { return AccountedBytes(rules.layout(), counts()); }

  // Returns how many records were visited.
  int64_t EndStep(int64_t time) {
    expiry.EndStep(time, counts());
    return Visit();
  }
  int64_t Visit() {
    int64_t visited = 0;
    while (const auto range = expiry.Next(counts())) {
      largest_range = std::max(largest_range, VisitRange(*range));
      visited += last_visited;
    }
    return visited;
  }
  int64_t VisitRange(const HashRange& range) {
    last_visited = 0;
    for (auto it = records.lower_bound(range.first);
         it != records.end() && it->first <= range.last;) {
      ++last_visited;
      it = expiry.Goes(RowClass::kFull, it->second.data(), it->first) ? records.erase(it)
                                                                      : std::next(it);
    }
    return last_visited;
  }
  double LowestScore() const {
    double lowest = 1e30;
    for (const auto& [hash, record] : records) {
      lowest = std::min(lowest, rules.Score(record.data(), 0));
    }
    return lowest;
  }

  const RowRules rules;
  Expiry expiry;
  std::map<uint64_t, std::vector<uint32_t>> records;
  int64_t last_visited = 0, largest_range = 0;
};

TableConfig Config() {
  TableConfig config;
  config.width = 4;
  config.seed = 3;
  return config;
}

TEST(Expiry, ATableThatForgetsNothingVisitsNothing) {
  Home home(Config());
  home.Add(1, 1, 0);
  EXPECT_FALSE(home.expiry.active());
  EXPECT_EQ(home.EndStep(100 * kDay), 0);
}

TEST(Expiry, AnUnseenRowGoesSoonAfterItsTimeInSlicesThatAreBounded) {
  TableConfig config = Config();
  config.expire.unseen = 64 * kDay;  // a sweep a day
  Home home(config);
  for (uint64_t key = 0; key < 50'000; ++key) home.Add(key, 1, key % 2 == 0 ? 0 : 30 * kDay);
  home.EndStep(kDay);
  int64_t time = 64 * kDay;
  home.EndStep(time);
  EXPECT_EQ(home.records.size(), 50'000u);
  time += kDay + kSecond;
  for (int step = 0; step < 20; ++step) {
    const int64_t visited = home.EndStep(time + step);
    EXPECT_LE(visited, 2 * Expiry::kSliceRows);
  }
  EXPECT_EQ(home.records.size(), 25'000u);
  EXPECT_LE(home.largest_range, 2 * Expiry::kSliceRows);
}

TEST(Expiry, ScoresThatFadeBelowTheLimitGo) {
  TableConfig config = Config();
  config.expire.min_score = 1;
  config.score.half_life = kDay;
  Home home(config);
  home.EndStep(0);
  home.Add(1, 10, 0);
  home.Add(2, 1.5f, 0);
  home.EndStep(kDay);
  EXPECT_EQ(home.records.size(), 1u);
  home.EndStep(3 * kDay);
  EXPECT_EQ(home.records.size(), 1u);
  home.EndStep(4 * kDay);
  EXPECT_EQ(home.records.size(), 0u);
}

TEST(Expiry, TheBudgetIsExceededByNoMoreThanTheMarginAndTheBestStay) {
  TableConfig config = Config();
  const RowRules rules(config);
  const int64_t row = AccountedBytes(rules.layout(), RowClass::kFull);
  for (const int made : {1, 300, 20'000}) {
    config.expire.max_bytes = 20'000 * row;
    Home home(config);
    std::mt19937 random(1);
    uint64_t key = 0;
    int64_t worst = 0;
    const int steps = made == 1 ? 60'000 : 120'000 / made;
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < made; ++i) {
        home.Add(key, static_cast<float>(1 + key * 7919 % 1000), 0);
        ++key;
      }
      home.EndStep(0);
      worst = std::max(worst, home.bytes());
    }
    EXPECT_GT(home.bytes(), config.expire.max_bytes * 85 / 100) << made;
    EXPECT_LE(static_cast<double>(worst), 1.05 * static_cast<double>(config.expire.max_bytes))
        << made;
    EXPECT_GT(worst, config.expire.max_bytes * 95 / 100) << made;
    // Scores are spread evenly over 1 … 1,000, so the best 20,000 of the keys are above this.
    double good = 0;
    for (const auto& [hash, record] : home.records) good += rules.Score(record.data(), 0) > 400;
    EXPECT_GT(good, 0.9 * static_cast<double>(home.records.size())) << made;
  }
}

TEST(Expiry, RowsOfEqualScoreAreChosenByHashSoThatTheBudgetHolds) {
  TableConfig config = Config();
  const int64_t row = AccountedBytes(RowRules(config).layout(), RowClass::kFull);
  config.expire.max_bytes = 10'000 * row;
  Home home(config);
  for (uint64_t key = 0; key < 30'000; ++key) home.Add(key, 1, 0);
  home.expiry.BeginAll(0, home.counts());
  home.Visit();
  EXPECT_NEAR(static_cast<double>(home.records.size()), 9500, 300);
}

TEST(Expiry, ExpireAllDoesWholePasses) {
  TableConfig config = Config();
  const int64_t row = AccountedBytes(RowRules(config).layout(), RowClass::kFull);
  config.expire.unseen = 10 * kDay;
  config.expire.max_bytes = 10'000 * row;
  Home home(config);
  for (uint64_t key = 0; key < 30'000; ++key) {
    home.Add(key, static_cast<float>(key % 100), key % 3 == 0 ? 0 : 20 * kDay);
  }
  home.expiry.BeginAll(20 * kDay, home.counts());
  home.Visit();
  EXPECT_NEAR(static_cast<double>(home.records.size()), 9500, 300);
  EXPECT_GE(home.LowestScore(), 40);
  for (const auto& [hash, record] : home.records) EXPECT_NE(record[row_words::kLastSeen], 0u);
  EXPECT_FALSE(home.expiry.in_pass());
}

TEST(Expiry, APassGoesOnAfterARestartAsIfNothingHadHappened) {
  TableConfig config = Config();
  const int64_t row = AccountedBytes(RowRules(config).layout(), RowClass::kFull);
  config.expire.max_bytes = 40'000 * row;
  config.expire.unseen = 100 * kSecond;
  Home a(config);
  uint64_t key = 0;
  const auto step = [&](Home& home, uint64_t first, int64_t time) {
    for (uint64_t k = first; k < first + 700; ++k) {
      home.Add(k, static_cast<float>(k * 31 % 97), time);
    }
    home.EndStep(time);
  };
  bool in_pass = false;
  for (int i = 0; i < 200; ++i, key += 700) {
    step(a, key, i * kSecond);
    if (i % 13 != 3) continue;
    in_pass |= a.expiry.in_pass();
    Home b(config);
    b.records = a.records;
    b.expiry.Load(a.expiry.Save());
    Home c(config);
    c.records = a.records;
    c.expiry.Load(a.expiry.Save());
    for (int j = 1; j < 8; ++j) {
      const uint64_t first = key + 700 * static_cast<uint64_t>(j);
      step(b, first, (i + j) * kSecond);
      step(c, first, (i + j) * kSecond);
      c.expiry.Load(std::string(c.expiry.Save()));
      ASSERT_EQ(b.records, c.records);
    }
  }
  EXPECT_TRUE(in_pass);
  EXPECT_THROW(a.expiry.Load("short"), Error);
}

}  // namespace
}  // namespace catamaran
