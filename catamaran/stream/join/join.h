// stream/join/join.h
//
// Joins impressions with what became of them. Each row of an impression is an example once all its
// labels are known: a label is decided by the first feedback for it (at once, so that the model
// learns from a click within moments), or closed when its window ends without any; closed, it is
// negative or makes the row worthless, as its rule says. Feedback that comes after its label was
// closed, and before the impression is forgotten, makes one more example, with the weight that the
// rule gives late ones.
//
// What comes out is a function of the calls and their order, nothing else: time is that of records,
// and its clock is the largest seen. Of features it knows offsets in the log only; memory is what
// waits, within a budget. Beyond that, impressions are closed and forgotten before their time, and
// feedback without an impression is dropped, the oldest first; both are counted.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"

namespace catamaran {

namespace stream::v1 {
class JoinState;
}

// A row to learn from: features are in the log.
struct JoinedExample {
  LogOffset features = 0;  // of the record that has them
  uint32_t row = 0;        // in it
  std::vector<float> labels;
  float weight = 1;
  LogOffset cause = 0;  // of the record that completed it
  int64_t time_ns = 0;  // the clock then
  friend bool operator==(const JoinedExample&, const JoinedExample&) = default;
};

struct JoinCounts {
  int64_t impressions = 0;
  int64_t duplicate_impressions = 0;  // of an id that is still open: not joined
  int64_t closed_early = 0;           // impressions, for want of room
  int64_t feedback = 0;
  int64_t matched = 0;     // decided a label, in its window or late
  int64_t late = 0;        // of those: after it
  int64_t duplicates = 0;  // for a label that was decided before
  int64_t unmatched = 0;   // no impression came, or no such row or event
  int64_t dropped = 0;     // of those: held, and left out before their time for want of room
  friend bool operator==(const JoinCounts&, const JoinCounts&) = default;
};

class Join {
 public:
  // Called for every example, in order, during the calls below.
  using Emit = std::function<void(JoinedExample)>;

  explicit Join(Emit emit) : emit_(std::move(emit)) {}

  // Holds for what is open too. If the labels are others than before (in name, event or order),
  // what is open is closed first.
  void SetSettings(const JoinSettings& settings, LogOffset cause);
  const JoinSettings& settings() const { return settings_; }

  // Closes what has ended by then. REQUIRES of the next two: called with their time before.
  void AdvanceTo(int64_t time_ns, LogOffset cause);
  void AddImpression(LogOffset offset, int64_t time_ns, std::string_view id,
                     std::string_view session, int64_t rows);
  void AddFeedback(LogOffset offset, const FeedbackRecord::Item& item);

  int64_t clock_ns() const { return clock_ns_; }
  // The first record whose features an open impression needs; `none` if there is none.
  LogOffset OldestNeeded(LogOffset none) const;
  const JoinCounts& counts() const { return counts_; }
  int64_t open_impressions() const { return static_cast<int64_t>(open_.size()); }
  int64_t held_feedback() const { return static_cast<int64_t>(held_.size()); }
  uint64_t bytes() const { return open_bytes_ + held_bytes_; }
  uint64_t held_bytes() const { return held_bytes_; }

  void Save(stream::v1::JoinState& state) const;
  // An Error if the state is damaged.
  void Load(const stream::v1::JoinState& state);

 private:
  struct Decided {
    uint32_t row = 0, label = 0;
    float value = 0;
  };
  struct Open {
    std::string id, session;
    LogOffset offset = 0;
    int64_t time_ns = 0;
    int64_t rows = 0;
    uint64_t closed = 0;           // bits of labels
    std::vector<Decided> decided;  // by row, then label
    uint64_t bytes() const;
  };
  struct Held {
    FeedbackRecord::Item item;
    LogOffset offset = 0;
    int64_t time_ns = 0;
    uint64_t bytes() const;
  };
  // When something ends: a label's window (its index), an impression (kForget), or the wait of
  // feedback (kHeld). In a total order, so that what is due together ends in one order.
  struct Deadline {
    int64_t time_ns = 0;
    uint64_t number = 0;
    int what = 0;
    friend auto operator<=>(const Deadline&, const Deadline&) = default;
  };
  static constexpr int kForget = 1000, kHeld = 1001;

  void Schedule(uint64_t number, const Open& open);
  void ScheduleAll();
  void Index(uint64_t number, const Open& open);
  void IndexHeld(uint64_t number, const Held& held);
  int LabelOf(std::string_view event) const;
  const Decided* Find(const Open& open, uint32_t row, uint32_t label) const;
  // The labels of a row if all are known, with these labels closed.
  bool Complete(const Open& open, uint32_t row, uint64_t closed, std::vector<float>& labels) const;
  void EmitRow(const Open& open, uint32_t row, std::vector<float> labels, float weight,
               LogOffset cause);
  bool Decide(Open& open, uint32_t row, uint32_t label, float value, LogOffset cause);
  void ApplySession(uint64_t number, LogOffset cause);
  void ApplyHeld(std::string_view id);
  void CloseLabel(Open& open, uint32_t label, LogOffset cause);
  void CloseAll(Open& open, LogOffset cause);
  void Forget(uint64_t number);
  void DropHeld(uint64_t number);
  void KeepBudget(LogOffset cause);
  void ForgetDeadlines();
  uint64_t OpenBudget() const { return settings_.max_bytes - settings_.max_bytes / 4; }
  uint64_t HeldBudget() const { return settings_.max_bytes / 4; }

  Emit emit_;
  JoinSettings settings_;
  bool has_session_rule_ = false;
  int64_t clock_ns_ = 0;
  uint64_t next_number_ = 1;  // of impressions and of feedback that waits
  std::map<uint64_t, Open> open_;
  std::map<uint64_t, Held> held_;
  std::unordered_map<std::string, uint64_t> open_by_id_;
  std::unordered_map<std::string, std::vector<uint64_t>> open_by_session_;
  std::unordered_map<std::string, std::vector<uint64_t>> held_by_id_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  uint64_t open_bytes_ = 0, held_bytes_ = 0;
  JoinCounts counts_;
};

}  // namespace catamaran
