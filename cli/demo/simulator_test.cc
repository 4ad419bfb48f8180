#include "cli/demo/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "catamaran/train/metrics.h"

namespace catamaran::cli {
namespace {

constexpr double kViewsPerSecond = 5;

TEST(Simulator, TheSameSeedGivesTheSameWorldInAnyOrder) {
  const Simulator one(1, kViewsPerSecond), again(1, kViewsPerSecond), other(2, kViewsPerSecond);
  bool differs = false;
  for (int64_t number : {70, -3, 0, 12345}) {
    const PageView a = one.View(number), b = again.View(number), c = other.View(number);
    EXPECT_EQ(a.user, b.user);
    ASSERT_EQ(a.shown.size(), b.shown.size());
    for (size_t i = 0; i < a.shown.size(); ++i) {
      EXPECT_EQ(a.shown[i].story, b.shown[i].story);
      EXPECT_EQ(a.shown[i].probability, b.shown[i].probability);
      EXPECT_EQ(a.shown[i].clicked, b.shown[i].clicked);
      EXPECT_EQ(a.shown[i].click_time, b.shown[i].click_time);
      differs |= a.shown[i].story != c.shown[i].story;
    }
  }
  EXPECT_TRUE(differs);
}

TEST(Simulator, ClicksComeAsOftenAsTheirProbabilitySays) {
  const Simulator world(1, kViewsPerSecond);
  double expected = 0, variance = 0, clicks = 0;
  for (int64_t number = 0; number < 5000; ++number) {
    for (const Shown& shown : world.View(number).shown) {
      expected += shown.probability;
      variance += shown.probability * (1 - shown.probability);
      clicks += shown.clicked;
    }
  }
  EXPECT_NEAR(clicks, expected, 4 * std::sqrt(variance));
}

TEST(Simulator, NobodyRanksBetterThanByTheTrueProbability) {
  const Simulator world(1, kViewsPerSecond);
  std::vector<float> truth, earlier, labels;
  for (int64_t number = 0; number < 3000; ++number) {
    const PageView view = world.View(number);
    for (const Shown& shown : view.shown) {
      truth.push_back(static_cast<float>(shown.probability));
      earlier.push_back(
          static_cast<float>(world.Probability(view.user, shown.story, view.time - 1800)));
      labels.push_back(shown.clicked ? 1.0f : 0.0f);
    }
  }
  const double best = ExactAuc(truth, labels, {});
  EXPECT_GT(best, 0.7);
  // The same stories by the tastes of half an hour before.
  EXPECT_LT(ExactAuc(earlier, labels, {}), best - 0.02);
}

TEST(Simulator, AFewStoriesAreShownMostAndNewOnesAppear) {
  const Simulator world(1, kViewsPerSecond);
  std::map<uint64_t, int> shown_first;
  std::set<uint64_t> later;
  for (int64_t number = 0; number < 1500; ++number) {  // five minutes
    for (const Shown& shown : world.View(number).shown) ++shown_first[shown.story];
    for (const Shown& shown : world.View(number + 18'000).shown) later.insert(shown.story);
  }
  std::vector<int> counts;
  int all = 0;
  for (const auto& [story, count] : shown_first) {
    counts.push_back(count);
    all += count;
  }
  std::sort(counts.rbegin(), counts.rend());
  int top = 0;
  for (size_t i = 0; i < 40; ++i) top += counts[i];
  EXPECT_GT(top, all * 0.4);  // a tenth of the places
  for (const uint64_t story : later) {
    EXPECT_FALSE(shown_first.contains(story)) << "an hour later no story is left";
  }
}

TEST(Simulator, ClicksComeAfterTheirImpressionAndSomeAreLate) {
  const Simulator world(1, kViewsPerSecond);
  int clicks = 0, late = 0;
  for (int64_t number = -2000; number < 2000; ++number) {
    const PageView view = world.View(number);
    for (const Shown& shown : view.shown) {
      if (!shown.clicked) continue;
      EXPECT_GE(shown.click_time, view.time);
      ++clicks;
      late += shown.click_time > view.time + 120;
    }
  }
  EXPECT_GT(late, clicks / 50);
  EXPECT_LT(late, clicks / 5);
}

}  // namespace
}  // namespace catamaran::cli
