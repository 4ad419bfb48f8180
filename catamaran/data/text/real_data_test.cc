// Real data sets, where the environment variable CATAMARAN_DATA names the folder that holds them;
// else these tests are skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using testing::ReadRest;

// Skips the test when the file is not there.
#define OPEN_OR_SKIP(reader, path, ...)                                                \
  const char* const folder = std::getenv("CATAMARAN_DATA");                            \
  if (folder == nullptr || !PosixFileSystem().Exists(JoinPath(folder, path))) {        \
    GTEST_SKIP() << "no " << path << ": CATAMARAN_DATA names no folder that holds it"; \
  }                                                                                    \
  const auto reader = OpenReader(PosixFileSystem(), JoinPath(folder, path), ##__VA_ARGS__)

double Sum(const Buffer<float>& values) {
  double sum = 0;
  for (const float value : values) sum += std::isnan(value) ? 0 : value;
  return sum;
}

TEST(RealData, Adult) {
  OPEN_OR_SKIP(reader, "adult/adult.data", {.format = "csv"});
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 32'561);
  EXPECT_EQ(rows.schema().size(), 15);
  const int output = rows.schema().Find("output");
  int64_t rich = 0;
  for (int64_t r = 0; r < rows.rows(); ++r) rich += rows[output].text(r) == ">50K";
  EXPECT_EQ(rich, 7841);
}

TEST(RealData, BankMarketing) {
  OPEN_OR_SKIP(reader, "bank-marketing/bank-additional-full.csv");
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 41'188);
  int64_t yes = 0;
  for (int64_t r = 0; r < rows.rows(); ++r) yes += rows[rows.schema().Find("y")].text(r) == "yes";
  EXPECT_EQ(yes, 4640);
}

TEST(RealData, Flights) {
  OPEN_OR_SKIP(reader, "nycflights13/flights_2013_sorted.csv.gz");
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 336'776);
  int64_t missing = 0, late = 0;
  for (const float delay : rows[rows.schema().Find("arr_delay")].floats) {
    missing += std::isnan(delay);
    late += delay > 15;
  }
  EXPECT_EQ(missing, 9430);
  EXPECT_EQ(late, 77'630);
}

TEST(RealData, Taxis) {
  OPEN_OR_SKIP(reader, "nyc-taxi-stream/yellow_tripdata_1pct_2022-01_2023-06.csv.gz",
               {.columns = {"tpep_pickup_datetime", "fare_amount"}});
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 590'887);
  for (int64_t r = 1; r < rows.rows(); ++r) ASSERT_LE(rows[0].text(r - 1), rows[0].text(r)) << r;
}

TEST(RealData, Electricity) {
  OPEN_OR_SKIP(reader, "electricity/electricity.csv");
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 45'312);
  int64_t ones = 0;
  for (const int64_t label : rows[rows.schema().Find("class")].ints) ones += label;
  EXPECT_EQ(ones, 19'237);
}

TEST(RealData, Criteo) {
  OPEN_OR_SKIP(reader, "criteo-sample-10k/criteo_train_first10000.txt", {.format = "criteo"});
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 10'000);
  EXPECT_EQ(Sum(rows[0].floats), 2182);
  EXPECT_EQ(rows[rows.schema().Find("C1")].ids(0)[0], 0x68fd1e64);
}

TEST(RealData, MovieLens) {
  OPEN_OR_SKIP(reader, "movielens-100k/u.data",
               {.format = "tsv",
                .schema = Schema::Parse("user: i64\nitem: i64\nrating: f32\n"
                                        "time: i64\n")});
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 100'000);
  EXPECT_EQ(*std::max_element(rows[0].ints.begin(), rows[0].ints.end()), 943);
  EXPECT_EQ(*std::max_element(rows[1].ints.begin(), rows[1].ints.end()), 1682);
}

TEST(RealData, TwentyNewsgroups) {
  OPEN_OR_SKIP(reader, "20newsgroups-sparse/train.feat",
               {.format = "libsvm", .text = {.first_index = 1}});
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 11'268);
  EXPECT_EQ(*std::max_element(rows[1].ints.begin(), rows[1].ints.end()), 1999);
}

TEST(RealData, TinyShakespeare) {
  OPEN_OR_SKIP(reader, "tinyshakespeare/input.txt");
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 40'000);
  EXPECT_EQ(rows[0].bytes.size() + 40'000, 1'115'394u);
}

TEST(RealData, Multi30k) {
  OPEN_OR_SKIP(reader, "multi30k/train.de.gz", {.format = "text"});
  EXPECT_EQ(ReadRest(*reader, 4096).rows(), 29'000);
}

TEST(RealData, FashionMnist) {
  OPEN_OR_SKIP(reader, "fashion-mnist/t10k-images-idx3-ubyte.gz");
  const RowBlock rows = ReadRest(*reader, 4096);
  EXPECT_EQ(rows.rows(), 10'000);
  EXPECT_EQ(rows.schema().ToString(), "image: u8[28, 28]\nlabel: u8\n");
  EXPECT_EQ(std::count(rows[1].bytes.begin(), rows[1].bytes.end(), 3), 1000);
}

}  // namespace
}  // namespace catamaran
