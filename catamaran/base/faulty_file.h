// base/faulty_file.h
//
// A FileSystem in memory, for tests, that keeps exactly what file.h promises and no more: after
// Crash() unsynced bytes and names are gone, or a part of them is, as a seed says. It can also fail
// or crash at any operation, run out of space, read short and flip bits. To show that code survives
// a crash anywhere, run it once to count operations(), then once for each of them with CrashAt.
//
// Paths: "/" separates, a leading one means nothing, ".." is refused. The root is there.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"

namespace catamaran {

class FaultyFileSystem final : public FileSystem {
 public:
  FaultyFileSystem();
  ~FaultyFileSystem() override;

  // How many operations there have been: calls of this and its files, those that failed included.
  uint64_t operations() const;

  // Operation `k` from now on (0 is the next) throws and does nothing else.
  void FailAt(uint64_t k);

  // The machine loses power just before operation `k` from now on (0 is the next), which throws.
  void CrashAt(uint64_t k, uint64_t seed = 0);

  // The machine loses power now. Seed 0 drops all that was not synced. Any other seed chooses what
  // survives of it: of each file a prefix of the bytes appended since the last sync; of a file
  // emptied since then, its old contents or a prefix of the new; of makings, renames and removals
  // in directories not synced, the first few. Every operation throws until Restart().
  void Crash(uint64_t seed = 0);

  // The machine is on again, without any of the faults above. Files and locks from before the crash
  // stay dead.
  void Restart();

  // The next `bytes` appended fit; of an Append that goes beyond, only what fits is written, and it
  // throws.
  void SetDiskSpace(uint64_t bytes);

  // No Read copies more than `bytes`, which must be at least 1.
  void LimitReads(size_t bytes);

  // Flips a bit of the stored file: bit % 8 of byte bit / 8.
  void FlipBit(const std::string& path, uint64_t bit);

  std::unique_ptr<WritableFile> OpenWrite(const std::string& path) override;
  std::unique_ptr<WritableFile> OpenAppend(const std::string& path) override;
  std::unique_ptr<RandomReadFile> OpenRead(const std::string& path) const override;
  // One operation; the bytes are a copy.
  std::unique_ptr<MappedFile> Map(const std::string& path) const override;
  void Truncate(const std::string& path, uint64_t size) override;
  void Rename(const std::string& from, const std::string& to) override;
  void Remove(const std::string& path) override;
  bool Exists(const std::string& path) const override;
  bool IsDirectory(const std::string& path) const override;
  void MakeDirectory(const std::string& path) override;
  std::vector<std::string> List(const std::string& directory) const override;
  void SyncDirectory(const std::string& directory) override;
  std::unique_ptr<FileLock> Lock(const std::string& path) override;

  struct Disk;  // see faulty_disk.h; not for users

 private:
  std::shared_ptr<Disk> disk_;  // shared with open files
};

}  // namespace catamaran
