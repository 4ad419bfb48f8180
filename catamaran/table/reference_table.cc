#include "catamaran/table/reference_table.h"

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {

ReferenceTable::ReferenceTable(const TableConfig& config) : policies_(config) {}

RowCounts ReferenceTable::Counts() const {
  RowCounts counts{};
  for (const auto& [hash, entry] : entries_) ++counts[static_cast<size_t>(entry.c)];
  return counts;
}

int64_t ReferenceTable::size() const {
  std::lock_guard lock(mutex_);
  const RowCounts counts = Counts();
  return counts[1] + counts[2];
}

TableInfo ReferenceTable::Info() const {
  std::lock_guard lock(mutex_);
  const RowCounts counts = Counts();
  TableInfo info;
  info.rows = counts[1] + counts[2];
  info.narrow_rows = counts[1];
  info.waiting = counts[0];
  info.index_bytes = static_cast<int64_t>(entries_.size() * sizeof(Entries::value_type));
  info.bytes = info.index_bytes + (policies_.sketch ? policies_.sketch->bytes() : 0);
  std::vector<int64_t> rows(static_cast<size_t>(kMaxTableFeatures) + 1);
  for (const auto& [hash, entry] : entries_) {
    info.bytes += static_cast<int64_t>(entry.record.size() * sizeof(uint32_t));
    if (entry.c != RowClass::kWaiting) ++rows[RecordFeature(entry.record.data())];
  }
  info.pages = "4 KiB";
  info.expired = policies_.expired;
  info.features = policies_.features.Info(rows);
  return info;
}

void ReferenceTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  const size_t width = static_cast<size_t>(config().width);
  CheckPull(keys, out);
  {
    std::lock_guard lock(mutex_);
    float* to = out.data();
    for (uint64_t key : keys) {
      const auto it = entries_.find(config().Hash(key));
      if (it != entries_.end() && it->second.c != RowClass::kWaiting) {
        policies_.rules.Read(it->second.c, it->second.record.data(), to);
      } else {
        policies_.ReadMissing(key, to);
      }
      to += width;
    }
  }
  done();
}

ReferenceTable::Entry* ReferenceTable::FindEntry(uint64_t key) {
  const auto it = entries_.find(config().Hash(key));
  return it == entries_.end() ? nullptr : &it->second;
}

ReferenceTable::Entry& ReferenceTable::Replace(uint64_t key, RowClass c) {
  Entry& entry = entries_[config().Hash(key)];
  entry.c = c;
  entry.record.assign(static_cast<size_t>(layout().of(c).words), 0);
  return entry;
}

void ReferenceTable::Erase(Entries::iterator it) {
  deleted_.emplace(it->first, RecordKey(it->second.record.data()));
  entries_.erase(it);
}

void ReferenceTable::VisitObservations(const TableStep& step,
                                       FunctionRef<void(uint64_t, int, float, float)> visit) const {
  for (const TableObservation& o : step.observations) {
    const RowsSegment keys{
        .keys = o.keys, .key_type = o.key_type, .num_keys = o.num_keys, .salt = o.salt};
    int64_t group = 0;
    for (int64_t i = 0; i < o.num_keys; ++i) {
      if (o.offsets != nullptr) {
        while (group < o.num_groups && o.offsets[group + 1] <= i) ++group;
      } else {
        group = i / o.keys_per_group;
      }
      const float show = o.show ? o.show[o.show_for_all ? 0 : group] : 1.0f;
      const float click = o.click ? o.click[o.click_for_all ? 0 : group] : 0.0f;
      visit(keys.Key(i), policies_.rules.FeatureOf(o.feature, o.salt), show, click);
    }
  }
}

bool ReferenceTable::Admits(uint64_t key, const KeyStep& what, const TableStep& step) {
  const auto occurrences = static_cast<int64_t>(what.seen.size());
  switch (config().admit.kind) {
    case TableAdmit::Kind::kNone:
      return true;
    case TableAdmit::Kind::kProbability:
      return DrawAdmits(config(), key, step.step);
    case TableAdmit::Kind::kSketch:
      return occurrences > 0 && policies_.sketch->Add(config().Hash(key), occurrences,
                                                      step.event_time) >= config().admit.count;
    case TableAdmit::Kind::kCount:
      return occurrences > 0 && policies_.rules.Count(occurrences, FindEntry(key)->record.data());
  }
  return false;
}

ReferenceTable::Entry* ReferenceTable::Occur(uint64_t key, const KeyStep& what,
                                             const TableStep& step) {
  const RowRules& rules = policies_.rules;
  const uint32_t now = LastSeenSeconds(step.event_time);
  const auto see_all = [&](uint32_t* record) {
    for (const auto& [show, click] : what.seen) RowRules::See(show, click, record);
  };
  Entry* entry = FindEntry(key);
  if (entry && entry->c == RowClass::kWaiting && rules.WaitingIsOld(entry->record.data(), now)) {
    Erase(entries_.find(config().Hash(key)));
    entry = nullptr;
  }
  const bool waits = config().admit.kind == TableAdmit::Kind::kCount;
  if (entry == nullptr && waits && !what.seen.empty()) {
    entry = &Replace(key, RowClass::kWaiting);
    rules.Make(RowClass::kWaiting, key, what.feature, now, entry->record.data());
  }
  if (entry != nullptr && !what.seen.empty()) {
    rules.Fade(now, entry->record.data());
    see_all(entry->record.data());
    changed_.insert(config().Hash(key));
  }
  if (entry == nullptr || entry->c == RowClass::kWaiting) {
    if (!Admits(key, what, step)) return nullptr;
    const std::vector<uint32_t> waiting = entry ? entry->record : std::vector<uint32_t>();
    entry = &Replace(key, rules.first_class());
    if (!waiting.empty()) {
      rules.Admit(waiting.data(), entry->record.data());
    } else {
      rules.Make(rules.first_class(), key, what.feature, now, entry->record.data());
      see_all(entry->record.data());
    }
    changed_.insert(config().Hash(key));
  }
  if (entry->c == RowClass::kNarrow && rules.ShouldGrow(entry->record.data(), now)) {
    const std::vector<uint32_t> narrow = entry->record;
    entry = &Replace(key, RowClass::kFull);
    rules.Grow(narrow.data(), step.step, entry->record.data());
    changed_.insert(config().Hash(key));
  }
  return entry;
}

void ReferenceTable::Prepare(const TableStep& step) {
  CheckTableStep(config(), step);
  prepared_ = step;
}

// It takes memory here, as no other home does: it is what they are compared with, not for use.
int64_t ReferenceTable::ApplyPrepared() {
  const TableStep& step = prepared_;
  std::lock_guard lock(mutex_);
  policies_.features.Count(step);
  const RowRules& rules = policies_.rules;
  std::map<uint64_t, KeyStep> keys;
  std::vector<uint64_t> order;  // of first occurrences
  const auto of = [&](uint64_t key, int feature) -> KeyStep& {
    const auto [it, is_new] = keys.try_emplace(key);
    if (is_new) {
      order.push_back(key);
      it->second.feature = feature;
    }
    return it->second;
  };
  VisitObservations(step, [&](uint64_t key, int feature, float show, float click) {
    of(key, feature).seen.emplace_back(show, click);
  });
  for (const TablePush& push : step.pushes) {
    const auto scale = static_cast<float>(push.scale);
    const auto take = [&](int feature, uint64_t key, const float* row, float factor) {
      KeyStep& what = of(key, feature);
      if (step.observations.empty()) what.seen.emplace_back(0.0f, 0.0f);
      what.lr_scale = push.lr_scale;
      if (what.pushed) {
        rules.AddGradient(row, factor, scale, what.gradient.data());
      } else {
        what.pushed = true;
        what.gradient.resize(static_cast<size_t>(config().width));
        rules.AssignGradient(row, factor, scale, what.gradient.data());
      }
    };
    for (const RowsSegment& segment : push.rows->segments) {
      ForEachRow<float>({push.rows->dtype, push.rows->width, {segment}},
                        [&](uint64_t key, const float* row, float factor) {
                          take(rules.FeatureOf(segment.feature, segment.salt), key, row, factor);
                        });
    }
  }
  int64_t unwritten = 0;
  for (uint64_t key : order) {
    const KeyStep& what = keys[key];
    Entry* entry = Occur(key, what, step);
    if (entry == nullptr || !what.pushed) continue;
    if (rules.Update(rules.ForStep(step.step, what.lr_scale), entry->c, what.gradient.data(),
                     entry->record.data())) {
      ++unwritten;
    }
    changed_.insert(config().Hash(key));
  }
  if (policies_.shared && UpdateShared(step)) ++unwritten;
  policies_.expiry.EndStep(step.event_time, Counts());
  RunExpiry();
  return unwritten;
}

bool ReferenceTable::UpdateShared(const TableStep& step) {
  std::vector<float> sum(static_cast<size_t>(config().width));
  bool any = false;
  double lr_scale = 1;
  for (const TablePush& push : step.pushes) {
    const auto scale = static_cast<float>(push.scale);
    ForEachRow<float>(*push.rows, [&](uint64_t key, const float* row, float factor) {
      const Entry* entry = FindEntry(key);
      if (entry != nullptr && entry->c != RowClass::kWaiting) return;
      if (any) {
        policies_.rules.AddGradient(row, factor, scale, sum.data());
      } else {
        policies_.rules.AssignGradient(row, factor, scale, sum.data());
      }
      any = true;
      lr_scale = push.lr_scale;
    });
  }
  return any && policies_.shared->Update(step.step, lr_scale, sum.data());
}

int64_t ReferenceTable::RunExpiry() {
  int64_t rows = 0;
  while (const auto range = policies_.expiry.Next(Counts())) {
    for (auto it = entries_.lower_bound(range->first);
         it != entries_.end() && it->first <= range->last;) {
      const auto at = it++;
      if (!policies_.expiry.Goes(at->second.c, at->second.record.data(), at->first)) continue;
      rows += at->second.c != RowClass::kWaiting;
      Erase(at);
    }
  }
  policies_.expired += rows;
  return rows;
}

int64_t ReferenceTable::Expire(int64_t now) {
  std::lock_guard lock(mutex_);
  policies_.expiry.BeginAll(now, Counts());
  return RunExpiry();
}

bool ReferenceTable::Find(uint64_t key, Metadata* metadata) const {
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(config().Hash(key));
  if (it == entries_.end() || it->second.c == RowClass::kWaiting) return false;
  if (metadata != nullptr) {
    const uint32_t* record = it->second.record.data();
    *metadata = {RecordFloat(record, row_words::kShow), RecordFloat(record, row_words::kClick),
                 int64_t{record[row_words::kLastSeen]}};
  }
  return true;
}

}  // namespace catamaran
