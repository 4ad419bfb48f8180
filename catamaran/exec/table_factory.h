// exec/table_factory.h
//
// Makes the tables of a State: which home a table gets, and what the home is told that no program
// says (it changes how a table is laid out, never what it answers).

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "catamaran/exec/table_settings.h"
#include "catamaran/table/durable_table.h"

namespace catamaran {

class ScratchDirectory;

struct TableOptions {
  // Every table is the plain one, for comparison, whatever it declares.
  bool reference = false;
  int shards = 8;  // of each table; a power of two
  // Where rows of tables that declare `home = disk(…)` lie while the State lives, best on the file
  // system of its commits. Empty: where the system keeps temporary files.
  std::string scratch;
};

// `scratch` is made when the first table wants it, and outlives the tables. An Error if the home
// cannot be had.
std::unique_ptr<DurableTable> MakeTable(const TableDeclaration& declared, std::string_view path,
                                        const TableOptions& options,
                                        std::unique_ptr<ScratchDirectory>& scratch);

}  // namespace catamaran
