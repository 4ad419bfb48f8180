// The memory table passes the suite of all homes.

#include "catamaran/table/memory/memory_table.h"
#include "catamaran/table/table_suite_test_util.h"

namespace catamaran {
namespace {

HomeUnderTest Shards(int shards) {
  return {std::to_string(shards) + "Shards", [shards](const TableConfig& config) {
            return std::make_unique<MemoryTable>(config, MemoryTable::Options{.shards = shards});
          }};
}

INSTANTIATE_TEST_SUITE_P(Memory, TableSuite, testing::Values(Shards(1), Shards(8)), HomeName);

}  // namespace
}  // namespace catamaran
