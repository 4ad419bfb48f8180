// What kinds of errors data ends with.

#include <gtest/gtest.h>

#include <random>

#include "catamaran/base/faulty_file.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran {
namespace {

ErrorCode CodeAfter(FunctionRef<void()> body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

ErrorCode CodeOfReading(const FileSystem& fs, const std::string& path) {
  return CodeAfter([&] { testing::ReadRest(*OpenReader(fs, path)); });
}

TEST(ErrorCodesOfData, AreThoseOfTheirCauses) {
  FaultyFileSystem fs;
  std::mt19937_64 random(1);
  RowBlock rows(testing::EveryKind());
  testing::AddRandomRows(random, 100, rows);
  RecordWriter writer(fs, "a.rec", testing::EveryKind());
  writer.Add(rows);
  writer.Finish();
  fs.FlipBit("a.rec", 8 * 300);
  EXPECT_EQ(CodeOfReading(fs, "a.rec"), ErrorCode::kStorage);

  WriteFileAtomically(fs, "a.csv", "x,y\n1,2\n3,4\n5,six\n");
  ReaderOptions numbers;
  numbers.schema = Schema({Column::Dense("x"), Column::Dense("y")});
  EXPECT_EQ(CodeAfter([&] { testing::ReadRest(*OpenReader(fs, "a.csv", numbers)); }),
            ErrorCode::kBadData);
  numbers.schema = Schema({Column::Dense("z")});
  EXPECT_EQ(CodeAfter([&] { OpenReader(fs, "a.csv", numbers); }), ErrorCode::kInvalidArgument);

  WriteFileAtomically(fs, "a.features", "a = hash(\n");
  EXPECT_EQ(CodeAfter([&] { LoadFeatures(fs, "a.features"); }), ErrorCode::kInvalidProgram);
}

}  // namespace
}  // namespace catamaran
