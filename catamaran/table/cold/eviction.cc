#include "catamaran/table/cold/eviction.h"

#include <algorithm>
#include <cmath>

namespace catamaran {
namespace {

float Worth(const RowRules& rules, const uint32_t* record, uint32_t now) {
  const uint32_t seen = record[row_words::kLastSeen];
  const double age = now > seen ? static_cast<double>(now - seen) : 0;
  const double score = std::max(rules.Score(record, now), 0.0);
  return static_cast<float>((score + 1) / (age + 1));
}

bool InOrder(const EvictionClock::Victim& a, const EvictionClock::Victim& b) {
  return a.hash < b.hash;
}

}  // namespace

void EvictionClock::TakeChosen(HotRows& hot, uint32_t now, int64_t count) {
  for (; !chosen_.empty() && std::ssize(victims_) < count; chosen_.pop_back()) {
    const Victim& victim = chosen_.back();
    hot.Find({&victim.key, 1}, [&](size_t, RowClass, const uint32_t* record) {
      // Who is not seen is worth less from second to second.
      if (record == nullptr || Worth(hot.rules(), record, now) > victim.worth) return;
      victims_.push_back(victim);
    });
  }
}

void EvictionClock::ChooseGroup(HotRows& hot, uint32_t now, int64_t count, int64_t records) {
  const RowRules& rules = hot.rules();
  chosen_.clear();
  const auto look = [&](RowClass, const uint32_t* record) {
    const uint64_t key = RecordKey(record);
    const Victim looked_at = {Worth(rules, record, now), rules.config().Hash(key), key};
    if (std::binary_search(victims_.begin(), victims_.end(), looked_at, InOrder)) return;
    chosen_.push_back(looked_at);
  };
  // Hashes are spread evenly, so a part of them holds that part of the rows, nearly; where it does
  // not, the hand goes on, once round at most.
  const int64_t wanted = std::min(kLookedAt * count, records);
  const double part = static_cast<double>(wanted) / static_cast<double>(records);
  const uint64_t span = part >= 1 ? UINT64_MAX : static_cast<uint64_t>(part * 0x1p64);
  for (uint64_t left = UINT64_MAX; left > 0 && std::ssize(chosen_) < wanted;) {
    // Not around the end in one go.
    const uint64_t step = std::min({span, left, UINT64_MAX - hand_});
    hot.Walk(hand_, hand_ + step, look);
    hand_ += step + 1;
    left -= std::min(left, std::max<uint64_t>(step, 1));
  }

  const auto worse = [](const Victim& a, const Victim& b) {
    // Equal ones from all over, so that what stays is spread evenly too.
    return a.worth != b.worth ? a.worth < b.worth : Mix64(a.hash) < Mix64(b.hash);
  };
  const auto keep = static_cast<size_t>(std::min<int64_t>(count, std::ssize(chosen_)));
  std::nth_element(chosen_.begin(), chosen_.begin() + static_cast<std::ptrdiff_t>(keep),
                   chosen_.end(), worse);
  chosen_.resize(keep);
  std::sort(chosen_.begin(), chosen_.end(),
            [&](const Victim& a, const Victim& b) { return worse(b, a); });
}

const std::vector<EvictionClock::Victim>& EvictionClock::Choose(HotRows& hot, uint32_t now,
                                                                int64_t count) {
  victims_.clear();
  int64_t records = 0;
  for (int c = 0; c < kRowClasses; ++c) records += hot.num_in_memory(static_cast<RowClass>(c));
  if (records == 0 || count <= 0) return victims_;
  TakeChosen(hot, now, count);
  if (const int64_t missing = count - std::ssize(victims_); missing > 0) {
    std::sort(victims_.begin(), victims_.end(), InOrder);
    ChooseGroup(hot, now, std::max(missing, std::min(kGroup, records / 16)),
                records - std::ssize(victims_));
    TakeChosen(hot, now, count);
  }
  std::sort(victims_.begin(), victims_.end(), InOrder);
  return victims_;
}

}  // namespace catamaran
