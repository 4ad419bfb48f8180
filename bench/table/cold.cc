// Look-ups of --rows rows of 16 floats under a budget of memory that holds a quarter of them; the
// others are on disk. With --peer: by RocksDB alone, with the same budget for its caches, filters
// and indexes.
//
// Keys are drawn anew for every round: keys that come again and again would show how well a cache
// learns one list by heart. Both sides begin with the rows in memory that are asked for most.

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/table/keys.h"
#include "bench/table/live_table.h"
#include "bench/table/tables.h"
#include "bench/worker.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/table/cold_rows.h"

namespace catamaran::bench {
namespace {

constexpr size_t kWidth = 16;
constexpr int kRowParts = 4;  // of which one fits into memory

int64_t Budget(size_t rows) {
  const TableConfig config = BenchConfig(kWidth);
  return static_cast<int64_t>(rows) * AccountedBytes(RowLayout(config), RowClass::kFull) /
         kRowParts;
}

// Who answers.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual void Lookup(std::span<const uint64_t> keys, std::span<float> out) = 0;
  virtual int64_t bytes_in_memory() const = 0;  // as it counts them itself
};

class OurRows final : public Rows {
 public:
  OurRows(const std::string& directory, size_t rows, int readers) {
    table_ = MakeTieredTable(BenchConfig(kWidth), {.directory = directory + "/scratch",
                                                   .memory_bytes = Budget(rows),
                                                   .read_threads = readers,
                                                   .direct_io = true});
    // The rows that are asked for most come last and were seen last, as after a while of training.
    int64_t seen = 0;
    for (size_t last = rows; last > 0;) {
      const size_t first = last > kFill ? last - kFill : 0;
      seen += kNanosecondsPerSecond;
      FillTable(*table_, first, last, seen);
      last = first;
    }
  }
  void Lookup(std::span<const uint64_t> keys, std::span<float> out) override {
    PullNow(*table_, keys, out);
  }
  int64_t bytes_in_memory() const override { return table_->Info().bytes; }

 private:
  static constexpr size_t kFill = 1000;
  std::unique_ptr<DurableTable> table_;
};

struct RocksSettings {
  double block_part = 0.02;  // of the budget: the cache of blocks; the others cache rows
  int readers = 4;           // threads that share the keys of a look-up
};

class RocksRows final : public Rows {
 public:
  RocksRows(const std::string& directory, size_t rows, const RocksSettings& settings)
      : pool_(settings.readers) {
    const auto budget = static_cast<double>(Budget(rows));
    const auto block_bytes = static_cast<size_t>(budget * settings.block_part);
    block_cache_ = rocksdb::NewLRUCache(block_bytes);
    row_cache_ = rocksdb::NewLRUCache(static_cast<size_t>(budget) - block_bytes);
    rocksdb::BlockBasedTableOptions table;
    // Hot rows lie in blocks of cold ones: most of the memory holds rows, not blocks.
    table.block_cache = block_cache_;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.use_direct_reads = true;
    options.row_cache = row_cache_;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    Check(rocksdb::DB::Open(options, directory + "/rocksdb", &db));
    db_.reset(db);
    Fill(rows);
    // What it needs besides is part of the budget too.
    row_cache_->SetCapacity(static_cast<size_t>(budget) - block_bytes - OutsideCaches());
  }

  void Lookup(std::span<const uint64_t> keys, std::span<float> out) override {
    const size_t n = keys.size();
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0u);
    big_.resize(n);
    for (size_t i = 0; i < n; ++i) big_[i] = __builtin_bswap64(keys[i]);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    slices_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      slices_[i] = rocksdb::Slice(reinterpret_cast<const char*>(&big_[order_[i]]), 8);
    }
    values_.resize(n);
    statuses_.resize(n);
    const auto threads = static_cast<size_t>(pool_.threads());
    const auto part = static_cast<int64_t>((n + threads - 1) / threads);
    pool_.ParallelFor(static_cast<int64_t>(n), part, [&](int64_t begin, int64_t end) {
      const auto first = static_cast<size_t>(begin);
      db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(),
                    static_cast<size_t>(end - begin), slices_.data() + first,
                    values_.data() + first, statuses_.data() + first, /*sorted_input=*/true);
    });
    for (size_t i = 0; i < n; ++i) {
      Check(statuses_[i]);
      std::memcpy(out.data() + order_[i] * kWidth, values_[i].data(), 4 * kWidth);
      values_[i].Reset();
    }
  }

  int64_t bytes_in_memory() const override {
    return static_cast<int64_t>(block_cache_->GetUsage() + row_cache_->GetUsage() +
                                OutsideCaches());
  }

 private:
  static void Check(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  // Filters, indexes and write buffers.
  size_t OutsideCaches() const {
    uint64_t readers = 0, buffers = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kEstimateTableReadersMem, &readers);
    db_->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &buffers);
    return readers + buffers;
  }
  void Fill(size_t rows) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    rocksdb::WriteBatch batch;
    for (size_t rank = 0; rank < rows; ++rank) {
      const uint64_t key = __builtin_bswap64(KeyOf(rank));
      float row[kWidth];
      for (size_t j = 0; j < kWidth; ++j) row[j] = ValueOf(rank, j);
      batch.Put(rocksdb::Slice(reinterpret_cast<const char*>(&key), 8),
                rocksdb::Slice(reinterpret_cast<const char*>(row), sizeof(row)));
      if (batch.Count() < 1000 && rank + 1 < rows) continue;
      Check(db_->Write(write, &batch));
      batch.Clear();
    }
    Check(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }

  ThreadPool pool_;
  std::shared_ptr<rocksdb::Cache> block_cache_;
  std::shared_ptr<rocksdb::Cache> row_cache_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<uint32_t> order_;
  std::vector<uint64_t> big_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

// Bytes that this process has had read from disks.
double BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string word;
  double bytes = 0;
  while (io >> word) {
    if (word == "read_bytes:") io >> bytes;
  }
  return bytes;
}

class Cold final : public Case {
 public:
  Cold(Rows& rows, const KeyCase& c, size_t count)
      : rows_(rows), case_(c), count_(count), out_(c.batch * kWidth) {
    // What could be in memory, the rows that are asked for most last.
    std::vector<uint64_t> keys(c.batch);
    for (size_t last = count / kRowParts; last >= keys.size(); last -= keys.size()) {
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = KeyOf(last - 1 - i);
      rows_.Lookup(keys, out_);
    }
    for (int i = 0; i < 2; ++i) Run();
  }

  Measurement Run() override {
    std::vector<uint64_t> keys =
        MakeRanks(case_.distribution, count_, KeysARound(case_.batch, count_), ++round_);
    for (uint64_t& key : keys) key = KeyOf(key);
    std::vector<double> times;
    const double bytes = BytesRead();
    const double start = Now();
    for (size_t i = 0; i < keys.size(); i += case_.batch) {
      const double begin = Now();
      rows_.Lookup({keys.data() + i, case_.batch}, out_);
      times.push_back(Now() - begin);
    }
    const auto n = static_cast<double>(keys.size());
    const double seconds = (Now() - start) / n;
    std::sort(times.begin(), times.end());
    return {seconds,
            {{"rate", 1e-6 / seconds},
             {"median", times[times.size() / 2]},
             {"p99", times[times.size() * 99 / 100]},
             {"read", (BytesRead() - bytes) / n}}};
  }
  std::vector<double> Check() override {
    std::vector<uint64_t> keys = MakeRanks(case_.distribution, count_, case_.batch, 0);
    for (uint64_t& key : keys) key = KeyOf(key);
    rows_.Lookup(keys, out_);
    return CheckSums(out_);
  }
  std::string Note() override {
    return fmt::format("{:.0f} MB in memory of {:.0f} allowed",
                       static_cast<double>(rows_.bytes_in_memory()) * 1e-6,
                       static_cast<double>(Budget(count_)) * 1e-6);
  }

 private:
  Rows& rows_;
  const KeyCase case_;
  const size_t count_;
  uint64_t round_ = 0;
  std::vector<float> out_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const bool peer = Flag(argc, argv, "--peer");
  const auto count =
      static_cast<size_t>(std::atoll(Option(argc, argv, "--rows", "8000000").c_str()));
  // To look for what suits the peer best.
  RocksSettings settings;
  settings.block_part = std::atof(Option(argc, argv, "--block-part", "0.02").c_str());
  settings.readers = std::atoi(Option(argc, argv, "--readers", "4").c_str());
  ScratchDirectory directory;
  std::unique_ptr<Rows> rows;
  const std::string version =
      fmt::format("RocksDB {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  return Serve(peer ? version : "", [&](const std::string& name) -> std::unique_ptr<Case> {
    if (!rows && peer) rows = std::make_unique<RocksRows>(directory.path(), count, settings);
    if (!rows) rows = std::make_unique<OurRows>(directory.path(), count, settings.readers);
    return std::make_unique<Cold>(*rows, KeyCase(name), count);
  });
}
