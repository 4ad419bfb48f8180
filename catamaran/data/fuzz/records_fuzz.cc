// Any bytes are an Error or a record file, whose rows can be written and come back. The first byte
// of the input says whether it is read as it is, or its checksums are made right first, so that the
// fuzzer gets past them.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/records/record_file.h"
#include "catamaran/data/records/record_test_util.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace catamaran;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) testing::Reseal(bytes);
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "in.rec", bytes);
  RowBlock block;
  try {
    const auto file = RecordFile::Open(fs, "in.rec");
    file->Verify();
    // Blocks may take a gigabyte each; the fuzzer looks at small ones.
    if (file->num_rows() > 10'000) return 0;
    const auto reader = OpenReader(fs, "in.rec", {.format = "records"});
    RowBlock all(file->schema());
    while (reader->Read(100, block)) all.AppendRows(block, 0, block.rows());
    if (all.rows() != file->num_rows()) std::abort();
    WriteFileAtomically(fs, "again.rec", testing::RecordBytes(fs, all, {.rows_per_block = 50}));
    RowBlock again(file->schema());
    const auto second = OpenReader(fs, "again.rec");
    while (second->Read(1000, block)) again.AppendRows(block, 0, block.rows());
    if (!(all == again)) std::abort();
  } catch (const Error& error) {
    // What was read once can be written and read again.
    const std::string_view message = error.what();
    if (!message.starts_with("in.rec:")) std::abort();
  }
  return 0;
}
