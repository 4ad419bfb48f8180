// bench/table/row_maps.h
//
// Hash maps of others that hold the same rows as the table, filled and asked as well as their
// interfaces allow.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace catamaran::bench {

inline constexpr size_t kMapWidth = 16;
using MapRow = std::array<float, kMapWidth>;

class RowMap {
 public:
  virtual ~RowMap() = default;
  virtual void Insert(uint64_t key, const MapRow& row) = 0;
  // Copies the rows of `count` keys to `out`, one after another. All keys are there.
  virtual void Lookup(const uint64_t* keys, size_t count, float* out) const = 0;

  // A map that can fetch what keys need before they are looked up is asked for it so many keys
  // ahead; 0, as at first: it is not asked.
  virtual bool CanAskAhead() const { return false; }
  virtual void AskAhead(size_t) {}
};

// "absl", "cuckoo" or "std", with room for `rows`. Throws SkipCase when the library is not
// installed.
std::unique_ptr<RowMap> MakeRowMap(const std::string& name, size_t rows);
std::string RowMapVersion(const std::string& name);

}  // namespace catamaran::bench
