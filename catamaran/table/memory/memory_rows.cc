#include "catamaran/table/memory/memory_rows.h"

#include <algorithm>

#include "catamaran/base/clock.h"

namespace catamaran {

TableInfo MemoryRows::Info() const {
  TableInfo info;
  info.narrow_rows = writer_.count(RowClass::kNarrow);
  info.rows = info.narrow_rows + writer_.count(RowClass::kFull);
  info.waiting = writer_.count(RowClass::kWaiting);
  info.index_bytes = store_.index_bytes();
  info.bytes = info.index_bytes + store_.row_bytes();
  info.pages = Pages();
  info.longest_pause_ns = store_.longest_pause_ns();
  writer_.AddInfo(info);
  return info;
}

std::string MemoryRows::Pages() const {
  const std::lock_guard lock(pages_mutex_);
  const int64_t now = SteadyClock().Now();
  if (pages_.empty() || now - pages_measured_ >= kNanosecondsPerSecond) {
    pages_ = store_.pages();
    pages_measured_ = SteadyClock().Now();
  }
  return pages_;
}

// What is beneath is asked for before memory is looked at (attached_rows.h): what is not beneath
// then is in memory by the time of the look, or nowhere here.

void MemoryRows::Pull(std::span<const uint64_t> keys, std::span<float> out,
                      std::vector<uint32_t>* unknown) const {
  const auto width = static_cast<size_t>(store_.config().width);
  const bool attached = writer_.attached().attached();
  store_.Pull(keys, out, [&](size_t i, uint64_t hash, bool waiting) {
    float* to = out.data() + i * width;
    Found found = waiting ? Found::kWaiting : Found::kNothing;
    if (attached && !waiting) found = PullAgain(hash, keys[i], to);
    if (found == Found::kRow) return;
    policies().ReadMissing(keys[i], to);
    if (found == Found::kNothing && unknown != nullptr) {
      unknown->push_back(static_cast<uint32_t>(i));
    }
  });
}

MemoryRows::Found MemoryRows::PullAgain(uint64_t hash, uint64_t key, float* out) const {
  const RowBacking* beneath = writer_.attached().Beneath(hash);
  bool waiting = false;
  if (store_.PullOne(hash, key, out, &waiting)) return Found::kRow;
  if (waiting) return Found::kWaiting;
  RowClass c;
  const uint32_t* record = beneath == nullptr ? nullptr : beneath->Find(key, &c);
  if (record == nullptr) return Found::kNothing;
  if (c == RowClass::kWaiting) return Found::kWaiting;
  rules().Read(c, record, out);
  return Found::kRow;
}

bool MemoryRows::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  const Epochs::Guard guard(store_.epochs());
  const RowBacking* beneath = writer_.attached().Beneath(store_.config().Hash(key));
  if (store_.Read(key, c, record)) return true;
  const uint32_t* saved = beneath == nullptr ? nullptr : beneath->Find(key, c);
  if (saved == nullptr) return false;
  std::copy_n(saved, store_.layout().of(*c).words, record);
  return true;
}

}  // namespace catamaran
