#include "catamaran/exec/table_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catamaran/exec/setting_values.h"
#include "catamaran/exec/test_program.h"
#include "catamaran/table/sketch.h"

namespace catamaran {
namespace {

using test::FlatProgram;
using testing::HasSubstr;

TableDeclaration Declared(const std::string& settings) {
  const Program flat =
      FlatProgram("program p\ntable @t : u64 -> f32[4] = normal(std=0.1) {\n" + settings + "\n}\n");
  return TableDeclarationOf(*flat.States()[0], 5, flat.sources());
}

std::string MessageOf(const std::string& settings) {
  try {
    Declared(settings);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TableSettings, ATableThatDeclaresNothingKeepsEveryKeyInMemory) {
  const TableDeclaration made = Declared("");
  EXPECT_EQ(made.config.store, RowStore::kF32);
  EXPECT_EQ(made.config.admit.kind, TableAdmit::Kind::kNone);
  EXPECT_FALSE(made.config.expire.any());
  EXPECT_FALSE(made.config.grow_at.has_value());
  EXPECT_TRUE(made.config.features.empty());
  EXPECT_EQ(made.home.kind, TableHome::Kind::kMemory);
}

TEST(TableSettings, EverySettingReachesTheConfiguration) {
  const TableDeclaration made = Declared(R"(  optimizer  = adam(lr=0.01)
  store      = int8
  admit      = count(3, days=7)
  unadmitted = shared
  score      = weights(show=0.1, click=2, half_life_days=7)
  expire     = [unseen(days=30), score(below=0.5), bytes("8GB")]
  grow_at    = 2.5
  features   = [user, item, "shop id"]
  home       = disk(memory="4GiB"))");
  const TableConfig& config = made.config;
  EXPECT_EQ(config.store, RowStore::kInt8);
  EXPECT_EQ(config.admit.kind, TableAdmit::Kind::kCount);
  EXPECT_EQ(config.admit.count, 3);
  EXPECT_EQ(config.admit.time_to_live, 7 * kNanosecondsPerDay);
  EXPECT_EQ(config.unadmitted, Unadmitted::kShared);
  EXPECT_EQ(config.score.show_weight, 0.1);
  EXPECT_EQ(config.score.click_weight, 2);
  EXPECT_EQ(config.score.half_life, 7 * kNanosecondsPerDay);
  EXPECT_EQ(config.expire.unseen, 30 * kNanosecondsPerDay);
  EXPECT_EQ(config.expire.min_score, 0.5);
  EXPECT_EQ(config.expire.max_bytes, 8'000'000'000);
  EXPECT_EQ(config.grow_at, 2.5);
  EXPECT_EQ(config.features, (std::vector<std::string>{"user", "item", "shop id"}));
  EXPECT_EQ(made.home.kind, TableHome::Kind::kDisk);
  EXPECT_EQ(made.home.memory_bytes, int64_t{4} << 30);
}

TEST(TableSettings, OtherSpellings) {
  EXPECT_EQ(Declared("store = bf16").config.store, RowStore::kBf16);
  EXPECT_EQ(Declared("store = f32").config.store, RowStore::kF32);
  const TableAdmit sketch = Declared("admit = sketch(3, bytes=\"1MiB\", hours=12)").config.admit;
  EXPECT_EQ(sketch.kind, TableAdmit::Kind::kSketch);
  EXPECT_EQ(sketch.count, 3);
  EXPECT_EQ(sketch.sketch_bytes, 1 << 20);
  EXPECT_EQ(sketch.window, kNanosecondsPerDay / 2);
  EXPECT_EQ(Declared("admit = probability(0.25)").config.admit.probability, 0.25);
  EXPECT_EQ(Declared("admit = all").config.admit.kind, TableAdmit::Kind::kNone);
  EXPECT_EQ(Declared("expire = bytes(1000000)").config.expire.max_bytes, 1'000'000);
  EXPECT_EQ(Declared("expire = score(-1)").config.expire.min_score, -1);
  EXPECT_FALSE(Declared("expire = never").config.expire.any());
  EXPECT_EQ(Declared("home = memory").home.kind, TableHome::Kind::kMemory);
}

TEST(TableSettings, TheExampleOfTheDocumentationDeclaresATable) {
  const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
  std::ifstream file(std::string(root ? root : ".") + "/docs/tables.md");
  std::stringstream page;
  page << file.rdbuf();
  constexpr std::string_view kOpen = "```ctm\n";
  const size_t begin = page.str().find(kOpen);
  ASSERT_NE(begin, std::string::npos);
  const size_t text = begin + kOpen.size();
  const Program flat = FlatProgram(page.str().substr(text, page.str().find("```", text) - text));
  const TableConfig config = TableConfigOf(*flat.States()[0], 5, flat.sources());
  EXPECT_EQ(config.store, RowStore::kBf16);
  EXPECT_EQ(config.features.size(), 2u);
}

TEST(TableSettings, SizesHaveUnits) {
  EXPECT_EQ(ParseBytes(Attr("1.5KB")), 1500);
  EXPECT_EQ(ParseBytes(Attr("2 MiB")), 2 << 20);
  EXPECT_EQ(ParseBytes(Attr("12")), 12);
  EXPECT_EQ(ParseBytes(Attr(int64_t{12})), 12);
  for (const char* wrong : {"", "GB", "1 parsec", "-3MB", "8gb"}) {
    EXPECT_THROW(ParseBytes(Attr(wrong)), Error) << wrong;
  }
}

TEST(TableSettings, MistakesNameTheLineOfTheSetting) {
  EXPECT_EQ(MessageOf("  store = f32\n  admit = often(3)"),
            "test.ctm:4: table @t: admit: found often; wanted count(n), probability(p), sketch(n, "
            "bytes=…) or all");
  EXPECT_EQ(MessageOf("  admit = sketch(3)"),
            "test.ctm:3: table @t: admit: sketch: wanted bytes=…, how much memory it takes");
  EXPECT_EQ(MessageOf("\n\n  home = disk(bytes=3)"),
            "test.ctm:5: table @t: home: disk has no argument bytes; it has memory");
  EXPECT_THAT(MessageOf("store = f64"), HasSubstr("found f64; wanted f32, bf16 or int8"));
  EXPECT_THAT(MessageOf("expire = [unseen(days=1), unseen(days=2)]"),
              HasSubstr("unseen is given twice"));
  EXPECT_THAT(MessageOf("expire = unseen()"), HasSubstr("wanted a time"));
  EXPECT_THAT(MessageOf("expire = bytes(\"many\")"), HasSubstr("wanted a size such as"));
  EXPECT_THAT(MessageOf("features = user"), HasSubstr("wanted a list of names"));
  EXPECT_THAT(MessageOf("features = [user, user]"), HasSubstr("feature user is named twice"));
  EXPECT_THAT(MessageOf("score = weights(shows=1)"), HasSubstr("no argument shows; it has show"));
  EXPECT_THAT(MessageOf("admit = sketch(3, bytes=1000)"), HasSubstr("wants at least 131072 bytes"));
  EXPECT_THAT(MessageOf("color = blue"), HasSubstr("no such setting; there are optimizer, store"));
}

}  // namespace
}  // namespace catamaran
