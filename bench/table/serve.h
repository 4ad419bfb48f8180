// bench/table/serve.h
//
// What main does in the programs that measure tables: it reads the options that they share, and
// answers with the cases that each of them makes.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/table/keys.h"
#include "bench/worker.h"
#include "catamaran/table/durable_table.h"

namespace catamaran::bench {

// --rows N (20 million), for cases that make their tables themselves.
int ServeRows(
    int argc, char** argv,
    const std::function<std::unique_ptr<Case>(const std::string& name, uint64_t rows)>& prepare);

// --rows N (20 million) and --width W (16), for cases of keys in one table, which is filled with as
// many rows as the case wants and stays for the next.
int ServeKeys(int argc, char** argv,
              const std::function<std::unique_ptr<Case>(DurableTable& table, const KeyCase& keys,
                                                        size_t rows)>& prepare);

}  // namespace catamaran::bench
