// data/pipeline/shuffle.h
//
// Random orders that are a function of a key, the same on every machine.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "catamaran/base/hash.h"

namespace catamaran {

// Every order is as probable as any other, as far as 64 bits of key can tell them apart.
template <class T>
void Shuffle(uint64_t key, std::span<T> items) {
  for (size_t i = items.size(); i > 1; --i) {
    // A random number below i: the high word of a product.
    const auto wide = static_cast<unsigned __int128>(HashCombine(key, i)) * i;
    std::swap(items[i - 1], items[static_cast<size_t>(wide >> 64)]);
  }
}

}  // namespace catamaran
