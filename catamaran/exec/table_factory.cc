#include "catamaran/exec/table_factory.h"

#include "catamaran/table/reference_table.h"

namespace catamaran {

std::unique_ptr<DurableTable> MakeTable(const TableConfig& config, std::string_view /*path*/,
                                        const TableOptions& /*options*/) {
  return std::make_unique<ReferenceTable>(config);
}

}  // namespace catamaran
