#include "catamaran/stream/join/join.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/stream/record.pb.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

LabelRule Click() {
  LabelRule rule;
  rule.label = "label";
  rule.event = "click";
  rule.window_ns = 60 * kSecond;
  rule.late_ns = 600 * kSecond;
  rule.late_weight = 0.5F;
  return rule;
}

JoinSettings Settings(std::vector<LabelRule> labels) {
  JoinSettings settings;
  settings.labels = std::move(labels);
  settings.hold_ns = 30 * kSecond;
  return settings;
}

// A join, its records numbered as they come, and what came out.
class Joined {
 public:
  explicit Joined(JoinSettings settings)
      : join([this](JoinedExample example) { out.push_back(std::move(example)); }) {
    join.SetSettings(settings, 0);
  }
  LogOffset Impression(int64_t second, const std::string& id, int64_t rows = 1,
                       const std::string& session = "") {
    join.AdvanceTo(second * kSecond, ++offset);
    join.AddImpression(offset, second * kSecond, id, session, rows);
    return offset;
  }
  void Feedback(int64_t second, const std::string& id, int64_t row = 0, double value = 1,
                const std::string& event = "click") {
    join.AdvanceTo(second * kSecond, ++offset);
    join.AddFeedback(offset, {id, row, event, value, "", 0});
  }
  void Tick(int64_t second) { join.AdvanceTo(second * kSecond, ++offset); }
  // "offset/row=label,label*weight"
  std::vector<std::string> Take() {
    std::vector<std::string> texts;
    for (const JoinedExample& example : out) {
      texts.push_back(fmt::format("{}/{}={}*{}", example.features, example.row,
                                  fmt::join(example.labels, ","), example.weight));
    }
    out.clear();
    return texts;
  }

  LogOffset offset = 0;
  std::vector<JoinedExample> out;
  Join join;
};

TEST(Join, FeedbackMakesAnExampleAtOnceAndTheEndOfTheWindowMakesTheRestNegative) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a", 3);
  j.Feedback(105, "a", 1);
  EXPECT_THAT(j.Take(), ElementsAre("1/1=1*1"));
  j.Tick(160);  // the moment itself belongs to the window
  EXPECT_THAT(j.Take(), IsEmpty());
  j.Tick(161);
  EXPECT_THAT(j.Take(), ElementsAre("1/0=0*1", "1/2=0*1"));
  EXPECT_EQ(j.join.counts().matched, 1);
}

TEST(Join, ALatePositiveCorrectsWithItsWeightOnceAndNotAfterItIsForgotten) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  j.Tick(200);
  EXPECT_THAT(j.Take(), ElementsAre("1/0=0*1"));
  j.Feedback(300, "a");
  EXPECT_THAT(j.Take(), ElementsAre("1/0=1*0.5"));
  j.Feedback(301, "a");
  EXPECT_THAT(j.Take(), IsEmpty());
  EXPECT_EQ(j.join.counts().late, 1);
  EXPECT_EQ(j.join.counts().duplicates, 1);

  j.Impression(1000, "b");
  j.Tick(1000 + 60 + 600 + 1);
  j.Take();
  EXPECT_EQ(j.join.open_impressions(), 0);
  j.Feedback(1700, "b");
  EXPECT_THAT(j.Take(), IsEmpty());
}

TEST(Join, WithoutAWeightLateFeedbackMakesNoExample) {
  LabelRule rule = Click();
  rule.late_weight = 0;
  Joined j(Settings({rule}));
  j.Impression(100, "a");
  j.Tick(200);
  j.Take();
  j.Feedback(201, "a");
  EXPECT_THAT(j.Take(), IsEmpty());
  EXPECT_EQ(j.join.counts().late, 1);
}

TEST(Join, NoFeedbackMakesNothingWhereTheRuleSaysSo) {
  LabelRule rule = Click();
  rule.negative = false;
  Joined j(Settings({rule}));
  j.Impression(100, "a", 2);
  j.Feedback(101, "a", 0, 0.25);
  j.Tick(1000);
  EXPECT_THAT(j.Take(), ElementsAre("1/0=0.25*1"));
}

TEST(Join, FeedbackBeforeItsImpressionIsHeldForAWhile) {
  Joined j(Settings({Click()}));
  j.Feedback(100, "a");
  j.Feedback(100, "never");
  EXPECT_EQ(j.join.held_feedback(), 2);
  const LogOffset a = j.Impression(120, "a");
  EXPECT_THAT(j.Take(), ElementsAre(fmt::format("{}/0=1*1", a)));
  j.Tick(131);
  EXPECT_EQ(j.join.held_feedback(), 0);
  EXPECT_EQ(j.join.counts().unmatched, 1);
  EXPECT_EQ(j.join.counts().feedback, 2);
  j.Impression(132, "never");
  EXPECT_THAT(j.Take(), IsEmpty());
}

TEST(Join, TheFirstFeedbackCounts) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  j.Feedback(101, "a", 0, 0);
  j.Feedback(102, "a", 0, 1);
  EXPECT_THAT(j.Take(), ElementsAre("1/0=0*1"));
  EXPECT_EQ(j.join.counts().duplicates, 1);
}

TEST(Join, AnIdThatIsStillOpenIsNotJoinedTwice) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  j.Impression(101, "a");
  j.Feedback(102, "a");
  EXPECT_THAT(j.Take(), ElementsAre("1/0=1*1"));
  EXPECT_EQ(j.join.counts().duplicate_impressions, 1);
}

TEST(Join, UnknownRowsAndEventsAreCounted) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a", 2);
  j.Feedback(101, "a", 2);
  j.Feedback(101, "a", -1);
  j.Feedback(101, "a", 0, 1, "purchase");
  EXPECT_THAT(j.Take(), IsEmpty());
  EXPECT_EQ(j.join.counts().unmatched, 3);
}

TEST(Join, ARowWaitsForAllItsLabels) {
  LabelRule buy = Click();
  buy.label = "bought";
  buy.event = "buy";
  buy.window_ns = 600 * kSecond;
  Joined j(Settings({Click(), buy}));
  j.Impression(100, "a", 2);
  j.Feedback(110, "a", 0);
  EXPECT_THAT(j.Take(), IsEmpty());
  j.Feedback(120, "a", 0, 7, "buy");
  EXPECT_THAT(j.Take(), ElementsAre("1/0=1,7*1"));
  j.Tick(161);
  EXPECT_THAT(j.Take(), IsEmpty());
  j.Tick(701);
  EXPECT_THAT(j.Take(), ElementsAre("1/1=0,0*1"));
}

TEST(Join, ALaterRequestOfTheSessionIsTheEvent) {
  LabelRule back = Click();
  back.from_session = true;
  Joined j(Settings({back}));
  j.Impression(100, "a", 2, "s1");
  j.Impression(110, "b", 1, "s2");
  j.Feedback(111, "b");  // such a label has no feedback
  EXPECT_THAT(j.Take(), IsEmpty());
  j.Impression(150, "c", 1, "s1");
  EXPECT_THAT(j.Take(), ElementsAre("1/0=1*1", "1/1=1*1"));
  j.Tick(171);
  EXPECT_THAT(j.Take(), ElementsAre("2/0=0*1"));
}

TEST(Join, MemoryStaysWithinItsBudget) {
  JoinSettings settings = Settings({Click()});
  settings.max_bytes = 40'000;
  Joined j(settings);
  for (int i = 0; i < 1000; ++i) {
    j.Impression(100, fmt::format("i{}", i));
    j.Feedback(100, fmt::format("nobody{}", i));
    ASSERT_LE(j.join.bytes(), settings.max_bytes);
  }
  EXPECT_GT(j.join.counts().closed_early, 800);
  EXPECT_GT(j.join.counts().unmatched, 800);
  // What was closed early was learned from, as if its window had ended.
  EXPECT_EQ(static_cast<int64_t>(j.out.size()), j.join.counts().closed_early);
}

TEST(Join, AFloodOfFeedbackForNobodyTookMuchMoreMemoryThanItsBudget) {
  const auto used = [] {
    const auto info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
  };
  const int64_t before = used();
  if (before == 0) GTEST_SKIP() << "this allocator does not count";
  JoinSettings settings = Settings({Click()});
  settings.hold_ns = 600 * kSecond;
  settings.max_bytes = 16 << 20;
  const int64_t budget = 4 << 20;  // a quarter is for feedback
  Joined j(settings);
  const auto flood = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      j.Feedback(100, fmt::format("0b5b4a34-c8f3-4f13-8aef-{:012}", i));
    }
  };
  flood(0, 8'000);
  EXPECT_EQ(j.join.counts().dropped, 0);
  const int64_t counted = static_cast<int64_t>(j.join.held_bytes());
  EXPECT_NEAR(static_cast<double>(used() - before), static_cast<double>(counted), 0.2 * counted);
  flood(8'000, 400'000);
  EXPECT_LE(static_cast<int64_t>(j.join.held_bytes()), budget);
  EXPECT_LE(used() - before, budget + budget / 4);
  const JoinCounts& counts = j.join.counts();
  EXPECT_EQ(counts.dropped + j.join.held_feedback(), 400'000);
  EXPECT_EQ(counts.unmatched, counts.dropped);
  // The newest are still waited for.
  j.Impression(100, "0b5b4a34-c8f3-4f13-8aef-000000399999");
  EXPECT_EQ(j.Take().size(), 1u);
}

TEST(Join, OtherWindowsHoldForWhatIsOpenAndOtherLabelsCloseIt) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  JoinSettings longer = Settings({Click()});
  longer.labels[0].window_ns = 500 * kSecond;
  j.join.SetSettings(longer, 2);
  j.Tick(400);
  EXPECT_THAT(j.Take(), IsEmpty());
  JoinSettings other = longer;
  other.labels[0].label = "other";
  j.join.SetSettings(other, 3);
  EXPECT_THAT(j.Take(), ElementsAre("1/0=0*1"));
  EXPECT_EQ(j.join.open_impressions(), 0);
}

// Much of everything, chosen by a seed.
void Random(Joined& j, uint64_t seed, int from, int to) {
  for (int i = from; i < to; ++i) {
    const uint64_t r = Mix64(seed + static_cast<uint64_t>(i));
    const int64_t second = 100 + i + static_cast<int64_t>(r % 7) - 3;
    const std::string id = fmt::format("id{}", (r >> 8) % 50 + static_cast<uint64_t>(i) / 40);
    switch ((r >> 16) % 4) {
      case 0:
      case 1:
        j.Impression(second, id, static_cast<int64_t>((r >> 20) % 3) + 1,
                     fmt::format("s{}", (r >> 24) % 10));
        break;
      case 2:
        j.Feedback(second, id, static_cast<int64_t>((r >> 20) % 4), 1);
        break;
      default:
        j.Feedback(second, id, 0, 2, "buy");
    }
  }
}

TEST(Join, GoesOnFromWhatWasSavedAsIfNothingHadHappened) {
  LabelRule buy = Click();
  buy.label = "bought";
  buy.event = "buy";
  buy.window_ns = 20 * kSecond;
  buy.negative = true;
  LabelRule back = Click();
  back.label = "back";
  back.event = "";
  back.from_session = true;
  JoinSettings settings = Settings({Click(), buy, back});
  settings.max_bytes = 30'000;
  for (int cut = 0; cut < 2000; cut += 97) {
    Joined whole(settings);
    Random(whole, 5, 0, 2000);
    Joined first(settings);
    Random(first, 5, 0, cut);
    stream::v1::JoinState state;
    first.join.Save(state);
    Joined second({});
    second.join.Load(state);
    second.offset = first.offset;
    second.out = first.out;
    Random(second, 5, cut, 2000);
    ASSERT_EQ(second.out, whole.out) << "cut at " << cut;
    ASSERT_EQ(second.join.counts(), whole.join.counts());
    ASSERT_EQ(second.join.bytes(), whole.join.bytes());
    ASSERT_GT(whole.out.size(), 100u);
  }
}

TEST(Join, ADamagedStateIsRefused) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  stream::v1::JoinState state;
  j.join.Save(state);
  stream::v1::JoinState twice = state;
  *twice.add_open() = state.open(0);
  EXPECT_THROW(j.join.Load(twice), Error);
  stream::v1::JoinState short_counts = state;
  short_counts.mutable_counts()->RemoveLast();
  short_counts.mutable_counts()->RemoveLast();
  EXPECT_THROW(j.join.Load(short_counts), Error);
  EXPECT_EQ(j.join.open_impressions(), 1);  // nothing has happened
}

TEST(Join, AStateOfAnOlderVersionLacksTheLastCount) {
  Joined j(Settings({Click()}));
  j.Impression(100, "a");
  stream::v1::JoinState state;
  j.join.Save(state);
  state.mutable_counts()->RemoveLast();
  j.join.Load(state);
  EXPECT_EQ(j.join.counts().impressions, 1);
  EXPECT_EQ(j.join.counts().dropped, 0);
}

}  // namespace
}  // namespace catamaran
