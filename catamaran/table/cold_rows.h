// table/cold_rows.h
//
// Tables that are larger than memory: the rows that are used stay in memory, the others lie on
// disk, in RocksDB. What the table holds, reads and learns is the same as if all of it were in
// memory; only where a row lies differs. How it is done is in table/cold/.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/table/durable_table.h"

namespace catamaran {

struct ColdRowsOptions {
  // Scratch: emptied when the table is made, removed with it. What must last is in commits. On the
  // file system of the commits, so that they share files with it.
  std::string directory;
  // For rows in memory with what finds them, and for the caches and buffers of the rows on disk.
  // See docs/tables.md for what comes on top of it.
  int64_t memory_bytes = 0;
  int read_threads = 4;    // that fetch rows for Pull
  bool direct_io = false;  // the system keeps no pages of the files in memory
};

// An Error if the options make no sense, the directory cannot be used, or this is a build without
// RocksDB.
std::unique_ptr<DurableTable> MakeTieredTable(const TableConfig& config,
                                              const ColdRowsOptions& options);

// Whether this build can.
bool ColdRowsAreBuilt();

// Cold rows as DurableTable::SaveColdRows left them, to read where they lie. Of a key that the
// files of the same commit have a row of they mean nothing.
// Thread safety: all methods may be called concurrently.
class SavedColdRows {
 public:
  virtual ~SavedColdRows() = default;

  // Copies the record of a key. False if there is none.
  virtual bool Find(uint64_t key, RowClass* c, std::vector<uint32_t>* record) const = 0;
  // Every record whose config.Hash(key) is in [first, last], in ascending order, whatever its
  // class. The record is the visitor's during the call.
  virtual void Scan(uint64_t first, uint64_t last,
                    FunctionRef<void(RowClass c, const uint32_t* record)> visit) const = 0;
  virtual int64_t approximate_rows() const = 0;
  virtual int64_t bytes_on_disk() const = 0;
};

// Nothing is written, to the directory or beside it. An Error if it is no such directory, or this
// is a build without RocksDB.
std::unique_ptr<const SavedColdRows> OpenColdRows(const TableConfig& config,
                                                  const std::string& directory);

// In TableExtras of a commit: how many rows of the table are in its cold rows. A file that has
// taken them in does not have it.
inline constexpr const char* kColdRowsExtra = "cold";

}  // namespace catamaran
