#include "bench/table/tables.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>

#include "bench/table/keys.h"
#include "bench/worker.h"
#include "catamaran/table/memory/memory_table.h"

namespace catamaran::bench {
namespace {

// The figure in kilobytes after a word of a file in /proc, in bytes.
int64_t BytesAfter(const char* word, const char* path) {
  std::ifstream file(path);
  std::string at;
  int64_t kilobytes = 0;
  while (file >> at) {
    if (at == word) file >> kilobytes;
  }
  return kilobytes * 1024;
}

}  // namespace

TableConfig BenchConfig(int64_t width) {
  TableConfig config;
  config.width = width;
  config.optimizer = MakeOptimizer("rowwise_adagrad", 0.01);
  SetHyper(*config.optimizer, "initial_accumulator", 0.1);
  return config;
}

std::unique_ptr<DurableTable> MakeTable(const TableConfig& config) {
  return std::make_unique<MemoryTable>(config);
}

void FillTable(DurableTable& table, uint64_t first, uint64_t last, int64_t seen) {
  const RowLayout::Class& full = table.layout().of(RowClass::kFull);
  std::vector<uint32_t> record(static_cast<size_t>(full.words));
  record[row_words::kLastSeen] = LastSeenSeconds(seen);
  for (int k = 0; k < full.num_slots; ++k) {
    for (int j = 0; j < full.slot_words[static_cast<size_t>(k)]; ++j) {
      SetRecordFloat(record.data(), full.slot[static_cast<size_t>(k)] + j, 0.1f);
    }
  }
  for (uint64_t rank = first; rank < last; ++rank) {
    SetRecordKey(record.data(), KeyOf(rank));
    for (int j = 0; j < full.columns; ++j) {
      SetRecordFloat(record.data(), full.embedding + j, ValueOf(rank, static_cast<uint64_t>(j)));
    }
    table.Put(RowClass::kFull, record.data());
  }
}

void PullNow(const Table& table, std::span<const uint64_t> keys, std::span<float> out) {
  std::atomic<int> state = 0;  // 1: done, 2: failed
  table.Pull(keys, out,
             {[](void* context, std::exception_ptr error) {
                auto& done = *static_cast<std::atomic<int>*>(context);
                done.store(error ? 2 : 1, std::memory_order_release);
                done.notify_one();
              },
              &state});
  if (state.load(std::memory_order_acquire) == 0) state.wait(0, std::memory_order_acquire);
  if (state.load(std::memory_order_acquire) == 2) throw std::runtime_error("a look-up failed");
}

Pusher::Pusher(Table& table, size_t batch) : table_(table) {
  const auto width = static_cast<size_t>(table.width());
  gradients_.resize(batch * width);
  for (size_t i = 0; i < gradients_.size(); ++i) {
    gradients_[i] = ValueOf(i, 3) * 0.001f - 0.0005f;
  }
  rows_.width = table.width();
  rows_.segments.resize(1);
  rows_.segments[0].gradients = gradients_.data();
}

void Pusher::Push(const uint64_t* keys) {
  Push(keys, gradients_.size() / static_cast<size_t>(rows_.width));
}

void Pusher::Push(const uint64_t* keys, size_t count) {
  rows_.segments[0].keys = keys;
  rows_.segments[0].num_keys = static_cast<int64_t>(count);
  const TablePush push{&rows_};
  TableStep step;
  step.step = step_++;
  step.event_time = event_time_ += step_time_;
  step.pushes = {&push, 1};
  table_.Apply(step);
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t AnonymousBytes() { return BytesAfter("RssAnon:", "/proc/self/status"); }
int64_t PeakResidentBytes() { return BytesAfter("VmHWM:", "/proc/self/status"); }
int64_t AvailableBytes() { return BytesAfter("MemAvailable:", "/proc/meminfo"); }

void NeedMemory(int64_t bytes) {
  const int64_t available = AvailableBytes();
  if (available < bytes) {
    throw SkipCase(fmt::format("it needs {:.1f} GB of memory and {:.1f} are free",
                               static_cast<double>(bytes) * 1e-9,
                               static_cast<double>(available) * 1e-9));
  }
}

}  // namespace catamaran::bench
