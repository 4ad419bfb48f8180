// bench/table/keys.h
//
// The keys and rows of the table benchmarks, the same on every side (bench/peers/table_keys.py
// computes them alike). Rows are known by their rank, 0 the one that is asked for most.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/base/hash.h"

namespace catamaran::bench {

// A key is a scrambled rank, so no side gains from keys that come in some order.
constexpr uint64_t KeyOf(uint64_t rank) { return Mix64(rank + 0x5bd1e995); }

// What the row of a rank holds.
constexpr float ValueOf(uint64_t rank, uint64_t column) {
  return static_cast<float>((rank * 31 + column * 17) & 1023) * (1.0f / 1024);
}

// `count` ranks below `rows`, a function of all arguments. "uniform": all alike. "power": rank r as
// often as (r + 1)^-1.2 says, exactly.
std::vector<uint64_t> MakeRanks(const std::string& distribution, uint64_t rows, size_t count,
                                uint64_t seed);

// A case is named "power-2000": the distribution and the number of keys a batch. Then maybe "-two",
// for two callers at once, or "-5x", for five times as many rows as the program was told.
struct KeyCase {
  explicit KeyCase(const std::string& name);
  std::string distribution;
  size_t batch = 0;
  size_t callers = 1;
  size_t times_rows = 1;
};

// How many keys a round looks up or updates, as whole batches: enough that no cache holds them,
// little enough that no round takes a second.
size_t KeysARound(size_t batch, size_t rows);

// What the sides compare: a plain sum and one in which the order counts.
std::vector<double> CheckSums(const std::vector<float>& rows);

}  // namespace catamaran::bench
