// serve/model/user_split.h
//
// A function in two parts, for requests with one user and many items: what depends on the user's
// arguments alone, which is run once a request, and the rest, which is run for each item and gets
// the first part's results. Both are made from the program, op by op; where rows are put together
// of both, their parts are taken apart (rows_apart.h), which changes no bit; that is done where it
// would change some only if it is asked for (split_products.h). The user's part has one row where
// the whole has many, and a library may round a product of one row in another way. Rows must be
// independent (row_independence.h).
//
// Thread safety: a UserSplit is immutable; UserSplits may be used from many threads.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "catamaran/exec/executable.h"
#include "catamaran/serve/model/signature.h"

namespace catamaran {

struct UserSplit {
  std::shared_ptr<const Executable> user, item;
  std::unique_ptr<const Signature> user_signature, item_signature;
  // Which arguments of the whole they take. Behind its own, `item` takes the results of `user`.
  std::vector<size_t> user_arguments, item_arguments;
};

// `is_user` says for each argument of `whole` whether it is the user's. With `products`, products
// of rows that are the user's in part are taken apart. Null where there is nothing that is worth
// computing once.
std::unique_ptr<const UserSplit> SplitByUser(const Program& flat, const Executable& whole,
                                             const std::vector<bool>& is_user,
                                             bool products = false);

// The splits of a function, each made when it is first asked for.
class UserSplits {
 public:
  // Both outlive it.
  UserSplits(const Program& flat, const Executable& whole, bool products)
      : flat_(flat), whole_(whole), products_(products) {}

  // `user` has a bit for each argument that is the user's. Null: run the whole.
  const UserSplit* Find(uint64_t user);

 private:
  // A function is asked in few ways; who tries many gets the whole.
  static constexpr size_t kMost = 8;

  const Program& flat_;
  const Executable& whole_;
  const bool products_;
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<const UserSplit>> splits_;
};

}  // namespace catamaran
