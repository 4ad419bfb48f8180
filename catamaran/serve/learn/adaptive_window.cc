// serve/learn/adaptive_window.cc

#include "catamaran/serve/learn/adaptive_window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catamaran/serve/learn/plain_bytes.h"

namespace catamaran {
namespace {

constexpr int64_t kBlock = 64;  // numbers between two looks
constexpr size_t kOfASize = 6;  // sums of a size before two become one
constexpr int64_t kLeastHalf = 8 * kBlock;
constexpr size_t kMostLevels = 48;
// Of each look, that it finds a change where there is none.
constexpr double kFalseAlarm = 1e-6;

}  // namespace

double AdaptiveWindow::Sums::variance() const {
  if (count == 0) return 0;
  return std::max(0.0, squares / static_cast<double>(count) - mean() * mean());
}

void AdaptiveWindow::Sums::Add(const Sums& other) {
  count += other.count;
  sum += other.sum;
  squares += other.squares;
}

void AdaptiveWindow::Sums::Remove(const Sums& other) {
  count -= other.count;
  sum -= other.sum;
  squares -= other.squares;
}

std::optional<AdaptiveWindow::Change> AdaptiveWindow::Add(double value, double least) {
  filling_.Add({1, value, value * value});
  if (filling_.count < kBlock) return std::nullopt;
  Close();
  // The first cut is told: it has the most of the past, and what follows is the same change.
  std::optional<Change> told;
  while (const std::optional<Change> change = Cut(least)) {
    if (!told) told = change;
    DropOldest();
  }
  return told;
}

void AdaptiveWindow::Close() {
  all_.Add(filling_);
  if (levels_.empty()) levels_.emplace_back();
  levels_[0].push_back(filling_);
  filling_ = {};
  for (size_t k = 0; levels_[k].size() > kOfASize; ++k) {
    if (k + 1 == levels_.size()) levels_.emplace_back();
    Sums two = levels_[k][0];
    two.Add(levels_[k][1]);
    levels_[k].pop_front();
    levels_[k].pop_front();
    levels_[k + 1].push_back(two);
  }
}

template <class Visit>
void AdaptiveWindow::OldestFirst(Visit visit) const {
  for (size_t k = levels_.size(); k-- > 0;) {
    for (const Sums& sums : levels_[k]) {
      if (!visit(sums)) return;
    }
  }
}

std::optional<AdaptiveWindow::Change> AdaptiveWindow::Cut(double least) const {
  if (all_.count < 2 * kLeastHalf) return std::nullopt;
  const double n = static_cast<double>(all_.count);
  const double confidence = std::log(2 * std::log(n) / kFalseAlarm);
  const double variance = all_.variance();
  Sums before;
  std::optional<Change> found;
  OldestFirst([&](const Sums& sums) {
    before.Add(sums);
    Sums after = all_;
    after.Remove(before);
    if (after.count < kLeastHalf) return false;
    if (before.count < kLeastHalf) return true;
    const double m =
        1 / (1 / static_cast<double>(before.count) + 1 / static_cast<double>(after.count));
    const double chance =
        std::sqrt(2 / m * variance * confidence) + 2 * range_ / (3 * m) * confidence;
    const double difference = std::abs(before.mean() - after.mean());
    if (difference <= chance || difference < least) return true;
    found = Change{before.mean(), after.mean()};
    return false;
  });
  return found;
}

void AdaptiveWindow::DropOldest() {
  while (!levels_.empty() && levels_.back().empty()) levels_.pop_back();
  if (levels_.empty()) return;
  all_.Remove(levels_.back().front());
  levels_.back().pop_front();
}

AdaptiveWindow::Change AdaptiveWindow::Split(int64_t count) const {
  Sums before, after = filling_;
  for (const auto& level : levels_) {
    for (auto sums = level.rbegin(); sums != level.rend(); ++sums) {
      (after.count < count ? after : before).Add(*sums);
    }
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return {before.count > 0 ? before.mean() : kNaN, after.count > 0 ? after.mean() : kNaN};
}

void AdaptiveWindow::Save(std::string& bytes) const {
  AppendPlain(bytes, filling_);
  AppendPlain(bytes, all_);
  AppendPlain(bytes, static_cast<uint64_t>(levels_.size()));
  for (const auto& level : levels_) {
    AppendPlain(bytes, static_cast<uint64_t>(level.size()));
    for (const Sums& sums : level) AppendPlain(bytes, sums);
  }
}

bool AdaptiveWindow::Load(std::string_view& bytes) {
  Sums filling, all;
  uint64_t levels = 0;
  if (!TakePlain(bytes, filling) || !TakePlain(bytes, all) || !TakePlain(bytes, levels) ||
      levels > kMostLevels) {
    return false;
  }
  std::vector<std::deque<Sums>> read(levels);
  for (auto& level : read) {
    uint64_t size = 0;
    if (!TakePlain(bytes, size) || size > kOfASize) return false;
    level.resize(size);
    for (Sums& sums : level) {
      if (!TakePlain(bytes, sums)) return false;
    }
  }
  filling_ = filling;
  all_ = all;
  levels_ = std::move(read);
  return true;
}

}  // namespace catamaran
