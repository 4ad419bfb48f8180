#include "catamaran/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace catamaran {
namespace {

uint32_t Plain(std::string_view text, uint32_t crc = 0) {
  return Crc32cPlain(std::as_bytes(std::span(text.data(), text.size())), crc);
}

// The first from the catalogue of checksums, the others from RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedValues) {
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  for (const auto crc : {+[](std::string_view t) { return Crc32c(t); },
                         +[](std::string_view t) { return Plain(t); }}) {
    EXPECT_EQ(crc(""), 0u);
    EXPECT_EQ(crc("123456789"), 0xE3069283u);
    EXPECT_EQ(crc(std::string(32, '\0')), 0x8A9136AAu);
    EXPECT_EQ(crc(std::string(32, '\xFF')), 0x62A8AB43u);
    EXPECT_EQ(crc(rising), 0x46DD794Eu);
  }
}

TEST(Crc32c, BothWaysAgreeAtEveryLengthAndInParts) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += static_cast<char>(i * 37);
    EXPECT_EQ(Crc32c(text), Plain(text));
    for (size_t cut = 0; cut <= text.size(); cut += 7) {
      const std::string_view all = text;
      EXPECT_EQ(Crc32c(all.substr(cut), Crc32c(all.substr(0, cut))), Crc32c(all));
      EXPECT_EQ(Plain(all.substr(cut), Plain(all.substr(0, cut))), Crc32c(all));
    }
  }
}

// Long texts are computed in several streams.
TEST(Crc32c, BothWaysAgreeOnLongTexts) {
  std::string text;
  for (uint32_t i = 0; i < 70'000; ++i) text += static_cast<char>((i * 2654435761u) >> 24);
  const std::string_view all = text;
  for (const size_t length : {3071u, 3072u, 3073u, 6143u, 6144u, 10'007u, 65'536u, 69'990u}) {
    for (const size_t from : {0u, 1u, 3u, 8u}) {
      EXPECT_EQ(Crc32c(all.substr(from, length), 12345), Plain(all.substr(from, length), 12345))
          << length << " bytes from " << from;
    }
  }
}

TEST(Crc32c, EveryFlippedBitIsSeen) {
  std::string text = "a record of some length, to be stored";
  const uint32_t crc = Crc32c(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(Crc32c(text), crc);
    text[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace catamaran
