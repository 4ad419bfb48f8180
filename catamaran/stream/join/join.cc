// stream/join/join.cc

#include "catamaran/stream/join/join.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Of one entry in maps and queues, about.
constexpr uint64_t kOverhead = 256;
// The same of feedback, measured.
constexpr uint64_t kHeldOverhead = 416;

// What a text takes beside the string itself.
uint64_t HeapBytes(const std::string& text) {
  constexpr size_t kWithin = 15;
  return text.size() <= kWithin ? 0 : (text.size() + 1 + 8 + 15) / 16 * 16;
}

int64_t AddTimes(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

bool SameLabels(const JoinSettings& a, const JoinSettings& b) {
  return std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(),
                    [](const LabelRule& x, const LabelRule& y) {
                      return x.label == y.label && x.event == y.event &&
                             x.from_session == y.from_session;
                    });
}

}  // namespace

uint64_t Join::Open::bytes() const {
  return kOverhead + 2 * (id.size() + session.size()) + decided.size() * sizeof(Decided);
}

uint64_t Join::Held::bytes() const {
  return kHeldOverhead + 2 * HeapBytes(item.id) + HeapBytes(item.event) +
         HeapBytes(item.idempotency_key);
}

void Join::SetSettings(const JoinSettings& settings, LogOffset cause) {
  if (settings == settings_) return;
  if (!SameLabels(settings, settings_)) {
    while (!open_.empty()) {
      ++counts_.closed_early;
      CloseAll(open_.begin()->second, cause);
      Forget(open_.begin()->first);
    }
  }
  settings_ = settings;
  has_session_rule_ = std::any_of(settings_.labels.begin(), settings_.labels.end(),
                                  [](const LabelRule& rule) { return rule.from_session; });
  ScheduleAll();
  KeepBudget(cause);
}

void Join::Schedule(uint64_t number, const Open& open) {
  int64_t forget = open.time_ns;
  for (size_t l = 0; l < settings_.labels.size(); ++l) {
    const LabelRule& rule = settings_.labels[l];
    const int64_t end = AddTimes(open.time_ns, rule.window_ns);
    forget = std::max(forget, AddTimes(end, rule.late_ns));
    if ((open.closed >> l & 1) == 0) deadlines_.push({end, number, static_cast<int>(l)});
  }
  deadlines_.push({forget, number, kForget});
}

void Join::ScheduleAll() {
  deadlines_ = {};
  for (const auto& [number, open] : open_) Schedule(number, open);
  for (const auto& [number, held] : held_) {
    deadlines_.push({AddTimes(held.time_ns, settings_.hold_ns), number, kHeld});
  }
}

void Join::AdvanceTo(int64_t time_ns, LogOffset cause) {
  clock_ns_ = std::max(clock_ns_, time_ns);
  // A moment itself belongs to the window that ends with it.
  while (!deadlines_.empty() && deadlines_.top().time_ns < clock_ns_) {
    const Deadline due = deadlines_.top();
    deadlines_.pop();
    if (due.what == kHeld) {
      if (held_.contains(due.number)) {
        ++counts_.unmatched;
        DropHeld(due.number);
      }
      continue;
    }
    const auto found = open_.find(due.number);
    if (found == open_.end()) continue;
    if (due.what == kForget) {
      Forget(due.number);
    } else {
      CloseLabel(found->second, static_cast<uint32_t>(due.what), cause);
    }
  }
}

void Join::AddImpression(LogOffset offset, int64_t time_ns, std::string_view id,
                         std::string_view session, int64_t rows) {
  ++counts_.impressions;
  if (settings_.labels.empty()) return;  // nothing can become of it
  if (open_by_id_.contains(std::string(id))) {
    ++counts_.duplicate_impressions;
    return;
  }
  const uint64_t number = next_number_++;
  Open& open = open_[number];
  open.id = id;
  open.session = session;
  open.offset = offset;
  open.time_ns = time_ns;
  open.rows = rows;
  open_bytes_ += open.bytes();
  Schedule(number, open);
  if (has_session_rule_ && !session.empty()) ApplySession(number, offset);
  Index(number, open);
  ApplyHeld(id);
  KeepBudget(offset);
}

void Join::Index(uint64_t number, const Open& open) {
  open_by_id_[open.id] = number;
  if (has_session_rule_ && !open.session.empty()) open_by_session_[open.session].push_back(number);
}

// The request with that number is what the earlier ones of its session have been waiting for.
void Join::ApplySession(uint64_t number, LogOffset cause) {
  const auto found = open_by_session_.find(open_.at(number).session);
  if (found == open_by_session_.end()) return;
  for (const uint64_t earlier : std::exchange(found->second, {})) {
    Open& open = open_.at(earlier);
    open_bytes_ -= open.bytes();
    for (uint32_t l = 0; l < settings_.labels.size(); ++l) {
      if (!settings_.labels[l].from_session) continue;
      for (int64_t r = 0; r < open.rows; ++r) Decide(open, static_cast<uint32_t>(r), l, 1, cause);
    }
    open_bytes_ += open.bytes();
  }
}

void Join::AddFeedback(LogOffset offset, const FeedbackRecord::Item& item) {
  ++counts_.feedback;
  const int label = LabelOf(item.event);
  if (label < 0 || item.row < 0 || item.row > INT32_MAX) {
    ++counts_.unmatched;
    return;
  }
  const auto found = open_by_id_.find(item.id);
  if (found == open_by_id_.end()) {
    const uint64_t number = next_number_++;
    Held& held = held_[number];
    held = {item, offset, clock_ns_};
    IndexHeld(number, held);
    deadlines_.push({AddTimes(clock_ns_, settings_.hold_ns), number, kHeld});
    KeepBudget(offset);
    return;
  }
  Open& open = open_.at(found->second);
  if (item.row >= open.rows) {
    ++counts_.unmatched;
    return;
  }
  const uint64_t before = open.bytes();
  const bool first = Decide(open, static_cast<uint32_t>(item.row), static_cast<uint32_t>(label),
                            static_cast<float>(item.value), offset);
  ++(first ? counts_.matched : counts_.duplicates);
  if (first && (open.closed >> label & 1) != 0) ++counts_.late;
  open_bytes_ += open.bytes() - before;
  KeepBudget(offset);
}

void Join::IndexHeld(uint64_t number, const Held& held) {
  held_bytes_ += held.bytes();
  held_by_id_[held.item.id].push_back(number);
}

void Join::ApplyHeld(std::string_view id) {
  const auto found = held_by_id_.find(std::string(id));
  if (found == held_by_id_.end()) return;
  const std::vector<uint64_t> numbers = std::move(found->second);
  held_by_id_.erase(found);
  for (const uint64_t waiting : numbers) {
    const Held held = std::move(held_.at(waiting));
    held_.erase(waiting);
    held_bytes_ -= held.bytes();
    --counts_.feedback;                   // it was counted when it came
    AddFeedback(held.offset, held.item);  // holds it again if the impression has had to go
  }
}

int Join::LabelOf(std::string_view event) const {
  for (size_t l = 0; l < settings_.labels.size(); ++l) {
    const LabelRule& rule = settings_.labels[l];
    if (!rule.from_session && (event.empty() || rule.event == event)) return static_cast<int>(l);
  }
  return -1;
}

const Join::Decided* Join::Find(const Open& open, uint32_t row, uint32_t label) const {
  const auto key = std::pair(row, label);
  const auto found = std::lower_bound(
      open.decided.begin(), open.decided.end(), key,
      [](const Decided& d, const auto& wanted) { return std::pair(d.row, d.label) < wanted; });
  if (found == open.decided.end() || std::pair(found->row, found->label) != key) return nullptr;
  return &*found;
}

bool Join::Complete(const Open& open, uint32_t row, uint64_t closed,
                    std::vector<float>& labels) const {
  labels.clear();
  for (uint32_t l = 0; l < settings_.labels.size(); ++l) {
    const LabelRule& rule = settings_.labels[l];
    if (const Decided* decided = Find(open, row, l)) {
      labels.push_back(decided->value);
    } else if ((closed >> l & 1) != 0 && rule.negative) {
      labels.push_back(rule.negative_value);
    } else {
      return false;
    }
  }
  return true;
}

void Join::EmitRow(const Open& open, uint32_t row, std::vector<float> labels, float weight,
                   LogOffset cause) {
  emit_({open.offset, row, std::move(labels), weight, cause, clock_ns_});
}

bool Join::Decide(Open& open, uint32_t row, uint32_t label, float value, LogOffset cause) {
  if (Find(open, row, label) != nullptr) return false;
  const auto place = std::upper_bound(
      open.decided.begin(), open.decided.end(), std::pair(row, label),
      [](const auto& wanted, const Decided& d) { return wanted < std::pair(d.row, d.label); });
  open.decided.insert(place, {row, label, value});
  const bool late = (open.closed >> label & 1) != 0;
  const float weight = late ? settings_.labels[label].late_weight : 1.0F;
  std::vector<float> labels;
  if (weight > 0 && Complete(open, row, open.closed, labels)) {
    EmitRow(open, row, std::move(labels), weight, cause);
  }
  return true;
}

void Join::CloseLabel(Open& open, uint32_t label, LogOffset cause) {
  if ((open.closed >> label & 1) != 0) return;
  const uint64_t before = open.closed;
  open.closed |= uint64_t{1} << label;
  std::vector<float> labels;
  for (int64_t r = 0; r < open.rows; ++r) {
    const auto row = static_cast<uint32_t>(r);
    if (Complete(open, row, before, labels)) continue;  // an example already
    if (Complete(open, row, open.closed, labels)) EmitRow(open, row, labels, 1, cause);
  }
}

void Join::CloseAll(Open& open, LogOffset cause) {
  for (uint32_t l = 0; l < settings_.labels.size(); ++l) CloseLabel(open, l, cause);
}

void Join::Forget(uint64_t number) {
  const auto found = open_.find(number);
  const Open& open = found->second;
  open_bytes_ -= open.bytes();
  open_by_id_.erase(open.id);
  if (const auto session = open_by_session_.find(open.session); session != open_by_session_.end()) {
    std::erase(session->second, number);
    if (session->second.empty()) open_by_session_.erase(session);
  }
  open_.erase(found);
}

void Join::DropHeld(uint64_t number) {
  const auto found = held_.find(number);
  held_bytes_ -= found->second.bytes();
  const auto same = held_by_id_.find(found->second.item.id);
  std::erase(same->second, number);
  if (same->second.empty()) held_by_id_.erase(same);
  held_.erase(found);
}

void Join::KeepBudget(LogOffset cause) {
  while (open_bytes_ > OpenBudget() && !open_.empty()) {
    ++counts_.closed_early;
    CloseAll(open_.begin()->second, cause);
    Forget(open_.begin()->first);
  }
  while (held_bytes_ > HeldBudget() && !held_.empty()) {
    ++counts_.unmatched;
    ++counts_.dropped;
    DropHeld(held_.begin()->first);
  }
  ForgetDeadlines();
}

// Those of what has gone before its time; otherwise a flood of feedback that is dropped would leave
// a deadline each.
void Join::ForgetDeadlines() {
  constexpr size_t kFew = 1024;
  const size_t needed = held_.size() + open_.size() * (settings_.labels.size() + 1);
  if (deadlines_.size() > 2 * needed + kFew) ScheduleAll();
}

LogOffset Join::OldestNeeded(LogOffset none) const {
  return open_.empty() ? none : std::min(none, open_.begin()->second.offset);
}

}  // namespace catamaran
