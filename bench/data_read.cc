// Reading rows in the shape of Criteo's into batches, through a Pipeline without threads of its
// own: from record files, or with --format tsv from text. Cases: "packed", three columns, of which
// two are 13 and 26 wide; "columns", 40 of them, ids in lists.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/ctr/rows.h"
#include "bench/worker.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran::bench {
namespace {

constexpr int64_t kReadRows = 102'400;
constexpr int64_t kBatch = 2048;

Schema ColumnsSchema() {
  std::vector<Column> columns = {Column::Dense("label")};
  for (int64_t i = 0; i < kNumbers; ++i)
    columns.push_back(Column::Dense(fmt::format("i{}", i + 1)));
  for (int64_t i = 0; i < kFields; ++i) columns.push_back(Column::Ids(fmt::format("c{}", i + 1)));
  return Schema(std::move(columns));
}

// The rows that are measured, as the case has them.
RowBlock MakeRows(const std::string& name) {
  const RowBlock all = MakeCtrRows();
  RowBlock packed(all.schema());
  packed.AppendRows(all, 0, kReadRows);
  if (name == "packed") return packed;
  RowBlock rows(ColumnsSchema());
  const float* dense = packed[1].floats.data();
  const int64_t* ids = packed[2].ints.data();
  for (int64_t r = 0; r < kReadRows; ++r) {
    rows[0].floats.push_back(packed[0].floats[static_cast<size_t>(r)]);
    for (int i = 0; i < kNumbers; ++i) rows[1 + i].floats.push_back(*dense++);
    for (int i = 0; i < kFields; ++i) {
      ColumnBlock& column = rows[1 + static_cast<int>(kNumbers) + i];
      column.ints.push_back(*ids++);
      column.EndList();
    }
    rows.FinishRow();
  }
  return rows;
}

std::string AsTsv() {
  const RowBlock rows = MakeRows("packed");
  std::string text;
  for (int64_t r = 0; r < kReadRows; ++r) {
    fmt::format_to(std::back_inserter(text), "{}", rows[0].floats[static_cast<size_t>(r)]);
    for (int64_t i = 0; i < kNumbers; ++i) {
      fmt::format_to(std::back_inserter(text), "\t{}",
                     rows[1].floats[static_cast<size_t>(r * kNumbers + i)]);
    }
    for (int64_t i = 0; i < kFields; ++i) {
      fmt::format_to(std::back_inserter(text), "\t{}",
                     rows[2].ints[static_cast<size_t>(r * kFields + i)]);
    }
    text += '\n';
  }
  return text;
}

class Read final : public Case {
 public:
  Read(const std::string& name, bool tsv) : fs_(PosixFileSystem()), tsv_(tsv) {
    reader_.schema = name == "packed" ? CtrSchema() : ColumnsSchema();
    path_ = scratch_.path() + (tsv ? "/rows.tsv" : "/rows.rec");
    if (tsv) {
      reader_.text.header = false;
      WriteFileAtomically(fs_, path_, AsTsv());
    } else {
      const RowBlock rows = MakeRows(name);
      RecordWriter writer(fs_, path_, rows.schema());
      writer.Add(rows);
      writer.Finish();
    }
    Run();
  }

  Measurement Run() override {
    Measurement m;
    m.seconds = Once({.batch_rows = kBatch});
    if (!tsv_) {
      m.parts = {{"batch128", Once({.batch_rows = 128})},
                 {"shuffled", Once({.batch_rows = kBatch, .shuffle_window = 50'000})},
                 {"shuffled128", Once({.batch_rows = 128, .shuffle_window = 50'000})},
                 {"blocks", Blocks()}};
    }
    return m;
  }

  // Sums of the label, the numbers and the ids.
  std::vector<double> Check() override {
    std::vector<double> sums(3);
    Pipeline pipeline(fs_, {path_}, reader_, {.threads = 0, .batch_rows = kBatch});
    while (const Batch* batch = pipeline.Next()) {
      for (int c = 0; c < pipeline.schema().size(); ++c) {
        for (const float v : batch->rows[c].floats.span()) sums[c == 0 ? 0 : 1] += v;
        for (const int64_t v : batch->rows[c].ints.span()) sums[2] += static_cast<double>(v);
      }
    }
    return sums;
  }

 private:
  // Seconds a row, in an epoch that follows another: what a training sees.
  double Once(PipelineOptions options) {
    const std::string key = fmt::format("{} {}", options.batch_rows, options.shuffle_window);
    std::unique_ptr<Pipeline>& pipeline = pipelines_[key];
    if (pipeline == nullptr) {
      options.threads = 0;
      options.epochs = 0;
      pipeline = std::make_unique<Pipeline>(fs_, std::vector{path_}, reader_, options);
      for (int64_t rows = 0; rows < kReadRows;) rows += pipeline->Next()->rows.rows();
    }
    int64_t rows = 0;
    const double begin = Now();
    while (rows < kReadRows) rows += pipeline->Next()->rows.rows();
    const double end = Now();
    if (rows != kReadRows) throw std::runtime_error(fmt::format("read {} rows", rows));
    return (end - begin) / static_cast<double>(rows);
  }

  // What the pipeline adds to: the blocks alone.
  double Blocks() {
    const double begin = Now();
    const auto reader = OpenReader(fs_, path_, reader_);
    RowBlock block;
    while (reader->Read(1 << 20, block)) {
    }
    return (Now() - begin) / static_cast<double>(kReadRows);
  }

  FileSystem& fs_;
  const bool tsv_;
  ScratchDirectory scratch_{PosixFileSystem(), SystemScratch()};
  ReaderOptions reader_;
  std::string path_;
  std::map<std::string, std::unique_ptr<Pipeline>> pipelines_;  // by what Once was asked
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const bool tsv = Option(argc, argv, "--format", "records") == "tsv";
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    if (name == "packed" || name == "columns") return std::make_unique<Read>(name, tsv);
    throw std::runtime_error("no case " + name);
  });
}
