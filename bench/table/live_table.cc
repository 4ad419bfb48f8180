#include "bench/table/live_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran::bench {

ScratchDirectory::ScratchDirectory() {
  const char* chosen = std::getenv("CATAMARAN_BENCH_DIR");
  if (chosen == nullptr) chosen = std::getenv("TMPDIR");
  path_ = std::string(chosen != nullptr ? chosen : "/var/tmp") + "/catamaran-bench-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("no directory can be made as " + path_);
  }
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Program LiveProgram(const std::string& settings) {
  const std::string text =
      "program live\n\ntable @feat : u64 -> f32[16] = zeros {\n"
      "  optimizer = rowwise_adagrad(lr=0.01, initial_accumulator=0.1)\n" +
      settings + "}\n";
  const auto builders = StandardBuilders();
  return Flatten(Parse(text, "live.ctm", StandardOps(), *builders), *builders);
}

LiveTable::LiveTable(const std::string& settings)
    : program_(LiveProgram(settings)), state_(State::Create(program_, 1)) {}

LiveTable::LiveTable(const std::string& settings, LoadedState loaded)
    : program_(LiveProgram(settings)), state_(std::move(loaded.state)) {}

void LiveTable::BeginCommits(const std::string& directory) {
  commits_.reset();
  commits_ = MakeCommits(PosixFileSystem(), directory, program_, *state_);
}

int64_t BytesBelow(const std::string& directory) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

void ForgetCached(const std::string& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

}  // namespace catamaran::bench
