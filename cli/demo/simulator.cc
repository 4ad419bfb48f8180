#include "cli/demo/simulator.h"

#include <algorithm>
#include <cmath>

#include "catamaran/base/random.h"

namespace catamaran::cli {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kMinute = 60;
constexpr double kPower = 0.9;  // of how often the places are shown
constexpr double kBase = -1.5, kQuality = 0.8, kHabit = 0.4;
constexpr double kLastingTaste = 0.8, kDriftingTaste = 1.1;
constexpr double kClickDelay = 15, kSlowClickDelay = 4 * kMinute, kSlowClicks = 0.1;
// Stories' numbers begin here, so that those before the demo's first request have one too.
constexpr int64_t kFirstTurn = 1'000'000;

}  // namespace

Simulator::Simulator(uint64_t seed, double views_per_second, int stories_per_view)
    : seed_(seed), views_per_second_(views_per_second), stories_per_view_(stories_per_view) {
  double sum = 0;
  for (int rank = 0; rank < kPlaces; ++rank) {
    places_.push_back(sum += std::pow(rank + 1.0, -kPower));
  }
  for (double& place : places_) place /= sum;
}

double Simulator::Uniform(Stream stream, uint64_t counter, uint64_t which) const {
  const PhiloxBlock block = Philox(seed_, counter, stream << 32 | which);
  return UniformDouble(block.words[0], block.words[1]);
}

double Simulator::Normal(Stream stream, uint64_t counter) const {
  const PhiloxBlock block = Philox(seed_, counter, stream << 32 | 0xffff);
  return NormalFloats(block.words[0], block.words[1]).first;
}

int Simulator::PlaceFor(double uniform) const {
  const auto found = std::upper_bound(places_.begin(), places_.end(), uniform);
  return static_cast<int>(std::min<std::ptrdiff_t>(found - places_.begin(), kPlaces - 1));
}

uint64_t Simulator::StoryAt(int place, double time) const {
  const auto which = static_cast<uint64_t>(place);
  const double life = (5 + 40 * Uniform(kLife, which, 0)) * kMinute;
  const double turn = std::floor(time / life + Uniform(kLife, which, 1));
  return static_cast<uint64_t>(static_cast<int64_t>(turn) + kFirstTurn) * kPlaces + which;
}

uint64_t Simulator::TopicOf(uint64_t story) const {
  return static_cast<uint64_t>(Uniform(kStory, story) * kTopics);
}

double Simulator::Probability(uint64_t user, uint64_t story, double time) const {
  const uint64_t pair = (user % kGroups) * kTopics + TopicOf(story);
  const double period = (30 + 60 * Uniform(kTaste, pair, 0)) * kMinute;
  const double taste =
      kLastingTaste * Normal(kTaste, pair) +
      kDriftingTaste * std::sin(kTwoPi * (time / period + Uniform(kTaste, pair, 1)));
  const double logit =
      kBase + kQuality * Normal(kStory, story) + taste + kHabit * Normal(kUser, user);
  return 1 / (1 + std::exp(-logit));
}

PageView Simulator::View(int64_t number) const {
  const auto counter = static_cast<uint64_t>(number);
  PageView view;
  view.number = number;
  view.time = TimeOf(number);
  view.user = static_cast<uint64_t>(Uniform(kView, counter) * kUsers);
  view.group = view.user % kGroups;
  for (int i = 0; i < stories_per_view_; ++i) {
    const auto draw = [&](uint64_t what) {
      return Uniform(kItems, counter, static_cast<uint64_t>(i) * 8 + what);
    };
    Shown shown;
    shown.story = StoryAt(PlaceFor(draw(0)), view.time);
    shown.topic = TopicOf(shown.story);
    shown.probability = Probability(view.user, shown.story, view.time);
    shown.clicked = draw(1) < shown.probability;
    const double mean = draw(2) < kSlowClicks ? kSlowClickDelay : kClickDelay;
    shown.click_time = view.time - mean * std::log(1 - draw(3));
    view.shown.push_back(shown);
  }
  return view;
}

}  // namespace catamaran::cli
