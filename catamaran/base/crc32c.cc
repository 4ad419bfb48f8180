#include "catamaran/base/crc32c.h"

#include <array>
#include <cstring>

namespace catamaran {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78u;  // bits reversed: the lowest bit goes first

// kTables[k][b] is what byte b contributes when k more bytes follow it, so that eight bytes can be
// looked up at once.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t crc = tables[k - 1][b];
      tables[k][b] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

#if defined(__x86_64__)
// The instruction takes a word in each cycle but needs three to be done with it, so three streams
// of this many bytes are computed side by side and then joined.
constexpr size_t kStream = 1024;

// What a state becomes when kStream zero bytes follow it is linear in its bits: the sum (xor) of
// what its four bytes become, each looked up.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr Shift MakeShift() {
  using Matrix = std::array<uint32_t, 32>;  // what each bit becomes
  const auto apply = [](const Matrix& matrix, uint32_t bits) {
    uint32_t sum = 0;
    for (size_t i = 0; bits != 0; ++i, bits >>= 1) sum ^= (bits & 1) != 0 ? matrix[i] : 0;
    return sum;
  };
  Matrix matrix{};  // of one byte
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t bit = uint32_t{1} << i;
    matrix[i] = (bit >> 8) ^ kTables[0][bit & 0xFF];
  }
  for (size_t bytes = 1; bytes < kStream; bytes *= 2) {
    Matrix twice{};
    for (size_t i = 0; i < 32; ++i) twice[i] = apply(matrix, matrix[i]);
    matrix = twice;
  }
  Shift shift{};
  for (size_t k = 0; k < 4; ++k) {
    for (uint32_t b = 0; b < 256; ++b) shift[k][b] = apply(matrix, b << (8 * k));
  }
  return shift;
}

constexpr Shift kShift = MakeShift();

uint32_t AfterStream(uint32_t state) {
  return kShift[0][state & 0xFF] ^ kShift[1][state >> 8 & 0xFF] ^ kShift[2][state >> 16 & 0xFF] ^
         kShift[3][state >> 24];
}

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::span<const std::byte> bytes,
                                                       uint32_t crc) {
  const auto word = [](const std::byte* p) {
    uint64_t value;
    std::memcpy(&value, p, 8);
    return value;
  };
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  uint64_t state = ~crc;
  for (; left >= 3 * kStream; p += 3 * kStream, left -= 3 * kStream) {
    uint64_t second = 0, third = 0;
    for (const std::byte* q = p; q < p + kStream; q += 8) {
      state = __builtin_ia32_crc32di(state, word(q));
      second = __builtin_ia32_crc32di(second, word(q + kStream));
      third = __builtin_ia32_crc32di(third, word(q + 2 * kStream));
    }
    second ^= AfterStream(static_cast<uint32_t>(state));
    state = third ^ AfterStream(static_cast<uint32_t>(second));
  }
  for (; left >= 8; p += 8, left -= 8) state = __builtin_ia32_crc32di(state, word(p));
  uint32_t narrow = static_cast<uint32_t>(state);
  for (; left > 0; ++p, --left) narrow = __builtin_ia32_crc32qi(narrow, static_cast<uint8_t>(*p));
  return ~narrow;
}
#endif

}  // namespace

uint32_t Crc32cPlain(std::span<const std::byte> bytes, uint32_t crc) {
  const auto at = [&](size_t i) { return static_cast<uint32_t>(bytes[i]); };
  crc = ~crc;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    crc ^= at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    crc = kTables[7][crc & 0xFF] ^ kTables[6][crc >> 8 & 0xFF] ^ kTables[5][crc >> 16 & 0xFF] ^
          kTables[4][crc >> 24] ^ kTables[3][at(i + 4)] ^ kTables[2][at(i + 5)] ^
          kTables[1][at(i + 6)] ^ kTables[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) crc = (crc >> 8) ^ kTables[0][(crc ^ at(i)) & 0xFF];
  return ~crc;
}

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return Crc32cSse42(bytes, crc);
#endif
  return Crc32cPlain(bytes, crc);
}

}  // namespace catamaran
