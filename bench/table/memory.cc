// Bytes a row while a table grows to --rows rows: at its worst, beyond what the row itself needs.
// A case is named w16, w16-bf16, w16-adam: the width, and how the table differs from row-wise
// adagrad in f32.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/table/keys.h"
#include "bench/table/own_process.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"

namespace catamaran::bench {
namespace {

constexpr uint64_t kBatch = 2000;
constexpr uint64_t kLookEvery = 10'000;
constexpr uint64_t kFirstPoint = 1'000'000;
constexpr int64_t kKeyBytes = 8;
constexpr int64_t kMetadataBytes = 12;

TableConfig ConfigOf(const std::string& name) {
  const size_t dash = name.find('-');
  TableConfig config = BenchConfig(std::atoi(name.substr(1, dash - 1).c_str()));
  const std::string kind = dash == std::string::npos ? "" : name.substr(dash + 1);
  if (kind == "bf16") {
    config.store = RowStore::kBf16;
  } else if (kind == "int8") {
    config.store = RowStore::kInt8;
  } else if (!kind.empty()) {
    config.optimizer = MakeOptimizer(kind);
  }
  return config;
}

// Key, embedding, slots and 12 bytes.
int64_t NeededBytes(const TableConfig& config) {
  const RowLayout layout(config);
  const RowLayout::Class& full = layout.of(RowClass::kFull);
  int64_t words = full.embedding_words;
  for (int k = 0; k < full.num_slots; ++k) words += full.slot_words[static_cast<size_t>(k)];
  return kKeyBytes + 4 * words + kMetadataBytes;
}

Measurement Grow(const std::string& name, uint64_t rows) {
  const TableConfig config = ConfigOf(name);
  std::vector<uint64_t> keys(kBatch);
  int64_t not_the_tables = AnonymousBytes();
  const std::unique_ptr<DurableTable> table = MakeTable(config);
  table->EndCut(table->Cut(true), true);  // from here on it marks what the next one has to save
  const int64_t with_empty_table = AnonymousBytes();
  Pusher pusher(*table, kBatch);
  not_the_tables += AnonymousBytes() - with_empty_table;
  const auto needed = static_cast<double>(NeededBytes(config));
  double worst = 0, worst_rows = 0, last = 0;
  for (uint64_t rank = 0; rank < rows;) {
    for (uint64_t& key : keys) key = KeyOf(rank++);
    pusher.Push(keys.data());
    if (rank < std::min(kFirstPoint, rows) || rank % kLookEvery != 0) continue;
    last = static_cast<double>(AnonymousBytes() - not_the_tables) / static_cast<double>(rank);
    if (last > worst) worst = last, worst_rows = static_cast<double>(rank);
  }
  const auto share = worst / needed - 1;
  return {worst,
          {{"needed", needed},
           {"overhead", worst - needed},
           {"overhead_share", share},
           {"worst_at", worst_rows * 1e-6},
           {"final", last}}};
}

class MemoryCase final : public Case {
 public:
  MemoryCase(std::string name, uint64_t rows)
      : name_(std::move(name)), rows_(std::max(kLookEvery, rows / kLookEvery * kLookEvery)) {
    NeedMemory(2 * NeededBytes(ConfigOf(name_)) * static_cast<int64_t>(rows_));
  }
  Measurement Run() override {
    return InOwnProcess([&] { return Grow(name_, rows_); });
  }

 private:
  const std::string name_;
  const uint64_t rows_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  return ServeRows(argc, argv, [](const std::string& name, uint64_t rows) {
    return std::make_unique<MemoryCase>(name, rows);
  });
}
