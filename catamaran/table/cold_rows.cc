#include "catamaran/table/cold_rows.h"

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ROCKSDB
#include "catamaran/table/cold/saved_records.h"
#include "catamaran/table/cold/tiered_table.h"
#endif

namespace catamaran {

#if CATAMARAN_WITH_ROCKSDB

std::unique_ptr<DurableTable> MakeTieredTable(const TableConfig& config,
                                              const ColdRowsOptions& options) {
  return std::make_unique<TieredTable>(config, options);
}

std::unique_ptr<const SavedColdRows> OpenColdRows(const TableConfig& config,
                                                  const std::string& directory) {
  return std::make_unique<const SavedRecords>(config, directory);
}

bool ColdRowsAreBuilt() { return true; }

#else

std::unique_ptr<DurableTable> MakeTieredTable(const TableConfig&, const ColdRowsOptions& options) {
  Fail(
      "table: rows on disk were asked for (in {}, with {} bytes of memory), but this build has no "
      "RocksDB: it was made with the minimal preset",
      options.directory, options.memory_bytes);
}

std::unique_ptr<const SavedColdRows> OpenColdRows(const TableConfig&,
                                                  const std::string& directory) {
  Fail(
      "{}: rows lie on disk there, and this build has no RocksDB: it was made with the minimal "
      "preset",
      directory);
}

bool ColdRowsAreBuilt() { return false; }

#endif

}  // namespace catamaran
