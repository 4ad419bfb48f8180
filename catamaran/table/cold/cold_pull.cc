#include "catamaran/table/cold/cold_pull.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace catamaran {
namespace {

// A thread reads one row after another, so a pull is shared by all threads; but a part is worth the
// time that it takes to wake one, and not so long that other pulls wait for it.
constexpr size_t kMinPlacesPerPart = 4;
constexpr size_t kMaxPlacesPerPart = 128;

size_t PlacesPerPart(size_t places, const ThreadPool& pool) {
  const auto threads = static_cast<size_t>(std::max(pool.threads() - 1, 1));
  return std::clamp((places + threads - 1) / threads, kMinPlacesPerPart, kMaxPlacesPerPart);
}

struct Wanted {
  uint64_t hash;
  uint32_t position;  // among the keys of the Pull
};

struct ColdPull;

struct Part : Task {
  ColdPull* pull = nullptr;
  std::span<const Wanted> wanted;  // in the order of their places
};

struct ColdPull {
  ColdPullSource source;
  std::span<float> out;
  Done done;
  std::vector<Wanted> wanted;
  std::vector<Part> parts;
  std::atomic<size_t> parts_left = 0;
  std::mutex mutex;
  std::exception_ptr error;  // guarded by mutex until the last part is over

  void Read(std::span<const Wanted> some) const;
  static void RunPart(Task* task);
};

void ColdPull::Read(std::span<const Wanted> some) const {
  std::vector<uint64_t> places;
  places.reserve(some.size());
  for (const Wanted& w : some) {
    if (places.empty() || places.back() != w.hash) places.push_back(w.hash);
  }
  // Memory has been asked already; now what is gone, then the store: see removed_keys.h.
  source.removed->Filter(places);
  const size_t width = static_cast<size_t>(source.rules->config().width);
  const auto found = [&](size_t i, RowClass c, const uint32_t* record) {
    if (c == RowClass::kWaiting) return;
    const float* row = nullptr;
    auto at = std::lower_bound(some.begin(), some.end(), places[i],
                               [](const Wanted& w, uint64_t place) { return w.hash < place; });
    for (; at != some.end() && at->hash == places[i]; ++at) {
      float* to = out.data() + at->position * width;
      if (row == nullptr) {
        source.rules->Read(c, record, to);
        row = to;
      } else {
        std::copy_n(row, width, to);
      }
    }
  };
  source.store->MultiGet(places, found, DiskStore::Use::kWillBeAskedAgain);
}

void ColdPull::RunPart(Task* task) {
  Part& part = *static_cast<Part*>(task);
  ColdPull* pull = part.pull;
  try {
    pull->Read(part.wanted);
  } catch (...) {
    std::lock_guard lock(pull->mutex);
    if (!pull->error) pull->error = std::current_exception();
  }
  if (pull->parts_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const Done done = pull->done;
  const std::exception_ptr error = pull->error;
  delete pull;
  done(error);
}

}  // namespace

void PullFromMemoryOfStore(const ColdPullSource& source, std::span<const uint64_t> keys,
                           std::span<float> out, std::vector<uint32_t>& missing) {
  const TableConfig& config = source.rules->config();
  const auto width = static_cast<size_t>(config.width);
  std::vector<uint32_t> record(source.rules->layout().max_words());
  std::erase_if(missing, [&](uint32_t position) {
    const uint64_t hash = config.Hash(keys[position]);
    RowClass c;
    // What is gone first, then the store: see removed_keys.h.
    if (source.removed->Contains(hash)) return true;
    if (!source.store->GetFromMemory(hash, &c, record.data())) return false;
    if (c != RowClass::kWaiting) {
      source.rules->Read(c, record.data(), out.data() + position * width);
    }
    return true;
  });
}

void StartColdPull(const ColdPullSource& source, ThreadPool& pool, std::span<const uint64_t> keys,
                   std::span<const uint32_t> missing, std::span<float> out, Done done) {
  auto pull = std::make_unique<ColdPull>();
  pull->source = source;
  pull->out = out;
  pull->done = done;
  pull->wanted.reserve(missing.size());
  for (uint32_t position : missing) {
    pull->wanted.push_back({source.rules->config().Hash(keys[position]), position});
  }
  std::sort(pull->wanted.begin(), pull->wanted.end(), [](const Wanted& a, const Wanted& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.position < b.position;
  });
  const std::span<const Wanted> all(pull->wanted);
  const size_t part_places = PlacesPerPart(all.size(), pool);
  for (size_t begin = 0; begin < all.size();) {
    size_t end = std::min(all.size(), begin + part_places);
    while (end < all.size() && all[end].hash == all[end - 1].hash) ++end;
    Part part;
    part.run = &ColdPull::RunPart;
    part.pull = pull.get();
    part.wanted = all.subspan(begin, end - begin);
    pull->parts.push_back(part);
    begin = end;
  }
  pull->parts_left = pull->parts.size();
  // The last part deletes the pull, perhaps before this loop is over.
  ColdPull* running = pull.release();
  const size_t num_parts = running->parts.size();
  Part* parts = running->parts.data();
  for (size_t i = 0; i < num_parts; ++i) pool.Submit(&parts[i]);
}

}  // namespace catamaran
