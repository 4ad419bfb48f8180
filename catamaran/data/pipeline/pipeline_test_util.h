// data/pipeline/pipeline_test_util.h
//
// What tests of pipelines share: numbers as rows, in every format.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran::testing {

// Records of one column x, the numbers [begin, end).
inline void WriteNumbers(FileSystem& fs, const std::string& path, int64_t begin, int64_t end,
                         int64_t rows_per_block = 10) {
  const Schema schema({Column::Dense("x", DType::kI64)});
  RowBlock rows(schema);
  for (int64_t i = begin; i < end; ++i) {
    rows[0].ints.push_back(i);
    rows.FinishRow();
  }
  RecordWriter writer(fs, path, schema, {.rows_per_block = rows_per_block});
  writer.Add(rows);
  writer.Finish();
}

// The same as CSV with a header; row i is line i + 2. Where `bad` divides i, there is no number.
inline std::string NumbersAsText(int64_t begin, int64_t end, int64_t bad = 0) {
  std::string text = "x\n";
  for (int64_t i = begin; i < end; ++i) {
    text += bad != 0 && i % bad == bad - 1 ? "bad\n" : std::to_string(i) + "\n";
  }
  return text;
}

// The column x of a batch.
inline std::vector<int64_t> Numbers(const Batch& batch) {
  const Buffer<int64_t>& ints = batch.rows[batch.rows.schema().Find("x")].ints;
  return {ints.begin(), ints.end()};
}

// The batches from where the pipeline is to the end.
inline std::vector<std::vector<int64_t>> AllNumbers(Pipeline& pipeline) {
  std::vector<std::vector<int64_t>> all;
  while (const Batch* batch = pipeline.Next()) all.push_back(Numbers(*batch));
  return all;
}

inline std::vector<int64_t> Flat(const std::vector<std::vector<int64_t>>& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

// x + 1000; refuses multiples of `refused`.
class AddThousand final : public RowTransform {
 public:
  explicit AddThousand(int64_t refused = 0) : refused_(refused) {}
  const Schema& schema() const override { return schema_; }
  std::vector<std::string> inputs() const override { return {"x"}; }
  uint64_t hash() const override { return 1 + static_cast<uint64_t>(refused_); }
  void Apply(const RowBlock& in, RowBlock& out) const override {
    out.Begin(schema_);
    for (const int64_t x : in[in.schema().Find("x")].ints.span()) {
      if (refused_ != 0 && x % refused_ == 0) Fail("row {}: {} is refused", out.rows(), x);
      out[0].ints.push_back(x + 1000);
      out.FinishRow();
    }
  }

 private:
  const int64_t refused_;
  const Schema schema_ = Schema({Column::Dense("x", DType::kI64)});
};

class PipelineTest : public ::testing::Test {
 protected:
  Pipeline Open(PipelineOptions options) {
    return Pipeline(fs_, paths_, reader_, std::move(options));
  }
  std::vector<std::vector<int64_t>> Read(PipelineOptions options) {
    Pipeline pipeline = Open(std::move(options));
    return AllNumbers(pipeline);
  }

  FaultyFileSystem fs_;
  std::vector<std::string> paths_ = {"x.rec"};
  ReaderOptions reader_;
};

}  // namespace catamaran::testing
