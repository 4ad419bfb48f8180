#include "bench/table/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "bench/table/live_table.h"
#include "bench/worker.h"

namespace catamaran::bench {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

}  // namespace

double WriteSeconds(const std::string& path, int64_t bytes) {
  std::vector<char> chunk(kChunk);
  for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<char>(i * 131 >> 3);
  const double begin = Now();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot write " + path);
  for (int64_t left = bytes; left > 0;) {
    const ssize_t n =
        write(file, chunk.data(), std::min<size_t>(kChunk, static_cast<size_t>(left)));
    if (n <= 0) throw std::runtime_error("cannot write " + path);
    left -= n;
  }
  fsync(file);
  const double seconds = Now() - begin;
  close(file);
  unlink(path.c_str());
  return seconds;
}

double ReadSeconds(const std::string& directory) {
  ForgetCached(directory);
  std::vector<char> chunk(kChunk);
  const double begin = Now();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::runtime_error("cannot read " + entry.path().string());
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (read(file, chunk.data(), chunk.size()) > 0) {
    }
    close(file);
  }
  return Now() - begin;
}

}  // namespace catamaran::bench
