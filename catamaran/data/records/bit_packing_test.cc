#include "catamaran/data/records/bit_packing.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace catamaran {
namespace {

std::vector<Isa> Isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= DetectIsa()) isas.push_back(isa);
  }
  return isas;
}

constexpr size_t kCounts[] = {0, 1, 7, 8, 9, 15, 16, 17, 100, 512, 1000};

std::string Pack(std::span<const uint64_t> numbers, int width) {
  std::string out;
  Pack64(numbers, width, out);
  return out;
}
std::string Pack(std::span<const uint32_t> numbers, int width) {
  std::string out;
  Pack32(numbers, width, out);
  return out;
}

// Random numbers of that width, the largest among them.
template <class Word>
std::vector<Word> Numbers(size_t count, int width) {
  std::mt19937_64 random(count * 100 + static_cast<size_t>(width));
  std::vector<Word> numbers(count);
  const Word mask = width == 0 ? 0 : static_cast<Word>(~Word{0}) >> (8 * sizeof(Word) - width);
  for (Word& number : numbers) number = static_cast<Word>(random()) & mask;
  if (count > 0) numbers[count / 2] = mask;
  return numbers;
}

// The bytes at the end of a heap block of their own, so that sanitizers see what is read beyond.
std::vector<std::byte> Exact(const std::string& bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  return {all.begin(), all.end()};
}

TEST(BitPacking, NumbersOfEveryWidthComeBackOnEveryInstructionSet) {
  for (Isa isa : Isas()) {
    const UnpackKernels kernels = FindUnpackKernels(isa);
    for (size_t count : kCounts) {
      for (int width = 0; width <= 64; ++width) {
        const auto numbers = Numbers<uint64_t>(count, width);
        const auto packed = Exact(Pack(std::span<const uint64_t>(numbers), width));
        ASSERT_EQ(packed.size(), PackedBytes(count, width, 64));
        std::vector<int64_t> out(count + 8);
        kernels.ints(packed.data(), static_cast<int64_t>(count), width, -5, out.data());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(out[i], static_cast<int64_t>(numbers[i] - 5)) << width << " bits, " << i;
        }
      }
      for (int width = 0; width <= 32; ++width) {
        const auto numbers = Numbers<uint32_t>(count, width);
        const auto packed = Exact(Pack(std::span<const uint32_t>(numbers), width));
        ASSERT_EQ(packed.size(), PackedBytes(count, width, 32));
        std::vector<uint32_t> out(count + 16);
        kernels.words(packed.data(), static_cast<int64_t>(count), width, 7, out.data());
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], numbers[i] + 7) << width;
        if (width > 24) continue;
        std::vector<float> floats(count + 16);
        kernels.floats(packed.data(), static_cast<int64_t>(count), width, -100, floats.data());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(floats[i], static_cast<float>(static_cast<int64_t>(numbers[i]) - 100));
        }
      }
    }
  }
}

TEST(BitPacking, DeltasAreAddedToTheNumberEightBefore) {
  for (Isa isa : Isas()) {
    const auto deltas = Numbers<uint64_t>(100, 9);
    const auto packed = Exact(Pack(std::span<const uint64_t>(deltas), 9));
    std::vector<int64_t> all = {10, 20, 30, 40, 50, 60, 70, INT64_MAX};
    const std::vector<int64_t> before = all;
    for (size_t i = 0; i < deltas.size(); ++i) {
      all.push_back(static_cast<int64_t>(static_cast<uint64_t>(all[i]) + deltas[i] - 3));
    }
    std::vector<int64_t> out(104);
    FindUnpackKernels(isa).deltas(packed.data(), 100, 9, -3, before.data(), out.data());
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(out[i], all[i + 8]) << i;
  }
}

TEST(BitPacking, SixtyFourBitsAreTheNumbersThemselves) {
  const auto numbers = Numbers<uint64_t>(16, 64);
  const std::string packed = Pack(std::span<const uint64_t>(numbers), 64);
  EXPECT_EQ(packed, std::string(reinterpret_cast<const char*>(numbers.data()), 128));
}

}  // namespace
}  // namespace catamaran
