#include "catamaran/table/reference_table.h"

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

int64_t SlotSize(const SlotFact& slot, int64_t width) { return slot.per_row ? 1 : width; }

}  // namespace

ReferenceTable::ReferenceTable(const TableConfig& config) : config_(config) {
  CheckTableConfig(config_);
  if (config_.optimizer) {
    for (const SlotFact& slot : config_.optimizer->slots()) {
      slot_width_ += SlotSize(slot, config_.width);
    }
  }
  if (config_.unadmitted == Unadmitted::kShared) shared_ = NewSharedRow();
}

void ReferenceTable::FillSlots(Row& row) const {
  if (!config_.optimizer) return;
  float* at = row.numbers.data() + config_.width;
  const auto slots = config_.optimizer->slots();
  for (size_t k = 0; k < slots.size(); ++k) {
    const int64_t n = SlotSize(slots[k], config_.width);
    std::fill(at, at + n, static_cast<float>(config_.optimizer->SlotInitial(static_cast<int>(k))));
    at += n;
  }
}

ReferenceTable::Row ReferenceTable::NewRow(uint64_t key, const Metadata& metadata) const {
  Row row;
  row.numbers.resize(static_cast<size_t>(config_.width + slot_width_));
  FillInitialRow(config_, key, row.numbers.data());
  FillSlots(row);
  row.metadata = metadata;
  return row;
}

ReferenceTable::Row ReferenceTable::NewSharedRow() const {
  Row row;
  row.numbers.resize(static_cast<size_t>(config_.width + slot_width_));
  FillSharedRow(config_, row.numbers.data());
  FillSlots(row);
  return row;
}

int64_t ReferenceTable::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(rows_.size());
}

TableInfo ReferenceTable::Info() const {
  std::lock_guard lock(mutex_);
  TableInfo info;
  info.rows = static_cast<int64_t>(rows_.size());
  info.waiting = static_cast<int64_t>(waiting_.size());
  const int64_t row_bytes = static_cast<int64_t>(sizeof(std::pair<uint64_t, Row>)) +
                            (config_.width + slot_width_) * static_cast<int64_t>(sizeof(float));
  info.bytes = info.rows * row_bytes +
               info.waiting * static_cast<int64_t>(sizeof(std::pair<uint64_t, Waiting>));
  return info;
}

void ReferenceTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  const size_t width = static_cast<size_t>(config_.width);
  if (out.size() != keys.size() * width) {
    Fail("table: a pull of {} keys wants room for {} numbers, and has {}", keys.size(),
         keys.size() * width, out.size());
  }
  {
    std::lock_guard lock(mutex_);
    float* to = out.data();
    for (uint64_t key : keys) {
      const auto it = rows_.find(key);
      if (it != rows_.end()) {
        std::copy_n(it->second.numbers.data(), width, to);
      } else if (config_.unadmitted == Unadmitted::kInit) {
        FillInitialRow(config_, key, to);
      } else if (config_.unadmitted == Unadmitted::kShared) {
        std::copy_n(shared_.numbers.data(), width, to);
      } else {
        std::fill_n(to, width, 0.0f);
      }
      to += width;
    }
  }
  done();
}

void ReferenceTable::CheckStep(const TableStep& step) const {
  if (!step.pushes.empty() && !config_.optimizer) {
    Fail("table: a gradient was pushed, but the table declares no optimizer");
  }
  for (const TablePush& push : step.pushes) {
    if (push.rows->dtype != DType::kF32 || push.rows->width != config_.width) {
      Fail("table: a push of rows {}[{}] to a table of f32[{}]", Name(push.rows->dtype),
           push.rows->width, config_.width);
    }
  }
}

ReferenceTable::Row* ReferenceTable::Occur(uint64_t key, const TableStep& step,
                                           const Metadata& seen) {
  const auto add = [&](Metadata& to) {
    to.show += seen.show;
    to.click += seen.click;
    to.last_seen = std::max(to.last_seen, seen.last_seen);
  };
  if (const auto it = rows_.find(key); it != rows_.end()) {
    add(it->second.metadata);
    return &it->second;
  }
  Metadata metadata = seen;
  switch (config_.admit.kind) {
    case TableAdmit::Kind::kNone:
      break;
    case TableAdmit::Kind::kProbability:
      if (!DrawAdmits(config_, key, step.step)) return nullptr;
      break;
    case TableAdmit::Kind::kCount: {
      Waiting& waiting = waiting_[key];
      add(waiting.metadata);
      if (++waiting.count < config_.admit.count) return nullptr;
      metadata = waiting.metadata;
      waiting_.erase(key);
      break;
    }
  }
  return &rows_.emplace(key, NewRow(key, metadata)).first->second;
}

void ReferenceTable::Observe(const TableObservation& o, const TableStep& step) {
  const RowsSegment keys{.keys = o.keys, .key_type = o.key_type, .num_keys = o.num_keys};
  int64_t group = 0;
  for (int64_t i = 0; i < o.num_keys; ++i) {
    if (o.offsets != nullptr) {
      while (group < o.num_groups && o.offsets[group + 1] <= i) ++group;
    } else {
      group = i / o.keys_per_group;
    }
    Metadata seen;
    seen.show = o.show ? o.show[o.show_for_all ? 0 : group] : 1.0f;
    seen.click = o.click ? o.click[o.click_for_all ? 0 : group] : 0.0f;
    seen.last_seen = step.event_time;
    Occur(keys.Key(i), step, seen);
  }
}

void ReferenceTable::Update(Row& row, const Gradient& gradient) {
  const Optimizer& optimizer = *config_.optimizer;
  const auto facts = optimizer.slots();
  float* slots[kMaxSlots] = {};
  float* at = row.numbers.data() + config_.width;
  for (size_t k = 0; k < facts.size(); ++k) {
    slots[k] = at;
    at += SlotSize(facts[k], config_.width);
  }
  rules::Apply(optimizer.rule, optimizer.hyper, row.numbers.data(), gradient.sum.data(), slots, 1,
               config_.width, optimizer.lr * gradient.lr_scale, ++row.updates);
}

void ReferenceTable::Apply(const TableStep& step) {
  std::lock_guard lock(mutex_);
  CheckStep(step);
  for (const TableObservation& o : step.observations) Observe(o, step);

  const bool observed = !step.observations.empty();
  std::map<uint64_t, Gradient> gradients;
  Gradient for_shared;
  for (const TablePush& push : step.pushes) {
    const float scale = static_cast<float>(push.scale);
    const auto add = [&](Gradient& to, const float* row, float factor) {
      to.sum.resize(static_cast<size_t>(config_.width));
      to.lr_scale = push.lr_scale;
      for (size_t i = 0; i < to.sum.size(); ++i) to.sum[i] += row[i] * factor * scale;
    };
    ForEachRow<float>(*push.rows, [&](uint64_t key, const float* row, float factor) {
      // Admission: counted here only where nobody observes. A row that is not there is a reason to
      // ask again, without counting, for policies that do not count.
      const bool count = !observed || (config_.admit.kind != TableAdmit::Kind::kCount &&
                                       rows_.find(key) == rows_.end());
      if (count) Occur(key, step, {0, 0, step.event_time});
      add(gradients[key], row, factor);
    });
  }
  for (const auto& [key, gradient] : gradients) {
    if (const auto it = rows_.find(key); it != rows_.end()) {
      Update(it->second, gradient);
    } else if (config_.unadmitted == Unadmitted::kShared) {
      for_shared.sum.resize(static_cast<size_t>(config_.width));
      for_shared.lr_scale = gradient.lr_scale;
      for (size_t i = 0; i < for_shared.sum.size(); ++i) for_shared.sum[i] += gradient.sum[i];
    }
  }
  if (!for_shared.sum.empty()) Update(shared_, for_shared);
}

int64_t ReferenceTable::Expire(int64_t now) {
  if (config_.expire.unseen == 0) return 0;
  std::lock_guard lock(mutex_);
  const auto old = [&](const auto& entry) {
    return now - entry.second.metadata.last_seen > config_.expire.unseen;
  };
  std::erase_if(waiting_, old);
  return static_cast<int64_t>(std::erase_if(rows_, old));
}

bool ReferenceTable::Find(uint64_t key, Metadata* metadata) const {
  std::lock_guard lock(mutex_);
  const auto it = rows_.find(key);
  if (it == rows_.end()) return false;
  if (metadata != nullptr) *metadata = it->second.metadata;
  return true;
}

}  // namespace catamaran
