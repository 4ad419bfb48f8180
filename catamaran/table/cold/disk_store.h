// table/cold/disk_store.h
//
// Records on disk, in RocksDB: what a table of rows asks of a key-value store, and no more. A
// record is stored under its place, config.Hash(key), big end first, so that the store's order is
// the order of everything else; the value is the class of the record (one byte) and its words,
// with sequence bits 0.
//
// A store that is written to is scratch. It begins empty, or with the rows of a checkpoint, and is
// forgotten by a crash: what counts is in the checkpoints that commits hold. So there is no
// write-ahead log, and nothing is synced but checkpoints.
//
// Memory: the block cache, which holds indexes and filters too, as much for records that were read
// (row_cache.h), and two write buffers. The operating system may keep pages of the files besides,
// unless direct_io is set.
//
// Every failure throws an Error that names the directory.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/cold/row_cache.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

struct DiskStoreOptions {
  std::string directory;
  int64_t cache_bytes = int64_t{32} << 20;
  int64_t write_buffer_bytes = int64_t{16} << 20;  // of one of the two
  bool direct_io = false;  // reads and writes go past the system's page cache
};

class DiskStore {
 public:
  // What Write does at once.
  class Batch {
   public:
    Batch();
    ~Batch();
    void Put(uint64_t hash, RowClass c, const uint32_t* record, const RowLayout& layout);
    void Erase(uint64_t hash);
    void Clear();
    int64_t size() const;

   private:
    friend class DiskStore;
    struct Rep;
    std::unique_ptr<Rep> rep_;
    std::vector<uint64_t> hashes_;  // of all that it puts and erases
    std::string value_;             // scratch
  };

  using Visit = FunctionRef<void(RowClass c, const uint32_t* record)>;

  // A store in options.directory, which is emptied and made if need be, its parents too. With a
  // `checkpoint`, a directory that SaveCheckpoint made, it has the rows of that; the checkpoint is
  // only read, by hard links where the file system has them, and may go at any time afterwards.
  static std::unique_ptr<DiskStore> Make(const RowLayout& layout, const DiskStoreOptions& options,
                                         const std::string& checkpoint = "");
  // A checkpoint, to read where it lies. Nothing is written, to it or beside it.
  static std::unique_ptr<DiskStore> OpenCheckpoint(const RowLayout& layout,
                                                   const std::string& directory,
                                                   int64_t cache_bytes = int64_t{8} << 20);
  // A store that was made takes its directory with it.
  ~DiskStore();

  // Calls found(i, class, record) for each hashes[i] that has a record, in no order; the record is
  // the visitor's during the call. Those of kWillBeAskedAgain are kept in memory for a while, those
  // of kOnce are kept no longer.
  // REQUIRES: strictly ascending.
  enum class Use { kOnce, kWillBeAskedAgain };
  using Found = FunctionRef<void(size_t i, RowClass c, const uint32_t* record)>;
  void MultiGet(std::span<const uint64_t> hashes, Found found, Use use = Use::kOnce) const;
  // Copies a record that is in memory still; false if it is not, or there is none.
  bool GetFromMemory(uint64_t hash, RowClass* c, uint32_t* record) const;
  // All records in [first, last] as they were when it began, ascending.
  void Scan(uint64_t first, uint64_t last, Visit visit) const;

  // All of the batch, or nothing, for every reader. May wait for the disk when more is written than
  // it takes.
  void Write(const Batch& batch);

  // Estimates: what was overwritten or erased lately may be counted still.
  int64_t approximate_rows() const;
  int64_t bytes_on_disk() const;
  int64_t bytes_in_memory() const;

  // Makes `directory`, which must not exist, hold all records, durably (its name in its parent
  // excepted). Files are shared by hard links, so it costs what was written since the last one.
  // Goes on beside reads and writes; whoever wants to know which writes it holds makes none.
  void SaveCheckpoint(const std::string& directory);

  const std::string& directory() const { return directory_; }

 private:
  struct Rocks;
  DiskStore(const RowLayout& layout, std::string directory);

  const RowLayout layout_;
  const std::string directory_;
  std::unique_ptr<RowCache> read_rows_;
  std::unique_ptr<Rocks> rocks_;
};

}  // namespace catamaran
