// exec/table_settings.h
//
// From the declaration of a table to its configuration:
//
//   table @feat : u64 -> f32[16] = normal(std=0.01) {
//     optimizer  = rowwise_adagrad(lr=0.05)
//     store      = bf16                      // or f32, int8
//     admit      = count(3, days=7)          // or probability(0.1), sketch(3, bytes="64MB",
//     days=1) unadmitted = init                      // or zeros, shared score      =
//     weights(show=0.1, click=1, half_life_days=7) expire     = [unseen(days=30), score(below=0.5),
//     bytes("8GB")] grow_at    = 10 features   = [user, item] home       = disk(memory="4GB") // or
//     memory
//   }
//
// docs/tables.md says what they mean.

#pragma once

#include <cstdint>
#include <string_view>

#include "catamaran/ir/program.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

// The seed of a table: a function of the State's and of the table's path.
uint64_t TableSeed(std::string_view path, uint64_t seed);

// Where the rows of a table live. It changes nothing of what the table answers.
struct TableHome {
  enum class Kind : uint8_t {
    kMemory,
    kDisk,  // in memory as far as memory_bytes go, the others on disk
  } kind = Kind::kMemory;
  int64_t memory_bytes = 0;  // kDisk
};

struct TableDeclaration {
  TableConfig config;
  TableHome home;
};

// The table's own seed is TableSeed. Throws an Error that begins with the line of the setting, or
// of the declaration, when something makes no sense.
TableDeclaration TableDeclarationOf(const StateDecl& decl, uint64_t seed,
                                    const SourceTable& sources);
TableConfig TableConfigOf(const StateDecl& decl, uint64_t seed, const SourceTable& sources);

}  // namespace catamaran
