#include "catamaran/train/feed.h"

#include <gmock/gmock.h>

#include "catamaran/data/data_test_util.h"
#include "catamaran/train/train_test_util.h"

namespace catamaran {
namespace {

using ::catamaran::testing::FlatFrom;
using ::catamaran::testing::MessageOf;
using ::testing::HasSubstr;

// One row: a = 1.5, k = 7, image = 6 bytes, items = {11, 12}, tags = {5: 0.5}.
Schema AllKinds() {
  return Schema({Column::Dense("a"), Column::Dense("k", DType::kI64),
                 Column::Dense("image", DType::kU8, {2, 3}), Column::Ids("items"),
                 Column::WeightedIds("tags"), Column::String("title")});
}

RowBlock Rows(int64_t n) {
  RowBlock rows(AllKinds());
  for (int64_t r = 0; r < n; ++r) {
    rows[0].floats.push_back(1.5f + static_cast<float>(r));
    rows[1].ints.push_back(7 + r);
    for (int i = 0; i < 6; ++i) rows[2].bytes.push_back(static_cast<uint8_t>(i + 10 * r));
    for (int64_t i = 0; i <= r % 2; ++i) rows[3].ints.push_back(11 + i);
    rows[3].EndList();
    rows[4].ints.push_back(5);
    rows[4].floats.push_back(0.5f);
    rows[4].EndList();
    for (const char c : std::string("ab")) rows[5].bytes.push_back(static_cast<uint8_t>(c));
    rows[5].EndList();
    rows.FinishRow();
  }
  return rows;
}

struct Bound {
  Program flat;
  FeedBinding binding;
  Feeder feeder{binding};

  Bound(const std::string& arguments, FeedOptions options = {})
      : flat(FlatFrom("program t\nfn f(" + arguments + ") -> f32[] { return 1.0 }\n")),
        binding(flat, *flat.items.FindFunction("f"), AllKinds(), std::move(options)) {}
};

TEST(Feed, DenseColumnsAreConvertedAndReshaped) {
  Bound f("a: f32[B], k: f32[B], image: f32[B, 6]");
  const RowBlock rows = Rows(2);
  const auto feeds = f.feeder.Feed(rows);
  EXPECT_EQ(feeds[0].tensor.data, rows[0].floats.data()) << "f32 is not copied";
  EXPECT_EQ(feeds[1].tensor.As<float>()[1], 8.0f);
  EXPECT_EQ(feeds[2].tensor.shape, Shape({2, 6}));
  EXPECT_EQ(feeds[2].tensor.As<float>()[7], 11.0f);
}

TEST(Feed, IdsFeedRaggedArgumentsWithoutACopyOfTheIds) {
  Bound f("items: u64[B, *T], tags: u64[B, *S], tags_weights: f32[B, *S], title: u8[B, *L]");
  const RowBlock rows = Rows(2);
  const auto feeds = f.feeder.Feed(rows);
  EXPECT_EQ(feeds[0].tensor.data, rows[3].ints.data());
  EXPECT_EQ(feeds[0].tensor.shape, Shape({3}));
  EXPECT_EQ(std::vector<int64_t>(feeds[0].offsets, feeds[0].offsets + 3),
            (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(feeds[2].tensor.As<float>()[1], 0.5f);
  EXPECT_EQ(feeds[3].tensor.shape, Shape({4}));
}

TEST(Feed, ListsFeedDenseArgumentsWhereEveryRowHasAsMany) {
  Bound one("tags: u64[B]");
  EXPECT_EQ(one.feeder.Feed(Rows(3))[0].tensor.shape, Shape({3}));
  Bound two("items: u64[B, 2]");
  const RowBlock rows = Rows(2);
  EXPECT_THAT(MessageOf([&] { two.feeder.Feed(rows); }),
              HasSubstr("f: argument items : u64[B, 2], declared at test.ctm:2: row 0 of the batch "
                        "has 1 numbers in items; wanted 2"));
}

TEST(Feed, SeveralColumnsStandSideBySide) {
  Bound f("x: f32[B, 2]", {.bind = {{"x", {"a", "k"}}}});
  const RowBlock rows = Rows(2);
  const float* x = f.feeder.Feed(rows)[0].tensor.As<float>();
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{1.5, 7, 2.5, 8}));
}

TEST(Feed, WeightIsOneWhereThereIsNoSuchColumn) {
  Bound f("a: f32[B], weight: f32[B]");
  const RowBlock rows = Rows(2);
  EXPECT_EQ(f.feeder.Feed(rows)[1].tensor.As<float>()[1], 1.0f);
}

TEST(Feed, AFloatThatIsNotWholeFeedsNoInteger) {
  Bound f("a: i64[B]");
  const RowBlock rows = Rows(1);
  EXPECT_THAT(MessageOf([&] { f.feeder.Feed(rows); }),
              HasSubstr("row 0 of the batch has 1.5 in column a, which is no i64"));
}

TEST(Feed, AMissingColumnIsAnErrorAtTheArgumentThatListsTheColumns) {
  const std::string message = MessageOf([] { Bound("a: f32[B], itmes: u64[B, *T]"); });
  EXPECT_THAT(message, HasSubstr("test.ctm:2: argument itmes : u64[B, *T]: the data has no column "
                                 "itmes; did you mean items?"));
  EXPECT_THAT(message, HasSubstr("a: f32, k: i64, image: u8[2, 3], items: ids"));
}

TEST(Feed, AColumnOfAnotherWidthIsAnErrorAtTheArgument) {
  EXPECT_THAT(
      MessageOf([] { Bound("image: f32[B, 7]"); }),
      HasSubstr("test.ctm:2: argument image : f32[B, 7]: column image cannot feed it: it has "
                "6 numbers a row; wanted 7"));
}

}  // namespace
}  // namespace catamaran
