// Any bytes as CSV, TSV, Criteo's, libsvm, libffm or text: every instruction set splits them the
// same way, and reading on from any position gives the rows that follow. The first byte chooses the
// format and its options.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/text/csv_splitter.h"

using namespace catamaran;

namespace {

[[noreturn]] void Wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string Split(const FileSystem& fs, Isa isa) {
  CsvSplitter splitter(OpenByteStream(fs, "f"), {.max_row_bytes = 512, .isa = isa});
  std::string all;
  try {
    while (splitter.Next()) {
      for (const std::string_view field : splitter.fields()) all.append(field) += '\x1f';
      all += std::to_string(splitter.line());
    }
  } catch (const Error& error) {
    all += error.what();
  }
  return all;
}

RowBlock ReadAll(RowReader& reader, Position* middle, int64_t* rows_before) {
  RowBlock all(reader.schema()), block;
  for (int i = 0; reader.Read(3, block); ++i) {
    block.Check("fuzz");
    all.AppendRows(block, 0, block.rows());
    if (i == 1 && middle != nullptr) {
      *middle = reader.position();
      *rows_before = all.rows();
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "f", std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));

  const std::string plain = Split(fs, Isa::kPlain);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= DetectIsa() && Split(fs, isa) != plain) Wrong("instruction sets differ");
  }

  constexpr const char* kFormats[] = {"csv", "tsv", "criteo", "libsvm", "libffm", "text", "csv"};
  ReaderOptions options;
  options.format = kFormats[data[0] % 7];
  options.bad_rows.limit = (data[0] & 0x80) != 0 ? 1000 : 0;
  options.text.max_row_bytes = 1000;
  options.text.infer_rows = 3;
  if (data[0] % 7 == 6) {
    options.text.header = false;
    options.schema = Schema::Parse("a: f32\nb: i64\nc: u8\nd: ids\ne: weighted_ids\ng: string");
  }
  try {
    const auto reader = OpenReader(fs, "f", options);
    Position middle;
    int64_t before = 0;
    const RowBlock all = ReadAll(*reader, &middle, &before);
    reader->Seek(middle);
    RowBlock wanted(all.schema());
    wanted.AppendRows(all, before, all.rows());
    if (!(ReadAll(*reader, nullptr, nullptr) == wanted)) Wrong("other rows after Seek");
  } catch (const Error&) {
  }
  return 0;
}
