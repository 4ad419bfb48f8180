// table/table_config.h
//
// Everything a table is told when it is made, as plain data. Whoever reads a program's
// declarations fills it.

#pragma once

#include <cstdint>
#include <optional>

#include "catamaran/table/optimizers.h"

namespace catamaran {

// What the embedding of a new row is: a function of the table's seed and the key.
struct TableInit {
  enum class Kind : uint8_t { kZeros, kConstant, kUniform, kNormal } kind = Kind::kZeros;
  double a = 0;  // constant: the value; uniform: low; normal: the standard deviation
  double b = 0;  // uniform: high (not reached)
};

// Which keys get a row.
struct TableAdmit {
  enum class Kind : uint8_t {
    kNone,         // every one
    kCount,        // from its count-th occurrence on
    kProbability,  // a fair draw in each step that it occurs in
  } kind = Kind::kNone;
  int64_t count = 1;
  double probability = 1;
};

// What a key without a row reads as.
enum class Unadmitted : uint8_t {
  kInit,  // what its row would begin as
  kZeros,
  kShared,  // one row for all of them, trained by their gradients
};

inline constexpr int64_t kNanosecondsPerDay = int64_t{86'400} * 1'000'000'000;

struct TableConfig {
  int64_t width = 0;
  TableInit init;
  std::optional<Optimizer> optimizer;  // none: the table takes no gradients
  TableAdmit admit;
  Unadmitted unadmitted = Unadmitted::kInit;
  int64_t expire_unseen = 0;  // nanoseconds of event time; 0: rows stay for ever
  uint64_t seed = 0;
};

// An Error that says what was wrong if a table cannot be made from it.
void CheckTableConfig(const TableConfig& config);

// Writes the `config.width` numbers that the row of `key` begins as.
void FillInitialRow(const TableConfig& config, uint64_t key, float* row);
// The same for the shared row, which belongs to no key.
void FillSharedRow(const TableConfig& config, float* row);

// Whether a draw in this step admits `key`. REQUIRES: the policy is kProbability.
bool DrawAdmits(const TableConfig& config, uint64_t key, int64_t step);

}  // namespace catamaran
