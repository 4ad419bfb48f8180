#include "catamaran/exec/table_factory.h"

#include "catamaran/base/scratch_directory.h"
#include "catamaran/table/cold_rows.h"
#include "catamaran/table/memory/memory_table.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {

std::unique_ptr<DurableTable> MakeTable(const TableDeclaration& declared, std::string_view path,
                                        const TableOptions& options,
                                        std::unique_ptr<ScratchDirectory>& scratch) {
  if (options.reference) return std::make_unique<ReferenceTable>(declared.config);
  if (declared.home.kind == TableHome::Kind::kDisk) {
    if (!scratch) {
      const std::string parent = options.scratch.empty() ? SystemScratch() : options.scratch;
      scratch = std::make_unique<ScratchDirectory>(PosixFileSystem(), parent);
    }
    ColdRowsOptions cold;
    cold.directory = JoinPath(scratch->path(), path);
    cold.memory_bytes = declared.home.memory_bytes;
    return MakeTieredTable(declared.config, cold);
  }
  MemoryTableOptions memory;
  memory.shards = options.shards;
  return std::make_unique<MemoryTable>(declared.config, memory);
}

}  // namespace catamaran
