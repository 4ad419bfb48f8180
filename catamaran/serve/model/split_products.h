// serve/model/split_products.h
//
// Products of rows that are put together of a user's part and an item's, taken apart:
//
//   [u, v] · w   becomes   v · w2 + u · w1
//
// so that the user's part can be computed once for all items (user_split.h). Sums are added up in
// another order by that, as between two kernels: each result may differ by K · 2^-24 times the sum
// of the sizes of its K products, in f32. Therefore it is done only where it was asked for; what
// keeps its bits is in rows_apart.h.
//
// Thread safety: a function.

#pragma once

#include <memory>
#include <vector>

#include "catamaran/ir/program.h"

namespace catamaran {

// A copy of the function with its products taken apart; null if there is none to take apart.
std::unique_ptr<Function> SplitProducts(const Program& flat, const Function& function,
                                        const std::vector<bool>& is_user);

}  // namespace catamaran
