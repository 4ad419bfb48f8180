#include "catamaran/table/durable_table.h"

#include "catamaran/base/error.h"

namespace catamaran {

void DurableTable::SaveColdRows(const std::string& directory) {
  Fail("table: there are no rows on disk to save to {}: the table keeps all of them in memory",
       directory);
}

void DurableTable::LoadColdRows(const std::string& directory) {
  Fail(
      "table: {} holds rows on disk, and the table keeps all rows in memory: give it a memory "
      "budget and a directory for the others",
      directory);
}

}  // namespace catamaran
