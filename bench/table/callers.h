// bench/table/callers.h
//
// One or two callers that go through prepared keys batch by batch, and the time a key takes; of two
// also how many times as fast they are as one.

#pragma once

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "bench/table/keys.h"
#include "bench/worker.h"

namespace catamaran::bench {

// What each caller goes through: four rounds' worth, so that no round sees the keys of the one
// before. T is a key, or what stands for one.
template <class T>
class Callers {
 public:
  // make(rank) for every rank; callers have different ranks.
  template <class Make>
  Callers(const KeyCase& c, size_t rows, Make make)
      : batch_(c.batch), window_(KeysARound(c.batch, rows)) {
    for (size_t caller = 0; caller < c.callers; ++caller) {
      std::vector<T> all;
      for (uint64_t rank : MakeRanks(c.distribution, rows, kWindows * window_, 1 + caller)) {
        all.push_back(make(rank));
      }
      all_.push_back(std::move(all));
    }
  }

  // Every caller, on its own thread, calls work(caller, batch) for each batch of its next round.
  // Returns the seconds for a key, over all callers.
  template <class Work>
  double Round(Work work) {
    return Round(all_.size(), work);
  }

  // The same as a measurement. Of two callers its part "scaling" says how many times as fast they
  // were as the first alone, right before and after: others who use the machine slow both down.
  template <class Work>
  Measurement Measure(Work work) {
    if (all_.size() == 1) return {Round(work), {}};
    Round(1, work);  // whoever had the processor before has left its caches cold
    const double before = Round(1, work);
    const double seconds = Round(work);
    const double after = Round(1, work);
    return {seconds, {{"scaling", (before + after) / 2 / seconds}}};
  }

  size_t count() const { return all_.size(); }
  size_t batch() const { return batch_; }
  const std::vector<T>& all(size_t caller) const { return all_[caller]; }

 private:
  template <class Work>
  double Round(size_t callers, Work& work) {
    const size_t first = round_++ % kWindows * window_;
    const auto go = [&](size_t caller) {
      const T* keys = all_[caller].data() + first;
      for (size_t i = 0; i < window_; i += batch_) work(caller, keys + i);
    };
    const double begin = Now();
    std::vector<std::thread> others;
    for (size_t caller = 1; caller < callers; ++caller) others.emplace_back(go, caller);
    go(0);
    for (std::thread& other : others) other.join();
    return (Now() - begin) / static_cast<double>(window_ * callers);
  }

  static constexpr size_t kWindows = 4;
  const size_t batch_;
  const size_t window_;
  size_t round_ = 0;
  std::vector<std::vector<T>> all_;
};

}  // namespace catamaran::bench
