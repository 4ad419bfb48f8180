// table/cold_rows.h
//
// Tables that are larger than memory: the rows that are used stay in memory, the others lie on
// disk, in RocksDB. What the table holds, reads and learns is the same as if all of it were in
// memory; only where a row lies differs. How it is done is in table/cold/.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

}  // namespace catamaran
