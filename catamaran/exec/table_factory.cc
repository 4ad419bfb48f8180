#include "catamaran/exec/table_factory.h"

#include "catamaran/table/memory/memory_table.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {

std::unique_ptr<DurableTable> MakeTable(const TableConfig& config, std::string_view /*path*/,
                                        const TableOptions& options) {
  if (options.home == TableOptions::Home::kReference) {
    return std::make_unique<ReferenceTable>(config);
  }
  MemoryTableOptions memory;
  memory.shards = options.shards;
  return std::make_unique<MemoryTable>(config, memory);
}

}  // namespace catamaran
