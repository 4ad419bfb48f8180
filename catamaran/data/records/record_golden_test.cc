// Files that were written by version 1 of the format must load for ever, and today's writer still
// writes them. docs/formats/records.md has the bytes.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/records/compression.h"
#include "catamaran/data/records/record_file.h"
#include "catamaran/data/records/record_test_util.h"

namespace catamaran {
namespace {

// Golden files are written, in place of being read, where this is set: for a new version.
const char* const kWriteGoldens = std::getenv("CATAMARAN_WRITE_GOLDENS");

std::string Golden(const std::string& name) { return "catamaran/data/testdata/" + name; }

// Columns for every encoding.
RowBlock GoldenRows() {
  RowBlock rows(
      Schema::Parse("label: f32\n"
                    "score: f32\n"
                    "level: f32\n"
                    "time: i64\n"
                    "hash: i64\n"
                    "pixels: u8[4, 8]\n"
                    "item: ids\n"
                    "tags: weighted_ids\n"
                    "city: string\n"
                    "note: string\n"));
  std::mt19937_64 random(20);
  const auto text = [&](int c, const std::string& value) {
    for (char byte : value) rows[c].bytes.push_back(static_cast<uint8_t>(byte));
    rows[c].EndList();
  };
  const char* const cities[] = {"Oslo", "", "Reykjavik", "Paris"};
  for (int r = 0; r < 300; ++r) {
    rows[0].floats.push_back(static_cast<float>(random() % 2));
    rows[1].floats.push_back(static_cast<float>(random() % 100'000) / 1024);
    rows[2].floats.push_back(random() % 5 == 0 ? NAN : static_cast<float>(random() % 4) / 4);
    rows[3].ints.push_back(1'700'000'000'000 + r * 1000 + static_cast<int64_t>(random() % 500));
    rows[4].ints.push_back(static_cast<int64_t>((random() % 9) * 0x9e3779b97f4a7c15u));
    for (int i = 0; i < 32; ++i) rows[5].bytes.push_back(static_cast<uint8_t>(i % 8 == r % 8));
    rows[6].ints.push_back(static_cast<int64_t>(random() % 100'000));
    rows[6].EndList();
    for (uint64_t i = random() % 4; i > 0; --i) {
      rows[7].ints.push_back(static_cast<int64_t>(random()));
      rows[7].floats.push_back(static_cast<float>(random() % 1000) / 8);
    }
    rows[7].EndList();
    text(8, cities[random() % 4]);
    text(9, std::to_string(random()));
    rows.FinishRow();
  }
  return rows;
}

const RecordWriterOptions kPlain = {.rows_per_block = 200, .compress = false};
const RecordWriterOptions kCompressed = {.rows_per_block = 200, .compress = true};

TEST(RecordGolden, FilesOfVersion1Load) {
  FileSystem& fs = PosixFileSystem();
  if (kWriteGoldens != nullptr) {
    FaultyFileSystem memory;
    WriteFileAtomically(fs, Golden("records_v1.rec"),
                        testing::RecordBytes(memory, GoldenRows(), kPlain));
    WriteFileAtomically(fs, Golden("records_v1_zstd.rec"),
                        testing::RecordBytes(memory, GoldenRows(), kCompressed));
  }
  for (const char* name : {"records_v1.rec", "records_v1_zstd.rec"}) {
    if (std::string(name).find("zstd") != std::string::npos && !ZstdCodec::Available()) continue;
    const auto file = RecordFile::Open(fs, Golden(name));
    file->Verify();
    EXPECT_EQ(file->num_blocks(), 2);
    EXPECT_EQ(testing::ReadRest(*OpenReader(fs, Golden(name))), GoldenRows());
  }
  EXPECT_LT(fs.ReadAll(Golden("records_v1_zstd.rec")).size(),
            fs.ReadAll(Golden("records_v1.rec")).size());
}

TEST(RecordGolden, TheWriterStillWritesVersion1ByteForByte) {
  FaultyFileSystem memory;
  EXPECT_EQ(testing::RecordBytes(memory, GoldenRows(), kPlain),
            PosixFileSystem().ReadAll(Golden("records_v1.rec")));
}

TEST(RecordGolden, EveryEncodingIsInTheGoldenFile) {
  using namespace record_format;
  const std::string bytes = PosixFileSystem().ReadAll(Golden("records_v1.rec"));
  const uint64_t block =
      RecordFile::Open(PosixFileSystem(), Golden("records_v1.rec"))->block(0).offset;
  std::vector<int> encodings;
  for (size_t c = 0; c < 10; ++c) {
    const auto offset = Load<uint64_t>(&bytes[block + kBlockHeadBytes + c * kColumnBytes]);
    encodings.push_back(bytes[block + offset]);
  }
  // Of the first stream of each column; lists begin with lengths, which are packed.
  EXPECT_EQ(encodings, (std::vector<int>{5, 1, 4, 3, 4, 1, 2, 2, 4, 2}));
}

}  // namespace
}  // namespace catamaran
