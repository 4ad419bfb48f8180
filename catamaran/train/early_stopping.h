// train/early_stopping.h
//
// Which validation was the best so far, and whether there is hope for a better one.
//
// Thread safety: one thread at a time.

#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace catamaran {

struct BestSoFar {
  double value = NAN;  // NaN: none yet
  int64_t step = 0;
  int64_t worse = 0;  // validations since then
};

class EarlyStopping {
 public:
  // `patience` 0: never gives up.
  EarlyStopping(bool higher_is_better, int64_t patience)
      : higher_(higher_is_better), patience_(patience) {}

  // Whether the value is better than all before it. A NaN never is.
  bool Update(double value, int64_t step) {
    const bool better =
        !std::isnan(value) &&
        (std::isnan(best_.value) || (higher_ ? value > best_.value : value < best_.value));
    if (better) {
      best_ = {value, step, 0};
    } else {
      ++best_.worse;
    }
    return better;
  }
  // As many validations in a row as the patience were no better.
  bool GivesUp() const { return patience_ > 0 && best_.worse >= patience_; }

  const BestSoFar& best() const { return best_; }
  void set_best(const BestSoFar& best) { best_ = best; }

 private:
  const bool higher_;
  const int64_t patience_;
  BestSoFar best_;
};

}  // namespace catamaran
