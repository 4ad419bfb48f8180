// Look-ups of --rows rows of 16 floats under a budget of memory that holds a quarter of them; the
// others are on disk. With --peer: by RocksDB alone, with the same budget for its caches.

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
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/table/callers.h"
#include "bench/table/keys.h"
#include "bench/table/live_table.h"
#include "bench/table/tables.h"
#include "bench/worker.h"
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
};

class OurRows final : public Rows {
 public:
  OurRows(const std::string& directory, size_t rows) {
    table_ = MakeTieredTable(
        BenchConfig(kWidth),
        {.directory = directory + "/scratch", .memory_bytes = Budget(rows), .direct_io = true});
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

 private:
  static constexpr size_t kFill = 1000;
  std::unique_ptr<DurableTable> table_;
};

class RocksRows final : public Rows {
 public:
  RocksRows(const std::string& directory, size_t rows) {
    rocksdb::BlockBasedTableOptions table;
    // Hot rows lie in blocks of cold ones: most of the memory holds rows, not blocks.
    table.block_cache = rocksdb::NewLRUCache(static_cast<size_t>(Budget(rows)) / 4);
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.use_direct_reads = true;
    options.row_cache = rocksdb::NewLRUCache(static_cast<size_t>(Budget(rows)) / 4 * 3);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    Check(rocksdb::DB::Open(options, directory + "/rocksdb", &db));
    db_.reset(db);
    Fill(rows);
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
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), n, slices_.data(),
                  values_.data(), statuses_.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < n; ++i) {
      Check(statuses_[i]);
      std::memcpy(out.data() + order_[i] * kWidth, values_[i].data(), 4 * kWidth);
      values_[i].Reset();
    }
  }

 private:
  static void Check(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
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

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<uint32_t> order_;
  std::vector<uint64_t> big_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

class Cold final : public Case {
 public:
  Cold(Rows& rows, const KeyCase& c, size_t count)
      : rows_(rows), keys_(c, count, KeyOf), out_(c.batch * kWidth) {
    for (int i = 0; i < 2; ++i) Run();
  }

  Measurement Run() override {
    std::vector<double> times;
    const double seconds = keys_.Round([&](size_t, const uint64_t* keys) {
      const double begin = Now();
      rows_.Lookup({keys, keys_.batch()}, out_);
      times.push_back(Now() - begin);
    });
    std::sort(times.begin(), times.end());
    return {seconds,
            {{"rate", 1e-6 / seconds},
             {"median", times[times.size() / 2]},
             {"p99", times[times.size() * 99 / 100]}}};
  }
  std::vector<double> Check() override {
    rows_.Lookup({keys_.all(0).data(), keys_.batch()}, out_);
    return CheckSums(out_);
  }

 private:
  Rows& rows_;
  Callers<uint64_t> keys_;
  std::vector<float> out_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const bool peer = Flag(argc, argv, "--peer");
  const auto count =
      static_cast<size_t>(std::atoll(Option(argc, argv, "--rows", "8000000").c_str()));
  ScratchDirectory directory;
  std::unique_ptr<Rows> rows;
  const std::string version =
      fmt::format("RocksDB {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  return Serve(peer ? version : "", [&](const std::string& name) -> std::unique_ptr<Case> {
    if (!rows && peer) rows = std::make_unique<RocksRows>(directory.path(), count);
    if (!rows) rows = std::make_unique<OurRows>(directory.path(), count);
    return std::make_unique<Cold>(*rows, KeyCase(name), count);
  });
}
