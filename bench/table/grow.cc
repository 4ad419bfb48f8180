// Inserts from an empty table to --rows rows, by steps of 2,000 new keys: the time of an insert,
// the longest step, and memory. With --map absl: the same rows put into that map.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/table/keys.h"
#include "bench/table/own_process.h"
#include "bench/table/row_maps.h"
#include "bench/table/tables.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

constexpr size_t kBatch = 2000;

// Calls insert(keys of 2,000 new ranks), until there are `rows`.
template <class Insert>
Measurement Grow(size_t rows, Insert insert) {
  const int64_t before = ResidentBytes();
  double longest = 0, total = 0;
  uint64_t keys[kBatch];
  for (uint64_t rank = 0; rank < rows; rank += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) keys[i] = KeyOf(rank + i);
    const double begin = Now();
    insert(keys, rank);
    const double seconds = Now() - begin;
    longest = std::max(longest, seconds);
    total += seconds;
  }
  const auto final_bytes = static_cast<double>(ResidentBytes() - before);
  const auto peak_bytes = static_cast<double>(PeakResidentBytes() - before);
  return {total / static_cast<double>(rows),
          {{"longest_step", longest},
           {"final_bytes", final_bytes / static_cast<double>(rows)},
           {"peak_over_final", peak_bytes / final_bytes}}};
}

Measurement GrowTable(size_t rows) {
  const std::unique_ptr<DurableTable> table = MakeTable(BenchConfig(16));
  Pusher pusher(*table, kBatch);
  Measurement m = Grow(rows, [&](const uint64_t* keys, uint64_t) { pusher.Push(keys); });
  if (table->size() != static_cast<int64_t>(rows)) throw std::runtime_error("rows are missing");
  m.parts.emplace_back("longest_pause", static_cast<double>(table->Info().longest_pause_ns) * 1e-9);
  return m;
}

Measurement GrowMap(const std::string& name, size_t rows) {
  const std::unique_ptr<RowMap> map = MakeRowMap(name, 0);
  return Grow(rows, [&](const uint64_t* keys, uint64_t rank) {
    MapRow row = {};
    for (size_t i = 0; i < kBatch; ++i) {
      row[0] = ValueOf(rank + i, 0);
      map->Insert(keys[i], row);
    }
  });
}

class GrowCase final : public Case {
 public:
  GrowCase(const std::string& map, size_t rows) : map_(map), rows_(rows / kBatch * kBatch) {
    NeedMemory(static_cast<int64_t>(rows_) * (map.empty() ? 150 : 300));
    if (!map_.empty()) MakeRowMap(map_, 0);  // is it there?
  }
  Measurement Run() override {
    return InOwnProcess([&] { return map_.empty() ? GrowTable(rows_) : GrowMap(map_, rows_); });
  }

 private:
  const std::string map_;
  const size_t rows_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const std::string map = Option(argc, argv, "--map", "");
  const auto rows =
      static_cast<size_t>(std::atoll(Option(argc, argv, "--rows", "20000000").c_str()));
  return Serve(map.empty() ? "" : RowMapVersion(map),
               [&](const std::string&) { return std::make_unique<GrowCase>(map, rows); });
}
