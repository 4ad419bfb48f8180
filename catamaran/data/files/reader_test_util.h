// data/files/reader_test_util.h
//
// What tests of readers of text and files share, beyond data_test_util.h.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/reader.h"

#if CATAMARAN_WITH_ZLIB
#include <zlib.h>
#endif

namespace catamaran::testing {

// Text in a file of that name, and what a reader makes of it.
class TextFileTest : public ::testing::Test {
 protected:
  explicit TextFileTest(std::string name) : name_(std::move(name)) {}

  std::unique_ptr<RowReader> Open(const std::string& text) {
    WriteFileAtomically(fs_, name_, text);
    return OpenReader(fs_, name_, options_);
  }
  RowBlock Rows(const std::string& text) { return ReadRest(*Open(text)); }
  std::string Problem(const std::string& text) {
    return MessageOf([&] { Rows(text); });
  }
  std::string Inferred(const std::string& text) { return Open(text)->schema().ToString(); }
  void Declare(const std::string& schema) { options_.schema = Schema::Parse(schema); }

  const std::string name_;
  FaultyFileSystem fs_;
  ReaderOptions options_;
};

using OpenAgain = std::function<std::unique_ptr<RowReader>()>;

// Reading on from any position, with another reader, gives the rows that follow; so does the same
// reader after it has read to the end, and the empty position is the beginning.
inline void CheckPositions(const OpenAgain& open, int64_t step = 3) {
  const auto first = open();
  struct Place {
    Position position;
    int64_t rows, bad_rows;
  };
  std::vector<Place> places = {{first->position(), 0, 0}};
  RowBlock all(first->schema()), block;
  while (first->Read(step, block)) {
    all.AppendRows(block, 0, block.rows());
    places.push_back({first->position(), all.rows(), first->bad_rows()});
  }
  const auto expect_rest = [&](RowReader& reader, int64_t from) {
    RowBlock wanted(reader.schema());
    wanted.AppendRows(all, from, all.rows());
    EXPECT_TRUE(ReadRest(reader, 5) == wanted) << "from row " << from;
    EXPECT_EQ(reader.bad_rows(), first->bad_rows());
  };
  const size_t stride = std::max<size_t>(1, places.size() / 20);
  for (size_t i = 0; i < places.size(); i += stride) {
    const auto other = open();
    other->Seek(places[i].position);
    EXPECT_EQ(other->bad_rows(), places[i].bad_rows);
    EXPECT_EQ(other->position(), places[i].position);
    expect_rest(*other, places[i].rows);
  }
  first->Seek(places[places.size() / 2].position);
  expect_rest(*first, places[places.size() / 2].rows);
  first->Seek(Position{});
  expect_rest(*first, 0);
}

#if CATAMARAN_WITH_ZLIB
// Compressed with the header that zlib's `window_bits` ask for: 31 for gzip's, -15 for none.
inline std::string Deflated(std::string_view text, int window_bits) {
  z_stream zlib{};
  EXPECT_EQ(deflateInit2(&zlib, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&zlib, text.size()) + 64, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

inline std::string Gzipped(std::string_view text) { return Deflated(text, 31); }
#endif

}  // namespace catamaran::testing
