#include "catamaran/table/cold/announced_keys.h"

#include <algorithm>

namespace catamaran {

AnnouncedKeys::AnnouncedKeys(const HotRows& hot, ThreadPool& pool, int at_once)
    : hot_(hot), pool_(pool), workers_(static_cast<size_t>(at_once)) {
  for (Worker& worker : workers_) {
    worker.run = &AnnouncedKeys::Work;
    worker.of = this;
  }
}

void AnnouncedKeys::Add(const ColdPullSource& source, std::span<const uint64_t> keys) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  source_ = source;
  if (taken_ >= waiting_.size() / 2) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  const size_t room = kMaxWaiting - std::min(waiting_.size(), kMaxWaiting);
  keys = keys.first(std::min(keys.size(), room));
  waiting_.insert(waiting_.end(), keys.begin(), keys.end());
  size_t slices = (waiting_.size() - taken_ + kSlice - 1) / kSlice;
  for (Worker& worker : workers_) {
    if (slices == 0) break;
    --slices;
    if (worker.working) continue;
    worker.working = true;
    pool_.Submit(&worker);
  }
}

void AnnouncedKeys::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  taken_ = waiting_.size();
}

size_t AnnouncedKeys::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() - taken_;
}

bool AnnouncedKeys::idle() const {
  const std::lock_guard lock(mutex_);
  return taken_ == waiting_.size() &&
         std::none_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.working; });
}

bool AnnouncedKeys::TakeSlice(Worker& worker) {
  const std::lock_guard lock(mutex_);
  const size_t n = std::min(kSlice, waiting_.size() - taken_);
  worker.working = n > 0;
  const auto* first = waiting_.data() + taken_;
  worker.keys.assign(first, first + n);
  taken_ += n;
  return n > 0;
}

void AnnouncedKeys::Work(Task* task) {
  Worker& worker = *static_cast<Worker*>(task);
  if (!worker.of->TakeSlice(worker)) return;
  try {
    worker.of->Read(worker);
  } catch (...) {
    // Whoever asks for the keys is told.
  }
  // To the end of the queue: others want to read too.
  worker.of->pool_.Submit(&worker);
}

void AnnouncedKeys::Read(Worker& worker) const {
  const TableConfig& config = hot_.rules().config();
  ColdPullSource source;
  {
    const std::lock_guard lock(mutex_);
    source = source_;
  }
  worker.missing.clear();
  worker.rows.resize(worker.keys.size() * static_cast<size_t>(config.width));
  hot_.Pull(worker.keys, worker.rows, &worker.missing);
  worker.places.clear();
  for (uint32_t position : worker.missing) {
    worker.places.push_back(config.Hash(worker.keys[position]));
  }
  std::sort(worker.places.begin(), worker.places.end());
  worker.places.erase(std::unique(worker.places.begin(), worker.places.end()), worker.places.end());
  source.removed->Filter(worker.places);
  source.store->MultiGet(
      worker.places, [](size_t, RowClass, const uint32_t*) {}, DiskStore::Use::kWillBeAskedAgain);
}

}  // namespace catamaran
