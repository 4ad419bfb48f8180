#include "catamaran/ir/type_parser.h"

#include <gtest/gtest.h>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

TEST(TypeParser, ReadsBackWhatTypesPrint) {
  for (const char* text :
       {"f32[]", "f64[B]", "bf16[B, 16]", "u64[B, 26]", "bool[B, *T, 16]", "rows<f32[16]>",
        "stack<stack<i8[H, W]>>", "chan<f32[8]>", "f16[2*B+1, (H+1)/2, B*T]", "i32[2*(B/3)]"}) {
    EXPECT_EQ(ParseType(text).ToString(), text);
  }
}

TEST(TypeParser, DimensionsAreCanonical) {
  EXPECT_EQ(ParseDim("(B + 1) * 2 - 2"), ParseDim("B*2"));
  EXPECT_EQ(ParseDim("-3 + 1_000"), Dim(997));
  EXPECT_EQ(ParseDim("8*B/4"), Dim::Name("B") * 2);
  EXPECT_EQ(ParseDims("[B, 416]"), (std::vector<Dim>{Dim::Name("B"), 416}));
  EXPECT_EQ(ParseDims("B, 416"), (std::vector<Dim>{Dim::Name("B"), 416}));
  EXPECT_TRUE(ParseDims("[]").empty());
}

TEST(TypeParser, QuestionMarksAreFreshNames) {
  uint32_t next = 4;
  EXPECT_EQ(ParseType("f32[?, ?]", &next),
            Type::Tensor(DType::kF32, {Dim::Name("?4"), Dim::Name("?5")}));
  EXPECT_EQ(next, 6u);
}

TEST(TypeParser, MistakesShowTheTextAndThePlace) {
  const auto message = [](const char* text) -> std::string {
    try {
      ParseType(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("f32[B, 16"), "\"f32[B, 16\": wanted ']' at column 10");
  EXPECT_EQ(message("f32"), "\"f32\": wanted dimensions (f32[] is a scalar) at column 4");
  EXPECT_EQ(message("f33[B]"),
            "\"f33[B]\": there is no dtype f33; wanted f64, f32, f16, bf16, i8, u8, i32, i64, u64 "
            "or bool at column 1");
  EXPECT_EQ(message("f32[B] x"), "\"f32[B] x\": wanted the end at column 8");
  for (const char* text : {"", "[", "f32[,]", "f32[*T]", "f32[B, T, *S]", "f32[B, *2]", "f32[-1]",
                           "f32[B/0]", "f32[99999999999999999999]", "f32[?]", "rows<f32[B, *T]>",
                           "stack<f32[]", "f32[1,1,1,1,1,1,1,1,1]", "f32[9223372036854775807+1]"}) {
    EXPECT_THROW(ParseType(text), Error) << text;
  }
  EXPECT_THROW(ParseDim(std::string(100'000, '(')), Error);
  EXPECT_THROW(ParseDim(std::string(100'000, '-')), Error);
}

}  // namespace
}  // namespace catamaran
