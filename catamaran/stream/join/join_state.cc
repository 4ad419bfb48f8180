// What a commit keeps of a join, and back.

#include "catamaran/stream/join/join.h"
#include "catamaran/stream/record_proto.h"

namespace catamaran {

void Join::Save(stream::v1::JoinState& state) const {
  ToProto(settings_, *state.mutable_settings());
  state.set_clock_ns(clock_ns_);
  state.set_next_number(next_number_);
  for (const auto& [number, open] : open_) {
    proto::JoinState::Open& saved = *state.add_open();
    saved.set_id(open.id);
    saved.set_session(open.session);
    saved.set_offset(open.offset);
    saved.set_time_ns(open.time_ns);
    saved.set_rows(open.rows);
    saved.set_closed(open.closed);
    saved.set_number(number);
    for (const Decided& decided : open.decided) {
      proto::JoinState::Decided& one = *saved.add_decided();
      one.set_row(decided.row);
      one.set_label(decided.label);
      one.set_value(decided.value);
    }
  }
  for (const auto& [number, held] : held_) {
    proto::JoinState::Held& saved = *state.add_held();
    ToProto(held.item, *saved.mutable_item());
    saved.set_offset(held.offset);
    saved.set_time_ns(held.time_ns);
    saved.set_number(number);
  }
  for (const int64_t count :
       {counts_.impressions, counts_.duplicate_impressions, counts_.closed_early, counts_.feedback,
        counts_.matched, counts_.late, counts_.duplicates, counts_.unmatched, counts_.dropped}) {
    state.add_counts(count);
  }
}

void Join::Load(const stream::v1::JoinState& state) {
  Join loaded(emit_);
  FromProto(state.settings(), loaded.settings_);
  for (const LabelRule& rule : loaded.settings_.labels) {
    loaded.has_session_rule_ |= rule.from_session;
  }
  loaded.clock_ns_ = state.clock_ns();
  loaded.next_number_ = state.next_number();
  for (const proto::JoinState::Open& saved : state.open()) {
    if (saved.number() >= state.next_number() || loaded.open_.contains(saved.number()) ||
        saved.rows() < 1) {
      Fail(ErrorCode::kStorage, "the join: damaged: impression {} of {} rows", saved.number(),
           saved.rows());
    }
    Open& open = loaded.open_[saved.number()];
    open.id = saved.id();
    open.session = saved.session();
    open.offset = saved.offset();
    open.time_ns = saved.time_ns();
    open.rows = saved.rows();
    open.closed = saved.closed();
    for (const proto::JoinState::Decided& one : saved.decided()) {
      open.decided.push_back({one.row(), one.label(), one.value()});
    }
    loaded.open_bytes_ += open.bytes();
    // Of a session those wait whose label is not decided.
    const bool waits = [&] {
      for (uint32_t l = 0; l < loaded.settings_.labels.size(); ++l) {
        if (loaded.settings_.labels[l].from_session && loaded.Find(open, 0, l) == nullptr) {
          return true;
        }
      }
      return false;
    }();
    loaded.open_by_id_[open.id] = saved.number();
    if (waits && !open.session.empty()) {
      loaded.open_by_session_[open.session].push_back(saved.number());
    }
  }
  for (const proto::JoinState::Held& saved : state.held()) {
    if (saved.number() >= state.next_number() || loaded.held_.contains(saved.number())) {
      Fail(ErrorCode::kStorage, "the join: damaged: feedback {}", saved.number());
    }
    Held& held = loaded.held_[saved.number()];
    FromProto(saved.item(), held.item);
    held.offset = saved.offset();
    held.time_ns = saved.time_ns();
    loaded.IndexHeld(saved.number(), held);
  }
  // Older versions wrote the first ones only.
  constexpr int kLeastCounts = 8, kCounts = 9;
  if (state.counts_size() < kLeastCounts || state.counts_size() > kCounts) {
    Fail(ErrorCode::kStorage, "the join: damaged: {} counts; it has {}", state.counts_size(),
         kCounts);
  }
  int next = 0;
  for (int64_t* count : {&loaded.counts_.impressions, &loaded.counts_.duplicate_impressions,
                         &loaded.counts_.closed_early, &loaded.counts_.feedback,
                         &loaded.counts_.matched, &loaded.counts_.late, &loaded.counts_.duplicates,
                         &loaded.counts_.unmatched, &loaded.counts_.dropped}) {
    if (next < state.counts_size()) *count = state.counts(next++);
  }
  loaded.ScheduleAll();
  *this = std::move(loaded);
}

}  // namespace catamaran
