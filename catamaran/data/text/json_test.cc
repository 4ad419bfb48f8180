#include "catamaran/data/text/json.h"

#include <gtest/gtest.h>

#include <string>

#include "catamaran/data/text/utf8.h"

namespace catamaran {
namespace {

TEST(Json, ValuesStandInTheOrderOfTheText) {
  JsonDocument json;
  ASSERT_TRUE(json.Parse(R"( {"a": [1, -2.5e3, true], "b": {"c": null}} )"));
  const auto& nodes = json.nodes();
  ASSERT_EQ(nodes.size(), 10u);
  EXPECT_EQ(nodes[0].kind, JsonKind::kObject);
  EXPECT_EQ(nodes[0].count, 2u);
  EXPECT_EQ(nodes[0].end, 10u);
  EXPECT_EQ(nodes[1].text, "a");
  EXPECT_EQ(nodes[2].count, 3u);
  EXPECT_EQ(nodes[2].end, 6u);
  EXPECT_EQ(nodes[2].text, "[1, -2.5e3, true]");
  EXPECT_TRUE(nodes[3].integer);
  EXPECT_FALSE(nodes[4].integer);
  EXPECT_EQ(nodes[4].text, "-2.5e3");
  EXPECT_EQ(nodes[5].kind, JsonKind::kTrue);
  EXPECT_EQ(nodes[9].kind, JsonKind::kNull);
}

TEST(Json, StringsAreUnescaped) {
  JsonDocument json;
  ASSERT_TRUE(
      json.Parse(R"(["plain", "\"\\\/\b\f\n\r\t", "\u00e9\u20AC\ud83d\ude00\u0000", "é"])"));
  EXPECT_EQ(json.nodes()[1].text, "plain");
  EXPECT_EQ(json.nodes()[2].text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json.nodes()[3].text, std::string_view("é€😀\0", 10));
  EXPECT_EQ(json.nodes()[4].text, "é");
}

TEST(Json, WhatTheStandardDoesNotKnowIsRefused) {
  JsonDocument json;
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "}",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "{a:1}",
                                 "{'a':1}",
                                 "[1 2]",
                                 "01",
                                 "-",
                                 "1.",
                                 ".5",
                                 "+1",
                                 "1e",
                                 "NaN",
                                 "Infinity",
                                 "tru",
                                 "nul",
                                 "truex",
                                 "\"a",
                                 "\"\\x\"",
                                 "\"\\u12g4\"",
                                 "\"\\ud800\"",
                                 "\"\\udc00\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\t\"",
                                 "\"\x7f\xff\"",
                                 "1 2",
                                 "[1]//",
                                 "{\"a\" 1}",
                                 "{\"a\":}",
                                 "[,1]",
                                 "\xef\xbb\xbf{}"}) {
    EXPECT_FALSE(json.Parse(text)) << text;
    EXPECT_NE(json.error(), "") << text;
  }
}

TEST(Json, ErrorsSayWhere) {
  JsonDocument json;
  EXPECT_FALSE(json.Parse(R"({"a": 1, "b" 2})"));
  EXPECT_EQ(json.error_offset(), 13u);
  EXPECT_EQ(json.error(), "found '2' where ':' should stand");
  EXPECT_FALSE(json.Parse("[1, "));
  EXPECT_EQ(json.error(), "the text ends where a value should stand");
}

TEST(Json, NestingHasALimit) {
  JsonDocument json;
  const size_t limit = JsonDocument::kMaxDepth;
  EXPECT_TRUE(json.Parse(std::string(limit, '[') + std::string(limit, ']')));
  EXPECT_FALSE(json.Parse(std::string(limit + 1, '[') + std::string(limit + 1, ']')));
  EXPECT_FALSE(json.Parse(std::string(10'000'000, '[')));
  EXPECT_EQ(json.error(), "nested deeper than 64");
}

TEST(Utf8, EveryCodePointIsKnownAndNothingElse) {
  std::string all;
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code < 0xd800 || code > 0xdfff) AppendUtf8(code, &all);
  }
  EXPECT_EQ(FindBadUtf8(all), all.size());
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xf0\x9f\x98"}) {
    EXPECT_EQ(FindBadUtf8("abcdefgh" + std::string(bad)), 8u);
    EXPECT_EQ(FindBadUtf8(std::string(bad) + "abcdefgh"), 0u);
  }
}

}  // namespace
}  // namespace catamaran
