// table/table_suite_test_util.h
//
// The one suite that every home of rows passes. A home instantiates it in a test file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, TableSuite, testing::ValuesIn<HomeUnderTest>({
//       {"OneShard", [](const TableConfig& config) { return std::make_unique<…>(config, 1); }},
//   }), HomeName);
//
// What is asserted stands in table_suite_test.cc (behaviour, with numbers worked out by hand) and
// table_suite_random_test.cc (random steps, with ReferenceTable as the oracle).

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {

struct HomeUnderTest {
  std::string name;
  // An empty table.
  std::function<std::unique_ptr<DurableTable>(const TableConfig& config)> make;
  // For homes that keep rows on disk: a directory that does not exist and may be made, another at
  // each call. Others leave it empty.
  std::function<std::string()> new_directory = {};
  // Of the random rounds it does one in so many. More than 1 for homes that are slow to make.
  unsigned one_round_in = 1;
};

inline std::string HomeName(const testing::TestParamInfo<HomeUnderTest>& info) {
  return info.param.name;
}

class TableSuite : public testing::TestWithParam<HomeUnderTest> {
 protected:
  std::unique_ptr<DurableTable> Make(const TableConfig& config) const {
    return GetParam().make(config);
  }

  // While a cut is in progress: saves what `table` keeps on disk by itself. Where; empty if it
  // keeps nothing there.
  std::string SaveColdRows(DurableTable& table) const {
    if (!table.keeps_cold_rows()) return "";
    const std::string directory = GetParam().new_directory();
    table.SaveColdRows(directory);
    return directory;
  }

  // A table made of what was saved of another: its cuts, and what SaveColdRows saved with the
  // last of them, which is then gone.
  std::unique_ptr<DurableTable> Restore(const TableConfig& config,
                                        std::shared_ptr<const RowBacking> cuts,
                                        const std::string& cold) const {
    auto table = Make(config);
    if (!cold.empty()) {
      table->LoadColdRows(cold);
      std::filesystem::remove_all(cold);
    }
    table->Attach(std::move(cuts));
    return table;
  }
};

}  // namespace catamaran
