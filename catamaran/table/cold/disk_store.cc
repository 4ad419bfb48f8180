#include "catamaran/table/cold/disk_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/room.h"
#include "catamaran/table/cold/store_files.h"
#include "catamaran/table/cold/unsynced_files.h"

#if defined(__SANITIZE_THREAD__)
// RocksDB is not built for the thread sanitizer, which therefore does not see how its threads wait
// for each other. What none of its functions takes part in is checked as everything else.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:librocksdb.so\n"; }
#endif

namespace catamaran {
namespace {

using PlaceBytes = std::array<char, 8>;

PlaceBytes ToPlace(uint64_t hash) {
  PlaceBytes place;
  for (size_t i = 0; i < 8; ++i) place[i] = static_cast<char>(hash >> (56 - 8 * i));
  return place;
}

rocksdb::Slice AsSlice(const PlaceBytes& place) { return {place.data(), place.size()}; }

// What went wrong is told by exceptions; a log in the directory would be one more file to keep.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

void Check(const rocksdb::Status& status, const char* doing, const std::string& directory) {
  if (status.ok()) return;
  const bool full = status.IsNoSpace() || status.IsMemoryLimit();
  Fail(full ? ErrorCode::kResourceExhausted : ErrorCode::kStorage, "rows on disk: {} in {}: {}",
       doing, directory, status.ToString());
}

rocksdb::BlockBasedTableOptions TableOptions(std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.block_size = 4096;  // keys are looked up one by one: the smallest unit a disk reads
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Indexes and filters live in the cache too, so that it is the bound on memory. In parts of a
  // block each: the filter of a whole file has a megabyte, and a cache that has no room for it
  // would have it read for a single row.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4096;
  table.pin_top_level_index_and_filter = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  return table;
}

}  // namespace

struct DiskStore::Batch::Rep {
  rocksdb::WriteBatch batch;
};

DiskStore::Batch::Batch() : rep_(std::make_unique<Rep>()) {}
DiskStore::Batch::~Batch() = default;

void DiskStore::Batch::Put(uint64_t hash, RowClass c, const uint32_t* record,
                           const RowLayout& layout) {
  value_.resize(1 + layout.bytes(c));
  value_[0] = static_cast<char>(c);
  std::memcpy(value_.data() + 1, record, layout.bytes(c));
  const uint32_t feature = RecordFeature(record);  // the tag without its sequence bits
  std::memcpy(value_.data() + 1 + sizeof(uint32_t) * row_words::kTag, &feature, sizeof(feature));
  rep_->batch.Put(AsSlice(ToPlace(hash)), value_);
  hashes_.push_back(hash);
}

void DiskStore::Batch::Erase(uint64_t hash) {
  rep_->batch.Delete(AsSlice(ToPlace(hash)));
  hashes_.push_back(hash);
}
void DiskStore::Batch::Clear() {
  rep_->batch.Clear();
  hashes_.clear();
}
int64_t DiskStore::Batch::size() const { return rep_->batch.Count(); }

struct DiskStore::Rocks {
  std::shared_ptr<rocksdb::Cache> cache;
  std::unique_ptr<rocksdb::Env> env;  // outlives the database
  rocksdb::Options options;
  std::unique_ptr<rocksdb::DB> db;
  bool made = false;  // the directory is ours

  explicit Rocks(int64_t cache_bytes) {
    // Blocks of rows go before all indexes and filters do: a row that is read is wanted by itself,
    // and read_rows_ keeps it.
    cache = rocksdb::NewLRUCache(static_cast<size_t>(std::max<int64_t>(cache_bytes, 1 << 20)),
                                 /*num_shard_bits=*/2, /*strict_capacity_limit=*/false,
                                 /*high_pri_pool_ratio=*/1);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(cache)));
    options.info_log = std::make_shared<NoLog>();
    options.compression = rocksdb::kNoCompression;  // trained numbers do not compress
    options.skip_stats_update_on_db_open = true;
    options.avoid_flush_during_shutdown = true;
    // Where RocksDB cannot start one of several threads that open files, it ends the process.
    options.max_file_opening_threads = 1;
  }
};

DiskStore::DiskStore(const RowLayout& layout, std::string directory)
    : layout_(layout), directory_(std::move(directory)) {}

std::unique_ptr<DiskStore> DiskStore::Make(const RowLayout& layout, const DiskStoreOptions& options,
                                           const std::string& checkpoint) {
  MakeEmptyDirectory(options.directory);
  if (!checkpoint.empty()) CloneStoreFiles(checkpoint, options.directory);
  std::unique_ptr<DiskStore> store(new DiskStore(layout, options.directory));
  store->read_rows_ = std::make_unique<RowCache>(layout, options.cache_bytes / 2);
  store->rocks_ = std::make_unique<Rocks>(options.cache_bytes / 2);
  Rocks& rocks = *store->rocks_;
  rocks.made = true;
  rocksdb::Options& o = rocks.options;
  rocks.env = MakeUnsyncedEnv();
  o.env = rocks.env.get();
  o.create_if_missing = true;
  o.write_buffer_size =
      static_cast<size_t>(std::max<int64_t>(options.write_buffer_bytes, 64 << 10));
  o.max_write_buffer_number = 2;
  // Of some hundred bytes for each file of rows: not the 4 MiB that every opening would ask for.
  o.manifest_preallocation_size = 64 << 10;
  o.memtable_whole_key_filtering = true;  // most keys that are asked for are in older files
  o.memtable_prefix_bloom_size_ratio = 0.02;
  o.target_file_size_base = size_t{64} << 20;
  o.level_compaction_dynamic_level_bytes = true;
  o.use_direct_reads = options.direct_io;
  o.use_direct_io_for_flush_and_compaction = options.direct_io;
  // Compaction is nobody's first wish. The threads belong to the process, as RocksDB's do.
  o.env->LowerThreadPoolCPUPriority(rocksdb::Env::LOW, rocksdb::CpuPriority::kLow)
      .PermitUncheckedError();
  // It ends the process too where it cannot have these.
  CheckRoom({.descriptors = 16, .threads = 6, .bytes = size_t{16} << 20}, "to keep rows on disk");
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(o, options.directory, &db), "opening the store", options.directory);
  rocks.db.reset(db);
  return store;
}

std::unique_ptr<DiskStore> DiskStore::OpenCheckpoint(const RowLayout& layout,
                                                     const std::string& directory,
                                                     int64_t cache_bytes) {
  std::unique_ptr<DiskStore> store(new DiskStore(layout, directory));
  store->rocks_ = std::make_unique<Rocks>(cache_bytes);
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::OpenForReadOnly(store->rocks_->options, directory, &db),
        "opening the checkpoint", directory);
  store->rocks_->db.reset(db);
  return store;
}

DiskStore::~DiskStore() {
  const bool remove = rocks_ != nullptr && rocks_->made;
  rocks_.reset();
  if (remove) RemoveDirectoryQuietly(directory_);
}

namespace {

// Copies a stored record to `record`, which has room for the largest; its class.
RowClass ReadValue(const RowLayout& layout, const rocksdb::Slice& value, uint32_t* record,
                   const std::string& directory) {
  const uint8_t c = value.empty() ? uint8_t{kRowClasses} : static_cast<uint8_t>(value[0]);
  if (c >= kRowClasses || value.size() != 1 + layout.bytes(RowClass{c})) {
    Fail(ErrorCode::kStorage,
         "rows on disk: a record in {} has {} bytes and class {}: it is damaged, or of another "
         "table",
         directory, value.size(), static_cast<int>(c));
  }
  std::memcpy(record, value.data() + 1, value.size() - 1);
  return RowClass{c};
}

}  // namespace

bool DiskStore::GetFromMemory(uint64_t hash, RowClass* c, uint32_t* record) const {
  return read_rows_ != nullptr && read_rows_->Find(hash, c, record);
}

void DiskStore::MultiGet(std::span<const uint64_t> hashes, Found found, Use use) const {
  constexpr size_t kAtOnce = 64;
  std::array<size_t, kAtOnce> positions;  // of those that have to be read
  std::array<PlaceBytes, kAtOnce> places;
  std::array<rocksdb::Slice, kAtOnce> slices;
  std::array<rocksdb::PinnableSlice, kAtOnce> values;
  std::array<rocksdb::Status, kAtOnce> statuses;
  std::array<RowCache::Ticket, kAtOnce> tickets;
  std::vector<uint32_t> record(layout_.max_words());
  const rocksdb::ReadOptions options;
  rocksdb::DB& db = *rocks_->db;
  for (size_t next = 0; next < hashes.size();) {
    size_t n = 0;
    for (; n < kAtOnce && next < hashes.size(); ++next) {
      const uint64_t hash = hashes[next];
      RowClass c;
      if (GetFromMemory(hash, &c, record.data())) {
        if (use == Use::kOnce) read_rows_->Forget(hash);
        found(next, c, record.data());
        continue;
      }
      if (read_rows_ != nullptr) tickets[n] = read_rows_->Take(hash);
      positions[n] = next;
      places[n] = ToPlace(hash);
      slices[n] = AsSlice(places[n]);
      ++n;
    }
    db.MultiGet(options, db.DefaultColumnFamily(), n, slices.data(), values.data(), statuses.data(),
                /*sorted_input=*/true);
    for (size_t i = 0; i < n; ++i) {
      if (!statuses[i].IsNotFound()) {
        Check(statuses[i], "reading rows", directory_);
        const RowClass c = ReadValue(layout_, values[i], record.data(), directory_);
        if (use == Use::kWillBeAskedAgain && read_rows_ != nullptr) {
          read_rows_->Insert(hashes[positions[i]], c, record.data(), tickets[i]);
        }
        found(positions[i], c, record.data());
      }
      values[i].Reset();
    }
  }
}

void DiskStore::Scan(uint64_t first, uint64_t last, Visit visit) const {
  if (first > last) return;
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // a walk over everything must not drive out what is asked for
  const PlaceBytes begin = ToPlace(first);
  const PlaceBytes end = ToPlace(last + 1);
  const rocksdb::Slice bound = AsSlice(end);
  if (last != UINT64_MAX) options.iterate_upper_bound = &bound;
  std::vector<uint32_t> record(layout_.max_words());
  std::unique_ptr<rocksdb::Iterator> it(rocks_->db->NewIterator(options));
  for (it->Seek(AsSlice(begin)); it->Valid(); it->Next()) {
    const RowClass c = ReadValue(layout_, it->value(), record.data(), directory_);
    visit(c, record.data());
  }
  Check(it->status(), "walking over rows", directory_);
}

void DiskStore::Write(const Batch& batch) {
  if (batch.size() == 0) return;
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  const rocksdb::Status status = rocks_->db->Write(options, &batch.rep_->batch);
  if (read_rows_ != nullptr) {
    for (const uint64_t hash : batch.hashes_) read_rows_->Forget(hash);
  }
  Check(status, "writing rows", directory_);
}

int64_t DiskStore::approximate_rows() const {
  uint64_t rows = 0;
  rocks_->db->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &rows);
  return static_cast<int64_t>(rows);
}

int64_t DiskStore::bytes_on_disk() const {
  uint64_t bytes = 0;
  rocks_->db->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
  return static_cast<int64_t>(bytes);
}

int64_t DiskStore::bytes_in_memory() const {
  uint64_t buffers = 0;
  rocks_->db->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &buffers);
  const int64_t read = read_rows_ != nullptr ? read_rows_->bytes() : 0;
  return static_cast<int64_t>(buffers + rocks_->cache->GetUsage()) + read;
}

void DiskStore::SaveCheckpoint(const std::string& directory) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(directory, error).string();
  if (error) Fail(ErrorCode::kStorage, "rows on disk: {}: {}", directory, error.message());
  rocksdb::Checkpoint* made = nullptr;
  Check(rocksdb::Checkpoint::Create(rocks_->db.get(), &made), "making a checkpoint", directory_);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // Without a log to replay, the write buffers must go to a file first: 0 asks for that.
  const rocksdb::Status status = checkpoint->CreateCheckpoint(path, /*log_size_for_flush=*/0);
  if (!status.ok()) {
    Fail(ErrorCode::kStorage, "rows on disk: saving the rows of {} to {}: {}", directory_,
         directory, status.ToString());
  }
  SyncStoreFiles(path);
}

}  // namespace catamaran
