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

void DurableTable::CheckPull(std::span<const uint64_t> keys, std::span<const float> out) const {
  const size_t wanted = keys.size() * static_cast<size_t>(width());
  if (out.size() == wanted) return;
  Fail("table: a pull of {} keys wants room for {} numbers, and has {}", keys.size(), wanted,
       out.size());
}

}  // namespace catamaran
