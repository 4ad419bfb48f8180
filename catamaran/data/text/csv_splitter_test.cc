#include "catamaran/data/text/csv_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;
using Rows = std::vector<std::vector<std::string>>;

std::vector<Isa> Isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= DetectIsa()) isas.push_back(isa);
  }
  return isas;
}

class Splitter : public ::testing::Test {
 protected:
  CsvSplitter Open(const std::string& text, CsvSplitter::Options options = {}) {
    WriteFileAtomically(fs_, "f.csv", text);
    return CsvSplitter(OpenByteStream(fs_, "f.csv"), options);
  }

  static Rows Rest(CsvSplitter& splitter) {
    Rows rows;
    while (splitter.Next()) rows.push_back(Meanings(splitter));
    return rows;
  }

  static std::vector<std::string> Meanings(CsvSplitter& splitter) {
    std::vector<std::string> row;
    std::string scratch;
    for (const std::string_view field : splitter.fields()) {
      std::string_view meaning;
      EXPECT_EQ(splitter.Unquote(field, &scratch, &meaning), QuoteProblem::kNone) << field;
      row.emplace_back(meaning);
    }
    return row;
  }

  Rows Split(const std::string& text, CsvSplitter::Options options = {}) {
    auto splitter = Open(text, options);
    return Rest(splitter);
  }

  FaultyFileSystem fs_;
};

TEST_F(Splitter, FieldsStandBetweenSeparatorsAndRowsOnLines) {
  EXPECT_EQ(Split("a,b\nc,d\n"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(Split("a,b\r\nc,d"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(Split(",\n,,\n"), (Rows{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(Split(""), Rows{});
  EXPECT_EQ(Split("\n\r\n\n"), Rows{});
  EXPECT_EQ(Split("a"), (Rows{{"a"}}));
  EXPECT_EQ(Split("\xef\xbb\xbf"
                  "a,b\n"),
            (Rows{{"a", "b"}}));
}

TEST_F(Splitter, QuotesHoldSeparatorsNewlinesAndDoubledQuotes) {
  EXPECT_EQ(Split("\"a,b\",\"c\nd\",\"e\"\"f\"\r\n\"\",\"\"\"\"\n"),
            (Rows{{"a,b", "c\nd", "e\"f"}, {"", "\""}}));
  EXPECT_EQ(Split("\"a\r\nb\"\r\n"), (Rows{{"a\r\nb"}}));
  EXPECT_EQ(Split("a\"b,c\n", {.quote = 0}), (Rows{{"a\"b", "c"}}));
}

TEST_F(Splitter, WrongQuotesAreSaid) {
  std::string scratch;
  std::string_view meaning;
  const auto splitter = Open("");
  EXPECT_EQ(splitter.Unquote("a\"b", &scratch, &meaning), QuoteProblem::kWithinField);
  EXPECT_EQ(splitter.Unquote("\"a\"b", &scratch, &meaning), QuoteProblem::kAfterQuote);
  EXPECT_EQ(splitter.Unquote("\"a\"\"", &scratch, &meaning), QuoteProblem::kNotClosed);
  EXPECT_EQ(splitter.Unquote("\"", &scratch, &meaning), QuoteProblem::kNotClosed);
}

TEST_F(Splitter, LinesAreCountedThroughQuotedNewlinesAndEmptyLines) {
  auto splitter = Open("a\n\n\"x\ny\nz\",1\n\nb\n");
  std::vector<uint64_t> lines;
  while (splitter.Next()) lines.push_back(splitter.line());
  EXPECT_THAT(lines, ElementsAre(1, 3, 7));
}

TEST_F(Splitter, SkippingALineGoesOnAfterTheFirstLineOfTheRow) {
  auto splitter = Open("5\" disk,1\nb,2\n6\" disk,3\nc,4");
  ASSERT_TRUE(splitter.Next());
  splitter.SkipLine();
  ASSERT_TRUE(splitter.Next());
  EXPECT_EQ(splitter.line(), 2u);
  EXPECT_EQ(splitter.fields()[0], "b");
  ASSERT_TRUE(splitter.Next());
  splitter.SkipLine();
  ASSERT_TRUE(splitter.Next());
  EXPECT_EQ(splitter.fields()[0], "c");
  EXPECT_FALSE(splitter.Next());
}

TEST_F(Splitter, ARowThatIsTooLongIsRefusedWithItsLine) {
  const std::string text = "a,b\n\"" + std::string(5000, 'x');
  auto splitter = Open(text, {.max_row_bytes = 1000});
  EXPECT_TRUE(splitter.Next());
  EXPECT_EQ(MessageOf([&] { splitter.Next(); }),
            "f.csv:2: a row of more than 1000 bytes; is a quote not closed?");
}

// Random rows, written with quotes where needed and sometimes where not.
std::string RandomCsv(std::mt19937& random, int count, Rows* rows) {
  const std::string_view alphabet = "abc,\n\"\r 1é";
  std::string text;
  for (int r = 0; r < count; ++r) {
    auto& row = rows->emplace_back();
    const int fields = 2 + static_cast<int>(random() % 6);
    for (int f = 0; f < fields; ++f) {
      std::string field;
      const size_t size = random() % 50 == 0 ? 300 : random() % 12;
      for (size_t i = 0; i < size; ++i) field += alphabet[random() % alphabet.size()];
      const bool quoted = field.find_first_of(",\n\"\r") != std::string::npos || random() % 4 == 0;
      if (f > 0) text += ',';
      if (quoted) {
        text += '"';
        for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
      } else {
        text += field;
      }
      row.push_back(std::move(field));
    }
    if (r + 1 < count || random() % 2 == 0) text += random() % 2 == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST_F(Splitter, EveryInstructionSetSplitsWhatWasWrittenAcrossTheEdgesOfTheWindow) {
  std::mt19937 random(7);
  for (const int count : {1, 30, 20'000}) {
    Rows rows;
    const std::string text = RandomCsv(random, count, &rows);
    for (const Isa isa : Isas()) {
      auto splitter = Open(text, {.isa = isa});
      ASSERT_EQ(Rest(splitter), rows) << IsaName(isa);
    }
  }
}

TEST_F(Splitter, GoesOnAtAnyRow) {
  std::mt19937 random(8);
  Rows rows;
  const std::string text = RandomCsv(random, 3000, &rows);
  auto splitter = Open(text);
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (;;) {
    places.emplace_back(splitter.next_offset(), splitter.next_line());
    if (!splitter.Next()) break;
  }
  ASSERT_EQ(places.size(), rows.size() + 1);
  for (size_t i = 0; i < places.size(); i += 97) {
    splitter.Seek(places[i].first, places[i].second);
    const Rows wanted(rows.begin() + static_cast<int64_t>(i), rows.end());
    ASSERT_EQ(Rest(splitter), wanted) << i;
    EXPECT_EQ(splitter.next_line(), places.back().second);
    EXPECT_EQ(splitter.next_offset(), text.size());
  }
}

}  // namespace
}  // namespace catamaran
