// data/features/features_test_util.h
//
// What tests of features share: rows from CSV text, through a features file given as text.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/reader.h"

namespace catamaran::testing {

// The rows of a file that holds `text`, in a format known by its name.
inline RowBlock RowsOf(std::string_view text, const std::string& name = "rows.csv",
                       const ReaderOptions& options = {}) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, name, text);
  const auto reader = OpenReader(fs, name, options);
  return ReadRest(*reader);
}

inline Features FeaturesOf(std::string_view text, const FileSystem& fs = FaultyFileSystem()) {
  return MakeFeatures(fs, text, "t.features");
}

// What the features file `text` makes of the rows.
inline RowBlock Transformed(const RowBlock& rows, std::string_view text) {
  const auto transform = FeaturesOf(text).Bind(rows.schema());
  RowBlock out;
  transform->Apply(rows, out);
  out.Check("transformed");
  EXPECT_EQ(out.rows(), rows.rows());
  EXPECT_EQ(out.schema(), transform->schema());
  return out;
}

// The numbers of the one output `x = expression`.
inline std::vector<float> Floats(const RowBlock& rows, const std::string& expression) {
  const RowBlock out = Transformed(rows, "x = " + expression);
  return {out[0].floats.begin(), out[0].floats.end()};
}

inline std::vector<int64_t> Ints(const RowBlock& rows, const std::string& expression) {
  const RowBlock out = Transformed(rows, "x = " + expression);
  return {out[0].ints.begin(), out[0].ints.end()};
}

// The message with which `x = expression` is refused.
inline std::string Refusal(const RowBlock& rows, const std::string& expression) {
  return MessageOf([&] { Transformed(rows, "x = " + expression); });
}

}  // namespace catamaran::testing
