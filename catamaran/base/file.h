// base/file.h
//
// All file access of the library goes through a FileSystem, so that tests can make it fail: see
// faulty_file.h. PosixFileSystem() is the real one.
//
// What survives. Process death: every byte whose Append returned, every rename, every removal.
// Power loss: bytes appended before a Sync that returned; a file's name (made, renamed or removed)
// once SyncDirectory of the directory that holds it has returned. Nothing else.
//
// Every failure throws an Error that says what was being done, to which path, and what the system
// answered. Its code is storage; resource exhausted where there is no room, no descriptor or no
// memory; unavailable for a lock that another holds.
//
// Thread safety: a FileSystem, a RandomReadFile and a MappedFile may be used from several threads
// at once; a WritableFile by one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catamaran {

// A file being written, from its end on. Destroying it closes it and says nothing of failures;
// call Close to hear of them.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Adds all bytes at the end, or throws; then a part of them may have been added.
  virtual void Append(std::span<const std::byte> bytes) = 0;
  void Append(std::string_view text) { Append(std::as_bytes(std::span(text.data(), text.size()))); }

  // A wish: what has been appended goes to the disk from now on, so that Sync has less to wait for.
  virtual void BeginSync() {}

  // Returns when all bytes appended so far would survive a loss of power. After a Sync that threw,
  // nothing is known about bytes appended since the one before it; do not retry, write anew.
  virtual void Sync() = 0;

  // REQUIRES: no other call follows, except Close, which then does nothing.
  virtual void Close() = 0;
};

class RandomReadFile {
 public:
  virtual ~RandomReadFile() = default;

  // Copies bytes from `offset` on to `out` and returns how many: at least one unless `out` is
  // empty or the file ends at or before `offset`, but maybe fewer than out.size().
  virtual size_t Read(uint64_t offset, std::span<std::byte> out) const = 0;

  // Fills `out` from `offset` on; throws if the file ends before that.
  void ReadExactly(uint64_t offset, std::span<std::byte> out) const;

  // The size when the file was opened.
  virtual uint64_t size() const = 0;

  virtual const std::string& path() const = 0;
};

// The bytes of a whole file as memory, read only, as they were when it was mapped: whoever maps a
// file sees to it that nobody changes or cuts it. They are good until this is destroyed, whatever
// becomes of the file's name. A disk that cannot read a page ends the process.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Aligned to a cache line at least.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

  // Wishes; they change nothing but speed and memory. The bytes will be read soon; or not again
  // soon, so that their memory may go to others.
  virtual void WillNeed(uint64_t /*offset*/, uint64_t /*size*/) const {}
  virtual void DoneWith(uint64_t /*offset*/, uint64_t /*size*/) const {}

 protected:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}
  std::span<const std::byte> bytes_;

 private:
  const std::string path_;
};

// Held from FileSystem::Lock until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  // ReadAll refuses larger files unless told otherwise.
  static constexpr size_t kReadAllLimit = size_t{1} << 30;

  virtual ~FileSystem() = default;

  // Makes an empty file, or empties the one that is there.
  virtual std::unique_ptr<WritableFile> OpenWrite(const std::string& path) = 0;

  // Goes on at the end of the file that is there, or makes an empty one.
  virtual std::unique_ptr<WritableFile> OpenAppend(const std::string& path) = 0;

  virtual std::unique_ptr<RandomReadFile> OpenRead(const std::string& path) const = 0;

  virtual std::unique_ptr<MappedFile> Map(const std::string& path) const = 0;

  // The whole file. Throws if it has more than `max_bytes`.
  std::string ReadAll(const std::string& path, size_t max_bytes = kReadAllLimit) const;

  // Cuts the file to its first `size` bytes, durably.
  // REQUIRES: the file has at least `size` bytes and is not open for writing.
  virtual void Truncate(const std::string& path, uint64_t size) = 0;

  // Atomic for readers; replaces a file named `to`.
  virtual void Rename(const std::string& from, const std::string& to) = 0;

  // Removes a file or an empty directory; throws if there is none.
  virtual void Remove(const std::string& path) = 0;

  virtual bool Exists(const std::string& path) const = 0;
  virtual bool IsDirectory(const std::string& path) const = 0;

  // Does nothing if the directory is there. The parent must be there.
  virtual void MakeDirectory(const std::string& path) = 0;

  // Makes the directory and all missing parents, durably.
  void MakeDirectories(const std::string& path);

  // The names (not paths) in a directory, sorted, without "." and "..".
  virtual std::vector<std::string> List(const std::string& directory) const = 0;

  // Returns when the names in `directory` would survive a loss of power.
  virtual void SyncDirectory(const std::string& directory) = 0;

  // Takes the exclusive lock named by the file `path`, which is made if missing and stays. Throws
  // at once if this or another process holds it; the lock goes with its holder's process.
  virtual std::unique_ptr<FileLock> Lock(const std::string& path) = 0;
};

// The operating system's files. Stateless and shared.
FileSystem& PosixFileSystem();

// Makes `contents` the contents of `path` so that after any crash the file holds the old or the
// new contents, whole; when it returns, the new ones, durably. Writes `path`.tmp first; if it
// throws, that file is removed where possible, and `path` holds the old contents, unless only the
// last step, syncing the directory, failed.
// REQUIRES: nobody else writes `path` at the same time.
void WriteFileAtomically(FileSystem& fs, const std::string& path, std::span<const std::byte> bytes);
void WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view contents);

// Removes a file, or a directory with all in it; does nothing if there is none.
void RemoveTree(FileSystem& fs, const std::string& path);

// "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string ParentDirectory(std::string_view path);

// "a/b" for "a" and "b"; one slash between them.
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace catamaran
