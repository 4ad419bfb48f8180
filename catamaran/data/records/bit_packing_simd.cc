#include "catamaran/data/records/bit_packing_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int kLineBytes = 64;

template <class Word>
struct Lines {
  typedef Word Line __attribute__((vector_size(kLineBytes)));
  static constexpr int kBits = 8 * sizeof(Word);
  static constexpr int64_t kWords = kLineBytes / sizeof(Word);

  // Calls store(k, line) for line k of the numbers, from the first to the last.
  template <class Store>
  static void ForEach(const std::byte* lines, int64_t count, int width, Store store) {
    const int64_t n = (count + kWords - 1) / kWords;
    if (width == 0) {
      for (int64_t k = 0; k < n; ++k) store(k, Line{});
      return;
    }
    const Word mask = static_cast<Word>(~Word{0}) >> (kBits - width);
    int shift = 0;
    for (int64_t k = 0; k < n; ++k) {
      Line line;
      __builtin_memcpy(&line, lines, kLineBytes);
      line >>= shift;
      shift += width;
      if (shift >= kBits) {
        lines += kLineBytes;
        shift -= kBits;
        if (shift > 0) {
          Line next;
          __builtin_memcpy(&next, lines, kLineBytes);
          line |= next << (width - shift);
        }
      }
      store(k, line & mask);
    }
  }
};

void UnpackInts(const std::byte* lines, int64_t count, int width, int64_t base,
                int64_t* __restrict out) {
  using Words = Lines<uint64_t>;
  Words::ForEach(lines, count, width, [&](int64_t k, Words::Line line) {
    line += static_cast<uint64_t>(base);
    __builtin_memcpy(out + k * Words::kWords, &line, kLineBytes);
  });
}

void UnpackDeltas(const std::byte* lines, int64_t count, int width, int64_t base,
                  const int64_t* before, int64_t* __restrict out) {
  using Words = Lines<uint64_t>;
  Words::Line sum;
  __builtin_memcpy(&sum, before, kLineBytes);
  Words::ForEach(lines, count, width, [&](int64_t k, Words::Line line) {
    sum += line + static_cast<uint64_t>(base);
    __builtin_memcpy(out + k * Words::kWords, &sum, kLineBytes);
  });
}

void UnpackWords(const std::byte* lines, int64_t count, int width, uint32_t base,
                 uint32_t* __restrict out) {
  using Words = Lines<uint32_t>;
  Words::ForEach(lines, count, width, [&](int64_t k, Words::Line line) {
    line += base;
    __builtin_memcpy(out + k * Words::kWords, &line, kLineBytes);
  });
}

void UnpackFloats(const std::byte* lines, int64_t count, int width, int32_t base,
                  float* __restrict out) {
  using Words = Lines<uint32_t>;
  typedef int32_t Signed __attribute__((vector_size(kLineBytes)));
  typedef float Floats __attribute__((vector_size(kLineBytes)));
  Words::ForEach(lines, count, width, [&](int64_t k, Words::Line line) {
    line += static_cast<uint32_t>(base);
    const Floats values = __builtin_convertvector(reinterpret_cast<Signed>(line), Floats);
    __builtin_memcpy(out + k * Words::kWords, &values, kLineBytes);
  });
}

void Multiples(int64_t count, int32_t step, int32_t* __restrict out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<int32_t>(static_cast<uint32_t>(i + 1) * static_cast<uint32_t>(step));
  }
}

}  // namespace

UnpackKernels GetUnpackKernels() {
  return {.ints = UnpackInts,
          .deltas = UnpackDeltas,
          .words = UnpackWords,
          .floats = UnpackFloats,
          .multiples = Multiples};
}

}  // namespace catamaran::CATAMARAN_ISA
