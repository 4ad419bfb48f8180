// serve/model/rows_apart.h
//
// What is computed from rows that are put together of a user's part and an item's, written for the
// parts: the user's can then be computed once for all items (user_split.h), and rows need not be
// put together at all. Results keep their bits:
//
//   slice([u, v])                  becomes   [slice(u), slice(v)]
//   factorization_machine([u, v])  becomes   factorization_machine(u, more=v)
//   [u, v] · w                     becomes   v · w2, started from u · w1
//
// The last is the same only if sums are added up in order (matmul_in_order), in the whole function
// too: therefore a function that is served gets such products first.
//
// Thread safety: functions.

#pragma once

#include <memory>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// A copy of the function in which products of rows that are put together add up in order; null
// where there is none, or `isa` has no code for it.
std::unique_ptr<Function> OrderProducts(const Program& flat, const Function& function, Isa isa);

// A copy of the function, written for the parts; null if there is nothing to take apart. `is_user`
// says for each argument whether it is the user's.
std::unique_ptr<Function> TakeRowsApart(const Program& flat, const Function& function,
                                        const std::vector<bool>& is_user);

}  // namespace catamaran
