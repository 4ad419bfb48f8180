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

#include "catamaran/ir/program.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

// The table's own seed is a function of `seed` and its path. Throws an Error that begins with the
// declaration's line when something makes no sense.
TableConfig TableConfigOf(const StateDecl& decl, uint64_t seed, const SourceTable& sources);

}  // namespace catamaran
