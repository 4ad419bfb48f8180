// Any bytes as .npz (a zip archive), .npy or IDX, or the same gzip'd: an error or rows, and no
// memory on the word of a header. The first byte chooses the format.

#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/reader.h"

using namespace catamaran;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "f", std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  constexpr const char* kFormats[] = {"npz", "npy", "idx"};
  try {
    const auto reader = OpenReader(fs, "f", {.format = kFormats[data[0] % 3]});
    RowBlock block;
    // A gzip'd file may go on for long.
    for (int i = 0; i < 100 && reader->Read(100, block); ++i) block.Check("fuzz");
    const Position position = reader->position();
    reader->Seek(Position{});
    reader->Read(1, block);
    reader->Seek(position);
    reader->Read(1, block);
  } catch (const Error&) {
  }
  return 0;
}
