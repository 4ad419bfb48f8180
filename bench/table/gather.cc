// The compiler makes the variants, as in bench/stream.cc.

#pragma GCC optimize("O3")

#include "bench/table/gather.h"

#include <cstring>

#if defined(__x86_64__)
#define CATAMARAN_EVERY_ISA __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CATAMARAN_EVERY_ISA
#endif

namespace catamaran::bench {
namespace {

struct Sixteen {
  float v[16];
};

template <int kLevel>
inline __attribute__((always_inline)) void Ask(const GatherMemory& m, GatherPlace place,
                                               bool write) {
  constexpr int kLocality = kLevel == 1 ? 3 : 2;
  __builtin_prefetch(m.index + kLine * place.index_line, 0, kLocality);
  const char* row = m.rows + kLine * m.lines_a_row * place.row;
  for (size_t line = 0; line < m.lines_a_row; ++line) {
    if (write && kLevel == 1) {
      __builtin_prefetch(row + kLine * line, 1, kLocality);
    } else {
      __builtin_prefetch(row + kLine * line, 0, kLocality);
    }
  }
}

inline __attribute__((always_inline)) uint64_t IndexWord(const GatherMemory& m, GatherPlace p) {
  uint64_t word;
  std::memcpy(&word, m.index + kLine * p.index_line, 8);
  return word;
}

template <size_t kFloats, int kLevel>
inline __attribute__((always_inline)) uint64_t GatherRows(const GatherMemory& m,
                                                          const GatherPlace* places, size_t count,
                                                          size_t ahead, float* out) {
  const size_t floats = kFloats > 0 ? kFloats : m.floats;
  uint64_t sum = 0;
  for (size_t i = 0; i < ahead && i < count; ++i) Ask<kLevel>(m, places[i], false);
  for (size_t i = 0; i < count; ++i) {
    if (i + ahead < count) Ask<kLevel>(m, places[i + ahead], false);
    sum += IndexWord(m, places[i]);
    const char* row = m.rows + kLine * m.lines_a_row * places[i].row;
    uint32_t sequence;
    std::memcpy(&sequence, row, 4);
    sum += sequence;
    std::memcpy(out + i * floats, row + 4, 4 * floats);
  }
  return sum;
}

template <int kLevel>
inline __attribute__((always_inline)) uint64_t GatherAny(const GatherMemory& m,
                                                         const GatherPlace* places, size_t count,
                                                         size_t ahead, float* out) {
  if (m.floats == 16) return GatherRows<16, kLevel>(m, places, count, ahead, out);
  if (m.floats == 8) return GatherRows<8, kLevel>(m, places, count, ahead, out);
  return GatherRows<0, kLevel>(m, places, count, ahead, out);
}

template <int kLevel>
inline __attribute__((always_inline)) uint64_t ModifyRows(const GatherMemory& m,
                                                          const GatherPlace* places, size_t count,
                                                          size_t ahead) {
  const size_t floats = m.floats + m.slot_floats;
  uint64_t sum = 0;
  for (size_t i = 0; i < ahead && i < count; ++i) Ask<kLevel>(m, places[i], true);
  for (size_t i = 0; i < count; ++i) {
    if (i + ahead < count) Ask<kLevel>(m, places[i + ahead], true);
    sum += IndexWord(m, places[i]);
    char* row = m.rows + kLine * m.lines_a_row * places[i].row;
    uint32_t sequence;
    std::memcpy(&sequence, row, 4);
    sequence += 2;
    std::memcpy(row, &sequence, 4);
    size_t j = 0;
    for (; j + 16 <= floats; j += 16) {
      Sixteen x;
      std::memcpy(&x, row + 4 + 4 * j, sizeof(x));
      for (float& v : x.v) v = v * 0.5f + 1.0f;
      std::memcpy(row + 4 + 4 * j, &x, sizeof(x));
    }
    for (; j < floats; ++j) {
      float v;
      std::memcpy(&v, row + 4 + 4 * j, 4);
      v = v * 0.5f + 1.0f;
      std::memcpy(row + 4 + 4 * j, &v, 4);
    }
  }
  return sum;
}

}  // namespace

CATAMARAN_EVERY_ISA
uint64_t Gather(const GatherMemory& memory, const GatherPlace* places, size_t count, Asking asking,
                float* out) {
  const GatherMemory m = memory;
  return asking.level == 1 ? GatherAny<1>(m, places, count, asking.ahead, out)
                           : GatherAny<2>(m, places, count, asking.ahead, out);
}

CATAMARAN_EVERY_ISA
uint64_t Modify(const GatherMemory& memory, const GatherPlace* places, size_t count,
                Asking asking) {
  const GatherMemory m = memory;
  return asking.level == 1 ? ModifyRows<1>(m, places, count, asking.ahead)
                           : ModifyRows<2>(m, places, count, asking.ahead);
}

}  // namespace catamaran::bench
