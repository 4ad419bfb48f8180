// serve/learn/lost_impressions.h
//
// Impressions that the log did not take, since the disk was full or learning had stopped. Feedback
// for them is accepted, as for any id, and can never be joined: it is counted here, so that it can
// be told from feedback for ids that were never given out. The newest kMost are remembered, and
// only while the process lives.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_set>

namespace catamaran {

class LostImpressions {
 public:
  static constexpr size_t kMost = size_t{1} << 16;

  // Counts it; an empty id cannot get feedback and is not remembered.
  void Add(std::string_view id);
  // A retry of the request was logged.
  void Remove(std::string_view id);
  bool Contains(std::string_view id) const;
  // Feedback for a remembered id was acknowledged.
  void AddFeedback(int64_t items) { feedback_ += items; }

  int64_t impressions() const { return impressions_; }
  int64_t feedback() const { return feedback_; }

 private:
  std::atomic<int64_t> impressions_ = 0, feedback_ = 0;
  std::atomic<bool> any_ = false;     // so that nobody waits for the lock while all is well
  mutable std::mutex mutex_;          // guards what follows
  std::unordered_set<uint64_t> ids_;  // hashes
  std::deque<uint64_t> order_;        // oldest first; also of ids that were removed
};

}  // namespace catamaran
