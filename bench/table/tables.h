// bench/table/tables.h
//
// Our tables, as the benchmarks make, fill and ask them.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/table/durable_table.h"

namespace catamaran::bench {

inline constexpr int64_t kStartTime = 1'700'000'000 * kNanosecondsPerSecond;  // of event time

// Row-wise adagrad, every key admitted, new rows zeros, nothing expires.
TableConfig BenchConfig(int64_t width);

std::unique_ptr<DurableTable> MakeTable(const TableConfig& config);

// The rows of ranks [first, last), as bench/table/keys.h says, last seen at event time `seen`.
void FillTable(DurableTable& table, uint64_t first, uint64_t last, int64_t seen = kStartTime);

// Looks up and waits.
void PullNow(const Table& table, std::span<const uint64_t> keys, std::span<float> out);

// Steps that push gradients for batches of keys, with a clock of event time.
class Pusher {
 public:
  Pusher(Table& table, size_t batch);
  // One step of batch keys. All gradients are small and alike.
  void Push(const uint64_t* keys);
  // The same for fewer.
  void Push(const uint64_t* keys, size_t count);

  int64_t step() const { return step_; }
  void set_step_time(int64_t nanoseconds) { step_time_ = nanoseconds; }
  int64_t event_time() const { return event_time_; }
  void set_event_time(int64_t time) { event_time_ = time; }

 private:
  Table& table_;
  std::vector<float> gradients_;
  RowsValue rows_;
  int64_t step_ = 0;
  int64_t event_time_ = kStartTime;
  int64_t step_time_ = 1'000'000;
};

// Bytes of this process in memory, now.
int64_t ResidentBytes();
// Those of them that are no file's, as programs and their libraries are.
int64_t AnonymousBytes();
// The most that were in memory so far.
int64_t PeakResidentBytes();
// Bytes that could be had, of the machine.
int64_t AvailableBytes();
// Throws SkipCase if there are fewer.
void NeedMemory(int64_t bytes);

}  // namespace catamaran::bench
