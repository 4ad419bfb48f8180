// table/cold/unsynced_files.h
//
// RocksDB's files without syncing. A store that is scratch has nothing that must survive a loss of
// power; what must, a checkpoint, is synced as a whole when it is made (store_files.h).

#pragma once

#include <rocksdb/env.h>

#include <memory>

namespace catamaran {

// The system's files and RocksDB's own threads; nothing written through it is synced.
std::unique_ptr<rocksdb::Env> MakeUnsyncedEnv();

}  // namespace catamaran
