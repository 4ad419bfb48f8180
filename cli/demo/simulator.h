// cli/demo/simulator.h
//
// A made-up feed of stories and the people who read it, for the demo: what really happens to an
// online model, with the truth known. Everything is a function of a seed and the world's own time,
// so that any moment can be asked for, in any order.
//
//   - 400 places of a feed hold a story each; how often a place is shown falls off as a power of
//     its rank. Stories go after 5 to 45 minutes and new ones, which nobody has seen, take their
//     place.
//   - 4,000 people in 16 groups. A group likes each of 12 topics more or less, for good, and
//     beside that for a while: a wave of 30 to 90 minutes. People differ a little in how much they
//     click at all.
//   - The logit of a click is -1.5 + the story's quality + the group's taste for its topic now +
//   the
//     person's own habit. What comes of it is drawn from that probability, which is known for each
//     impression: nobody can rank better than by it.
//   - A click comes 15 seconds after the impression on average; of one in ten, minutes later.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <vector>

namespace catamaran::cli {

// One story shown to one person.
struct Shown {
  uint64_t topic = 0, story = 0;
  double probability = 0;  // the true one
  bool clicked = false;    // at some time
  double click_time = 0;   // of the click, where there is one
};

// One page of the feed.
struct PageView {
  int64_t number = 0;
  double time = 0;  // seconds of the world; 0: the demo's first request
  uint64_t user = 0, group = 0;
  std::vector<Shown> shown;
};

class Simulator {
 public:
  static constexpr int kGroups = 16, kTopics = 12, kUsers = 4000, kPlaces = 400;

  explicit Simulator(uint64_t seed, double views_per_second, int stories_per_view = 8);

  // The view with that number, which may be negative: those before the demo began.
  PageView View(int64_t number) const;
  double TimeOf(int64_t number) const { return static_cast<double>(number) / views_per_second_; }
  int64_t NumberAt(double time) const { return static_cast<int64_t>(time * views_per_second_); }

  // The story in a place at a time. No two places, and no two times of a place, share one.
  uint64_t StoryAt(int place, double time) const;
  uint64_t TopicOf(uint64_t story) const;
  double Probability(uint64_t user, uint64_t story, double time) const;

 private:
  enum Stream : uint64_t { kView, kItems, kLife, kStory, kTaste, kUser };
  double Uniform(Stream stream, uint64_t counter, uint64_t which = 0) const;
  double Normal(Stream stream, uint64_t counter) const;
  int PlaceFor(double uniform) const;

  const uint64_t seed_;
  const double views_per_second_;
  const int stories_per_view_;
  std::vector<double> places_;  // how often one up to this one is shown
};

}  // namespace catamaran::cli
