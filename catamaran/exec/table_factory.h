// exec/table_factory.h
//
// Makes the tables of a State: which home a table gets, and what the home is told that no program
// says (it changes how a table is laid out, never what it answers).

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "catamaran/table/durable_table.h"

namespace catamaran {

struct TableOptions {
  enum class Home : uint8_t {
    kMemory,     // table/memory/
    kReference,  // the plain table, for comparison
  } home = Home::kMemory;
  int shards = 8;  // of each table; a power of two
};

std::unique_ptr<DurableTable> MakeTable(const TableConfig& config, std::string_view path,
                                        const TableOptions& options);

}  // namespace catamaran
