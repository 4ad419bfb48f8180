// Columns come back from their bytes as they were, whichever encoding they got; and they get the
// one that they should.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/data/data_test_util.h"
#include "catamaran/data/records/column_decoder.h"
#include "catamaran/data/records/column_encoder.h"
#include "catamaran/data/records/record_format.h"

namespace catamaran {
namespace {

using record_format::Encoding;

// Encodes the rows of a block with one column and decodes them on every instruction set. Returns
// the bytes.
std::string RoundTrip(const RowBlock& block) {
  block.Check("test");
  const Column& column = block.schema()[0];
  std::string bytes;
  EncodeColumn(column, block[0], block.rows(), bytes);
  EXPECT_EQ(bytes.size() % record_format::kStreamAlignment, 0u);
  const size_t elements =
      std::max({block[0].ints.size(), block[0].bytes.size(), block[0].floats.size()});
  for (Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    RowBlock back(block.schema());
    // At the end of memory of their own, so that sanitizers see what is read beyond.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    ColumnDecoder(isa).Decode(column, std::as_bytes(std::span(exact)), block.rows(),
                              static_cast<uint32_t>(elements), back[0]);
    back.SetRows(block.rows());
    EXPECT_EQ(back, block) << column.KindText() << " of " << block.rows() << " rows";
  }
  return bytes;
}

Encoding FirstEncoding(const std::string& bytes) { return static_cast<Encoding>(bytes.at(0)); }

std::string Floats(const std::vector<float>& values) {
  RowBlock block(Schema({Column::Dense("x")}));
  block[0].floats.Append(values);
  block.SetRows(static_cast<int64_t>(values.size()));
  return RoundTrip(block);
}

std::string Ints(const std::vector<int64_t>& values) {
  RowBlock block(Schema({Column::Dense("x", DType::kI64)}));
  block[0].ints.Append(values);
  block.SetRows(static_cast<int64_t>(values.size()));
  return RoundTrip(block);
}

std::string Strings(const std::vector<std::string>& values) {
  RowBlock block(Schema({Column::String("x")}));
  for (const std::string& text : values) {
    for (char c : text) block[0].bytes.push_back(static_cast<uint8_t>(c));
    block[0].EndList();
    block.FinishRow();
  }
  return RoundTrip(block);
}

template <class T>
std::vector<T> Make(int count, const std::function<T(int)>& f) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(f(i));
  return values;
}

TEST(ColumnCodec, IntegersInASmallRangeTakeFewBits) {
  std::mt19937_64 random(1);
  const auto bytes = Ints(Make<int64_t>(
      4096, [&](int) { return static_cast<int64_t>(1'000'000'000'000 + random() % (1 << 20)); }));
  EXPECT_EQ(FirstEncoding(bytes), Encoding::kPacked);
  EXPECT_EQ(bytes.size(), 16u + 4096 * 20 / 8);
  EXPECT_EQ(Ints(Make<int64_t>(4096, [](int) { return -7; })).size(), 16u);
}

TEST(ColumnCodec, IntegersOfAnySizeComeBack) {
  std::mt19937_64 random(2);
  for (int count : {0, 1, 2, 7, 8, 9, 100, 1000}) {
    Ints(Make<int64_t>(count, [&](int) { return static_cast<int64_t>(random()); }));
    Ints(Make<int64_t>(count, [&](int i) { return i % 2 == 0 ? INT64_MIN : INT64_MAX; }));
    Ints(Make<int64_t>(count, [&](int) { return static_cast<int64_t>(random() >> 1); }));
  }
}

TEST(ColumnCodec, RisingIntegersAreDifferences) {
  std::mt19937_64 random(3);
  int64_t time = 1'700'000'000'000;
  const auto bytes =
      Ints(Make<int64_t>(1000, [&](int) { return time += static_cast<int64_t>(random() % 1000); }));
  EXPECT_EQ(FirstEncoding(bytes), Encoding::kDelta);
  EXPECT_LT(bytes.size(), 2000u);
  // Differences that overflow come back all the same.
  const auto wrapping = Make<int64_t>(1000, [](int i) {
    return static_cast<int64_t>(uint64_t{INT64_MAX} - 500 + static_cast<uint64_t>(i));
  });
  EXPECT_EQ(FirstEncoding(Ints(wrapping)), Encoding::kDelta);
}

TEST(ColumnCodec, FewDifferentHashesAreADictionary) {
  std::mt19937_64 random(4);
  const auto hashes = Make<int64_t>(50, [&](int) { return static_cast<int64_t>(random()); });
  const auto bytes = Ints(Make<int64_t>(4096, [&](int) { return hashes[random() % 50]; }));
  EXPECT_EQ(FirstEncoding(bytes), Encoding::kDictionary);
  EXPECT_LT(bytes.size(), 4096u);
}

TEST(ColumnCodec, FloatsThatAreIntegersTakeFewBits) {
  const auto bytes = Floats(Make<float>(4096, [](int i) { return i % 2 == 0 ? 1.0f : 0.0f; }));
  EXPECT_EQ(FirstEncoding(bytes), Encoding::kIntegers);
  EXPECT_EQ(bytes.size(), 16u + 4096 / 8);
  Floats({-16777216.0f, 16777216.0f, 0, 1, -1});
}

TEST(ColumnCodec, EveryBitOfAFloatComesBack) {
  const float nan_with_payload = std::bit_cast<float>(0x7fc12345u);
  const float values[] = {0.0f,      -0.0f,  NAN,   nan_with_payload, INFINITY,
                          -INFINITY, 1e-45f, 3e38f, 16777218.0f};
  for (float x : values) Floats({x});
  Floats({std::begin(values), std::end(values)});
  EXPECT_EQ(FirstEncoding(Floats(Make<float>(1000, [&](int i) { return values[i % 9]; }))),
            Encoding::kDictionary);
  std::mt19937_64 random(5);
  EXPECT_EQ(FirstEncoding(Floats(Make<float>(
                1000, [&](int) { return std::bit_cast<float>(static_cast<uint32_t>(random())); }))),
            Encoding::kPlain);
  Floats({});
}

TEST(ColumnCodec, FewDifferentStringsAreADictionary) {
  const std::vector<std::string> words = {"", "one", "another word", std::string(300, 'x'),
                                          std::string("\0\xff", 2)};
  const auto bytes = Strings(
      Make<std::string>(1000, [&](int i) { return words[static_cast<size_t>(i * 7 % 5)]; }));
  EXPECT_EQ(FirstEncoding(bytes), Encoding::kDictionary);
  EXPECT_LT(bytes.size(), 1200u);
  EXPECT_EQ(FirstEncoding(Strings(words)), Encoding::kPacked);
  Strings(Make<std::string>(1000, [](int i) { return std::to_string(i); }));
  Strings(std::vector<std::string>(1000, ""));
  Strings({});
}

TEST(ColumnCodec, ColumnsOfEveryKindComeBack) {
  std::mt19937_64 random(6);
  for (const Column& column : testing::EveryKind()) {
    for (int rows : {0, 1, 8, 300}) {
      RowBlock block{Schema({column})};
      testing::AddRandomRows(random, rows, block);
      RoundTrip(block);
    }
  }
}

TEST(ColumnCodec, ListsOfOneLengthHaveNoBytesForTheirLengths) {
  RowBlock block(Schema({Column::Ids("x")}));
  for (int i = 0; i < 4096; ++i) {
    block[0].ints.push_back(i * 7 % 11 < 5);
    block[0].EndList();
    block.FinishRow();
  }
  EXPECT_EQ(RoundTrip(block).size(), 2 * 16u + 4096 / 8);
}

}  // namespace
}  // namespace catamaran
