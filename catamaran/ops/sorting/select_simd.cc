#include "catamaran/ops/sorting/select_simd.h"

#include <cstdint>

namespace catamaran::CATAMARAN_ISA {
namespace {

template <bool kAbove, class T>
inline bool Passes(T v, T bound) {
  return kAbove ? !(v <= bound) : !(v >= bound);
}

template <bool kAbove, class T>
int64_t Next(const T* x, int64_t from, int64_t n, T bound) {
  constexpr int64_t w = 256 / static_cast<int64_t>(sizeof(T));
  int64_t i = from;
  for (; n - i >= w; i += w) {
    int some = 0;
    for (int64_t k = 0; k < w; ++k) some |= Passes<kAbove>(x[i + k], bound);
    if (some) break;
  }
  while (i < n && !Passes<kAbove>(x[i], bound)) ++i;
  return i;
}

}  // namespace

extern const SelectFunctions kSelectFunctions;
const SelectFunctions kSelectFunctions = {
    {Next<true, float>, Next<false, float>},
    {Next<true, double>, Next<false, double>},
    {Next<true, int32_t>, Next<false, int32_t>},
    {Next<true, int64_t>, Next<false, int64_t>},
};

}  // namespace catamaran::CATAMARAN_ISA
