// serve/learn/adaptive_window.h
//
// Watches the mean of a stream of bounded numbers and says when it has changed. It keeps as much of
// the past as looks alike (after Bifet and Gavaldà's ADWIN): wherever the window can be cut in two
// so that the means of the halves differ by more than chance explains, the older half goes, and
// that is a change. The bound is Bernstein's, corrected for the cuts that are tried, so that a
// stream that does not change is practically never said to.
//
// Memory and time grow with the logarithm of the window: old numbers are kept as sums of 2^k.
//
// Thread safety: none. It is a function of what was added: the same numbers give the same changes.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

class AdaptiveWindow {
 public:
  // Numbers lie within an interval of that length.
  explicit AdaptiveWindow(double range) : range_(range) {}

  struct Change {
    double before = 0, after = 0;  // means
  };
  // The change that this number has brought to light. Differences below `least` are none.
  std::optional<Change> Add(double value, double least);

  int64_t count() const { return all_.count; }
  double mean() const { return all_.mean(); }
  // The means of about the newest `count` numbers, and of those before them; NaN: there are none.
  Change Split(int64_t count) const;

  void Save(std::string& bytes) const;
  // Takes its own part off the front; false if there is none.
  bool Load(std::string_view& bytes);

 private:
  struct Sums {
    int64_t count = 0;
    double sum = 0, squares = 0;
    double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    double variance() const;
    void Add(const Sums& other);
    void Remove(const Sums& other);
  };
  // Closes the block that is being filled.
  void Close();
  std::optional<Change> Cut(double least) const;
  void DropOldest();
  template <class Visit>
  void OldestFirst(Visit visit) const;

  double range_;
  Sums filling_, all_;  // all_ without what is being filled
  // By size, the newest first: of levels_[k] each is 2^k blocks. In a level the oldest is in front.
  std::vector<std::deque<Sums>> levels_;
};

}  // namespace catamaran
