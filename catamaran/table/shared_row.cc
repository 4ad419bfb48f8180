#include "catamaran/table/shared_row.h"

#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

TableConfig FullPrecision(TableConfig config) {
  config.store = RowStore::kF32;
  config.grow_at.reset();
  return config;
}

}  // namespace

SharedRow::SharedRow(const TableConfig& config)
    : rules_(FullPrecision(config)),
      record_(static_cast<size_t>(rules_.layout().of(RowClass::kFull).words)),
      words_(static_cast<size_t>(config.width)) {
  rules_.Make(RowClass::kFull, 0, 0, 0, record_.data());
  std::vector<float> start(static_cast<size_t>(config.width));
  FillSharedRow(config, start.data());
  std::memcpy(record_.data() + rules_.layout().of(RowClass::kFull).embedding, start.data(),
              start.size() * sizeof(float));
  Publish();
}

void SharedRow::Publish() {
  const uint32_t* from = record_.data() + rules_.layout().of(RowClass::kFull).embedding;
  const uint32_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  // Releasing stores, so that a reader who sees one of them sees the odd number too.
  for (size_t i = 0; i < words_.size(); ++i) words_[i].store(from[i], std::memory_order_release);
  sequence_.store(sequence + 2, std::memory_order_release);
}

void SharedRow::Read(float* out) const {
  for (;;) {
    const uint32_t before = sequence_.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint32_t word = words_[i].load(std::memory_order_acquire);
      std::memcpy(out + i, &word, sizeof(word));
    }
    if (sequence_.load(std::memory_order_relaxed) == before) return;
  }
}

bool SharedRow::Update(int64_t step, double lr_scale, const float* gradient) {
  const bool kept =
      rules_.Update(rules_.ForStep(step, lr_scale), RowClass::kFull, gradient, record_.data());
  Publish();
  return kept;
}

std::string SharedRow::Save() const {
  StateWriter out;
  out.PutBytes(record_.data(), record_.size() * sizeof(uint32_t));
  return out.Take();
}

void SharedRow::Load(std::string_view bytes) {
  StateReader in("shared row", bytes);
  std::vector<uint32_t> record(record_.size());
  in.GetBytes(record.data(), record.size() * sizeof(uint32_t));
  in.End();
  SetRecord(record);
}

void SharedRow::SetRecord(const std::vector<uint32_t>& record) {
  CATAMARAN_CHECK(record.size() == record_.size());
  record_ = record;
  Publish();
}

}  // namespace catamaran
