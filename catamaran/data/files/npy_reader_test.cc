#include "catamaran/data/files/npy_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"
#include "catamaran/data/files/zip.h"
#include "catamaran/data/files/zip_test_util.h"
#include "catamaran/data/npy.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

template <class T>
std::string Npy(DType dtype, const Shape& shape, const std::vector<T>& values) {
  std::string file = FormatNpyHeader(dtype, shape);
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

TEST(NpyRows, GoAlongTheFirstAxisWithRandomAccess) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "a.npy", Npy<double>(DType::kF64, {3, 2}, {1, 2, 3, 4, 5, 6.5}));
  const auto open = [&] { return OpenReader(fs, "a.npy"); };
  const auto reader = open();
  EXPECT_EQ(reader->schema().ToString(), "x: f32[2]\n");
  EXPECT_EQ(reader->num_rows(), 3);
  EXPECT_THAT(ReadRest(*reader)[0].floats.span(), ElementsAre(1, 2, 3, 4, 5, 6.5f));
  reader->SeekRow(2);
  EXPECT_THAT(ReadRest(*reader)[0].floats.span(), ElementsAre(5, 6.5f));
  EXPECT_EQ(MessageOf([&] { reader->SeekRow(4); }), "a.npy: there is no row 4; it has 3");
  testing::CheckPositions(open, 1);
  WriteFileAtomically(fs, "a.npy", Npy<float>(DType::kF32, {4, 2}, std::vector<float>(8)));
  EXPECT_EQ(MessageOf([&] { open()->Seek(reader->position()); }),
            "a.npy: the position is one in 3 rows; here there are 4");
}

TEST(NpyRows, ElementsBecomeWhatColumnsHold) {
  FaultyFileSystem fs;
  const auto rows = [&](const std::string& file) {
    WriteFileAtomically(fs, "a.npy", file);
    return ReadRest(*OpenReader(fs, "a.npy"));
  };
  EXPECT_THAT(rows(Npy<int32_t>(DType::kI32, {2}, {-5, 7}))[0].ints.span(), ElementsAre(-5, 7));
  EXPECT_THAT(rows(Npy<int8_t>(DType::kI8, {2}, {-5, 7}))[0].ints.span(), ElementsAre(-5, 7));
  EXPECT_THAT(rows(Npy<uint8_t>(DType::kU8, {2}, {5, 255}))[0].bytes.span(), ElementsAre(5, 255));
  EXPECT_THAT(rows(Npy<uint8_t>(DType::kBool, {2}, {0, 1}))[0].bytes.span(), ElementsAre(0, 1));
  EXPECT_THAT(rows(Npy<uint16_t>(DType::kF16, {2}, {0x3c00, 0xc000}))[0].floats.span(),
              ElementsAre(1, -2));
  EXPECT_THAT(rows(Npy<uint64_t>(DType::kU64, {1}, {7}))[0].ints.span(), ElementsAre(7));
  EXPECT_EQ(MessageOf([&] { rows(Npy<uint64_t>(DType::kU64, {1}, {uint64_t{1} << 63})); }),
            "a.npy: has a number of 2^63 or more, which no i64 column holds");
}

TEST(NpyRows, ArraysInFortranOrderGiveTheirRowsToo) {
  FaultyFileSystem fs;
  std::string file = Npy<float>(DType::kF32, {3, 2}, {1, 3, 5, 2, 4, 6});
  const size_t at = file.find("False");
  file.replace(at, 5, "True ");
  WriteFileAtomically(fs, "a.npy", file);
  const auto open = [&] { return OpenReader(fs, "a.npy"); };
  EXPECT_THAT(ReadRest(*open())[0].floats.span(), ElementsAre(1, 2, 3, 4, 5, 6));
  testing::CheckPositions(open, 1);
  WriteFileAtomically(fs, "a.npy", file.substr(0, file.size() - 1));
  EXPECT_EQ(MessageOf(open), "a.npy: f32[3, 2] does not take the 23 bytes that follow the header");
}

TEST(NpyRows, FilesThatLieAreRefused) {
  FaultyFileSystem fs;
  const auto problem = [&](const std::string& file) {
    WriteFileAtomically(fs, "a.npy", file);
    return MessageOf([&] { ReadRest(*OpenReader(fs, "a.npy")); });
  };
  EXPECT_EQ(problem(Npy<float>(DType::kF32, {3, 2}, {1, 2, 3})),
            "a.npy: cut off: it ends within its rows 1 to 3 of 3");
  EXPECT_EQ(problem(Npy<float>(DType::kF32, {1}, {1, 2})),
            "a.npy: too long: it goes on after its 1 rows");
  EXPECT_EQ(problem(Npy<float>(DType::kF32, {}, {1})),
            "a.npy: is a single number; rows need an array with a first axis");
  // No memory is taken on the header's word.
  EXPECT_TRUE(
      problem(Npy<float>(DType::kF32, {int64_t{1} << 60, 1 << 27}, {})).starts_with("a.npy: "));
  EXPECT_EQ(problem(Npy<float>(DType::kF32, {1 << 30}, {1})),
            "a.npy: cut off: it ends within its rows 1 to 1000 of 1073741824");
}

std::string SomeNpz(bool deflate, bool zip64 = false) {
  return testing::MakeZip({{"x.npy", Npy<float>(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), deflate},
                           {"y.npy", Npy<int64_t>(DType::kI64, {3}, {7, 8, 9}), deflate}},
                          zip64);
}

TEST(NpzRows, ArraysLieSideBySide) {
  FaultyFileSystem fs;
  for (const bool zip64 : {false, true}) {
    for (const bool deflate : {false, true}) {
      if (deflate && !testing::kCanDeflate) continue;
      WriteFileAtomically(fs, "a.npz", SomeNpz(deflate, zip64));
      const auto open = [&] { return OpenReader(fs, "a.npz"); };
      const RowBlock rows = ReadRest(*open());
      EXPECT_EQ(rows.schema().ToString(), "x: f32[2]\ny: i64\n");
      EXPECT_THAT(rows[0].floats.span(), ElementsAre(1, 2, 3, 4, 5, 6));
      EXPECT_THAT(rows[1].ints.span(), ElementsAre(7, 8, 9));
      testing::CheckPositions(open, 1);
      EXPECT_THAT(ReadRest(*OpenReader(fs, "a.npz", {.columns = {"y"}}))[0].ints.span(),
                  ElementsAre(7, 8, 9));
    }
  }
  EXPECT_EQ(MessageOf([&] { OpenReader(fs, "a.npz", {.columns = {"z"}}); }),
            "a.npz: has no array 'z'");
  WriteFileAtomically(fs, "b.npz",
                      testing::MakeZip({{"x.npy", Npy<float>(DType::kF32, {1}, {1})},
                                        {"y.npy", Npy<float>(DType::kF32, {2}, {1, 2})}}));
  EXPECT_EQ(MessageOf([&] { OpenReader(fs, "b.npz"); }), "b.npz: 'y' has 2 rows, but 'x' has 1");
}

TEST(Zip, AnArchiveThatIsChangedAnywhereGivesTheSameOrAnError) {
  FaultyFileSystem fs;
  const std::string whole = SomeNpz(testing::kCanDeflate);
  WriteFileAtomically(fs, "a.npz", whole);
  const RowBlock wanted = ReadRest(*OpenReader(fs, "a.npz"));
  int errors = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {1, 0x80}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      WriteFileAtomically(fs, "a.npz", changed);
      try {
        const RowBlock rows = ReadRest(*OpenReader(fs, "a.npz"));
        // Names, and times that nobody reads, may change; what the rows hold may not.
        EXPECT_TRUE(rows.schema() != wanted.schema() || rows == wanted) << i;
      } catch (const Error& error) {
        EXPECT_TRUE(std::string_view(error.what()).starts_with("a.npz: ")) << error.what();
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100);
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFileAtomically(fs, "a.npz", whole.substr(0, size));
    EXPECT_TRUE(MessageOf([&] { ReadRest(*OpenReader(fs, "a.npz")); }).starts_with("a.npz: "));
  }
}

TEST(Zip, WhatIsNotUnderstoodIsSaid) {
  FaultyFileSystem fs;
  const auto problem = [&](const std::string& file) {
    WriteFileAtomically(fs, "a.npz", file);
    return MessageOf([&] { OpenReader(fs, "a.npz"); });
  };
  EXPECT_EQ(problem("hello"), "a.npz: not a zip archive, or cut off: it has no directory");
  EXPECT_EQ(problem(testing::MakeZip({{"readme.txt", "hi"}})),
            "a.npz: 'readme.txt' is no array: an .npz holds .npy files");
  EXPECT_EQ(problem(testing::MakeZip({})), "a.npz: holds no array");
}

}  // namespace
}  // namespace catamaran
