// exec/table_settings.h
//
// From the declaration of a table to its configuration:
//
//   table @feat : u64 -> f32[16] = normal(std=0.01) {
//     optimizer  = rowwise_adagrad(lr=0.05)
//     admit      = count(3)            // or probability(0.1); without it every key
//     unadmitted = init                // or zeros, shared
//     expire     = unseen(days=30)     // or hours, minutes, seconds
//   }

#pragma once

#include <cstdint>
#include <string_view>

#include "catamaran/ir/program.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

// The seed of a table: a function of the State's and of the table's path.
uint64_t TableSeed(std::string_view path, uint64_t seed);

// The table's own seed is TableSeed. Throws an Error that begins with the
// declaration's line when something makes no sense.
TableConfig TableConfigOf(const StateDecl& decl, uint64_t seed, const SourceTable& sources);

}  // namespace catamaran
