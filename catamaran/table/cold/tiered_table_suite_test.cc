// Rows in memory over RocksDB as a home of tables: the suite that all homes pass, with memory for
// hardly any row, and for some.

#include <unistd.h>

#include <filesystem>

#include "catamaran/table/cold_rows.h"
#include "catamaran/table/table_suite_test_util.h"

namespace catamaran {
namespace {

// In memory where the system has such files: the suite saves hundreds of tables, each synced, and
// would mostly wait for the disk.
std::filesystem::path Scratch() {
  const char* in_memory = "/dev/shm";
  return access(in_memory, W_OK) == 0 ? in_memory : testing::TempDir();
}

std::string NewDirectory() {
  static int made = 0;
  const auto path = Scratch() / ("tiered_table_suite_test_" + std::to_string(getpid()) + "_" +
                                 std::to_string(++made));
  std::filesystem::remove_all(path);
  return path.string();
}

HomeUnderTest WithMemory(const char* name, int64_t bytes) {
  return {name,
          [bytes](const TableConfig& config) {
            return MakeTieredTable(
                config, {.directory = NewDirectory(), .memory_bytes = bytes, .read_threads = 2});
          },
          NewDirectory, /*one_round_in=*/4};
}

INSTANTIATE_TEST_SUITE_P(Tiered, TableSuite,
                         testing::Values(WithMemory("HardlyAnyMemory", 1),
                                         WithMemory("SomeMemory", 20'000)),
                         HomeName);

}  // namespace
}  // namespace catamaran
