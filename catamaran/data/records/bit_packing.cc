#include "catamaran/data/records/bit_packing.h"

#include <cstring>

namespace catamaran {
namespace {

template <class Word>
void Pack(std::span<const Word> numbers, int width, std::string& out) {
  constexpr int kBits = 8 * sizeof(Word);
  constexpr size_t kWords = kPackedLine / sizeof(Word);
  const size_t begin = out.size();
  out.resize(begin + PackedBytes(numbers.size(), width, kBits), '\0');
  if (width == 0) return;
  const auto merge = [&](size_t line, size_t word, Word bits) {
    char* at = out.data() + begin + line * kPackedLine + word * sizeof(Word);
    Word there;
    std::memcpy(&there, at, sizeof(Word));
    there |= bits;
    std::memcpy(at, &there, sizeof(Word));
  };
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t bit = i / kWords * static_cast<size_t>(width);
    const size_t line = bit / kBits;
    const int shift = static_cast<int>(bit % kBits);
    merge(line, i % kWords, numbers[i] << shift);
    if (shift + width > kBits) merge(line + 1, i % kWords, numbers[i] >> (kBits - shift));
  }
}

}  // namespace

void Pack64(std::span<const uint64_t> numbers, int width, std::string& out) {
  Pack(numbers, width, out);
}

void Pack32(std::span<const uint32_t> numbers, int width, std::string& out) {
  Pack(numbers, width, out);
}

UnpackKernels FindUnpackKernels([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa >= Isa::kAvx512) return avx512::GetUnpackKernels();
  if (isa >= Isa::kAvx2) return avx2::GetUnpackKernels();
#endif
  return plain::GetUnpackKernels();
}

}  // namespace catamaran
