// Batches by tokens, and buckets of rows of about one length.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/pipeline/pipeline_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::PipelineTest;

class TokensTest : public PipelineTest {
 protected:
  TokensTest() { paths_ = {"a.txt"}; }

  void WriteLines(const std::vector<int64_t>& lengths) {
    std::string text;
    for (const int64_t length : lengths)
      text += std::string(static_cast<size_t>(length), 'a') + "\n";
    WriteFileAtomically(fs_, "a.txt", text);
  }

  // Lengths of the rows of each batch.
  std::vector<std::vector<int64_t>> Lengths(PipelineOptions options) {
    options.token_column = "text";
    Pipeline pipeline = Open(std::move(options));
    std::vector<std::vector<int64_t>> all;
    while (const Batch* batch = pipeline.Next()) {
      auto& lengths = all.emplace_back();
      for (int64_t r = 0; r < batch->rows.rows(); ++r) {
        lengths.push_back(static_cast<int64_t>(batch->rows[0].text(r).size()));
      }
    }
    return all;
  }
};

TEST_F(TokensTest, ABatchTakesRowsUpToTheTokensOrOneThatHasMore) {
  WriteLines({3, 3, 4, 1, 12, 9, 2, 2, 0, 0});
  EXPECT_THAT(Lengths({.batch_tokens = 10}),
              ElementsAre(ElementsAre(3, 3, 4), ElementsAre(1), ElementsAre(12), ElementsAre(9),
                          ElementsAre(2, 2, 0, 0)));
  // Only the last could have taken more.
  EXPECT_THAT(Lengths({.batch_tokens = 10, .drop_last = true}),
              ElementsAre(ElementsAre(3, 3, 4), ElementsAre(1), ElementsAre(12), ElementsAre(9)));
  EXPECT_THAT(Lengths({.batch_tokens = 6, .drop_last = true}).back(), ElementsAre(2, 2, 0, 0));
}

TEST_F(TokensTest, BatchesByTokensCrossWindows) {
  WriteLines(std::vector<int64_t>(30, 2));
  const auto batches = Lengths({.batch_tokens = 8, .shuffle_window = 5});
  EXPECT_EQ(batches.size(), 8u);
  for (size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_EQ(batches[i].size(), 4u);
}

TEST_F(TokensTest, BucketsHoldRowsOfAboutOneLengthAndComeInARandomOrder) {
  std::vector<int64_t> lines(1000);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = static_cast<int64_t>(i * 7919 % 1000);
  WriteLines(lines);
  const auto batches = Lengths(
      {.batch_rows = 10, .bucket_by_length = true, .drop_last = true, .shuffle_window = 495});
  // 495 is rounded up to whole batches.
  ASSERT_EQ(batches.size(), 100u);
  std::map<int64_t, int64_t> seen;
  int64_t rising = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    ASSERT_EQ(batches[i].size(), 10u);
    const auto [low, high] = std::ranges::minmax(batches[i]);
    EXPECT_LT(high - low, 60);  // of 500 rows in a window, ten neighbours
    for (const int64_t length : batches[i]) ++seen[length];
    if (i > 0 && low > batches[i - 1][0]) ++rising;
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_GT(rising, 25);
  EXPECT_LT(rising, 75);
}

TEST_F(TokensTest, ABucketThatIsNotFullComesLastAndIsTheOneThatIsDropped) {
  std::vector<int64_t> lines(25);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = static_cast<int64_t>(i);
  WriteLines(lines);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    PipelineOptions options{
        .batch_rows = 10, .bucket_by_length = true, .shuffle_window = 100, .seed = seed};
    const auto batches = Lengths(options);
    ASSERT_EQ(batches.size(), 3u);
    EXPECT_EQ(batches[2].size(), 5u);
    options.drop_last = true;
    EXPECT_EQ(Lengths(options).size(), 2u);
  }
}

TEST_F(TokensTest, BucketsByTokensHoldWhatFits) {
  std::vector<int64_t> lines(500);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = static_cast<int64_t>(1 + i * 37 % 50);
  WriteLines(lines);
  int64_t rows = 0;
  for (const auto& batch : Lengths(
           {.threads = 2, .batch_tokens = 200, .bucket_by_length = true, .shuffle_window = 120})) {
    int64_t tokens = 0;
    for (const int64_t length : batch) tokens += length;
    EXPECT_LE(tokens, 200);
    rows += static_cast<int64_t>(batch.size());
  }
  EXPECT_EQ(rows, 500);
}

}  // namespace
}  // namespace catamaran
