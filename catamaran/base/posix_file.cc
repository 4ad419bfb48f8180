// The FileSystem of the operating system; see file.h.

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"

namespace catamaran {
namespace {

ErrorCode CodeOfErrno(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorCode::kResourceExhausted;
    default:
      return ErrorCode::kStorage;
  }
}

[[noreturn]] void FailWithErrno(std::string_view doing, const std::string& path) {
  const int number = errno;
  Fail(CodeOfErrno(number), "cannot {} {}: {}", doing, path,
       std::generic_category().message(number));
}

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Retry(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// An open descriptor with the path it was opened by.
class Descriptor {
 public:
  Descriptor(std::string_view doing, const std::string& path, int flags) : path_(path) {
    fd_ = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, 0666); });
    if (fd_ < 0) FailWithErrno(doing, path);
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  uint64_t Size() const {
    struct stat status;
    if (fstat(fd_, &status) != 0) FailWithErrno("look at", path_);
    return static_cast<uint64_t>(status.st_size);
  }

  void Sync() {
    if (Retry([&] { return fsync(fd_); }) != 0) FailWithErrno("sync", path_);
  }

  void Close() {
    if (fd_ < 0) return;
    // Linux frees the descriptor even where a signal interrupts the call.
    if (close(std::exchange(fd_, -1)) != 0 && errno != EINTR) FailWithErrno("close", path_);
  }

 private:
  std::string path_;
  int fd_ = -1;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(const std::string& path, int flags)
      : file_("open for writing", path, O_WRONLY | O_CREAT | flags) {}

  void Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = Retry([&] { return write(file_.fd(), bytes.data(), bytes.size()); });
      if (count < 0) FailWithErrno("write to", file_.path());
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  void BeginSync() override {
#if defined(SYNC_FILE_RANGE_WRITE)
    // Of the whole file: what is clean, or on its way, costs nothing.
    sync_file_range(file_.fd(), 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
  }
  void Sync() override { file_.Sync(); }
  void Close() override { file_.Close(); }

 private:
  Descriptor file_;
};

class PosixRandomReadFile final : public RandomReadFile {
 public:
  explicit PosixRandomReadFile(const std::string& path)
      : file_("open for reading", path, O_RDONLY), size_(file_.Size()) {}

  size_t Read(uint64_t offset, std::span<std::byte> out) const override {
    size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t count = Retry([&] {
        return pread(file_.fd(), out.data() + filled, out.size() - filled,
                     static_cast<off_t>(offset + filled));
      });
      if (count < 0) FailWithErrno("read from", file_.path());
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

  uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_.path(); }

 private:
  Descriptor file_;
  uint64_t size_;
};

class PosixMappedFile final : public MappedFile {
 public:
  explicit PosixMappedFile(const std::string& path) : MappedFile(path) {
    const Descriptor file("open to map", path, O_RDONLY);
    const uint64_t size = file.Size();
    if (size == 0) return;  // the system maps no empty file
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (memory == MAP_FAILED) FailWithErrno("map", path);
    bytes_ = {static_cast<const std::byte*>(memory), static_cast<size_t>(size)};
  }
  ~PosixMappedFile() override {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  void WillNeed(uint64_t offset, uint64_t size) const override {
    Advise(offset, size, MADV_WILLNEED);
  }
  void DoneWith(uint64_t offset, uint64_t size) const override {
    Advise(offset, size, MADV_DONTNEED);
  }

 private:
  void Advise(uint64_t offset, uint64_t size, int advice) const {
    if (offset >= bytes_.size()) return;
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t end = offset + std::min<uint64_t>(size, bytes_.size() - offset);
    const uint64_t begin = offset / page * page;
    madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, advice);
  }
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(const std::string& path) : file_("open to lock", path, O_RDWR | O_CREAT) {
    if (Retry([&] { return flock(file_.fd(), LOCK_EX | LOCK_NB); }) == 0) return;
    if (errno == EWOULDBLOCK) {
      Fail(ErrorCode::kUnavailable, "cannot lock {}: somebody else holds the lock", path);
    }
    FailWithErrno("lock", path);
  }

 private:
  Descriptor file_;  // the lock goes when it is closed
};

class PosixFiles final : public FileSystem {
 public:
  std::unique_ptr<WritableFile> OpenWrite(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_TRUNC);
  }

  std::unique_ptr<WritableFile> OpenAppend(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_APPEND);
  }

  std::unique_ptr<RandomReadFile> OpenRead(const std::string& path) const override {
    return std::make_unique<PosixRandomReadFile>(path);
  }

  std::unique_ptr<MappedFile> Map(const std::string& path) const override {
    return std::make_unique<PosixMappedFile>(path);
  }

  void Truncate(const std::string& path, uint64_t size) override {
    Descriptor file("open for writing", path, O_WRONLY);
    if (const uint64_t now = file.Size(); now < size) {
      Fail(ErrorCode::kStorage, "cannot cut {} to {} bytes: it has {}", path, size, now);
    }
    if (Retry([&] { return ftruncate(file.fd(), static_cast<off_t>(size)); }) != 0) {
      FailWithErrno("cut", path);
    }
    file.Sync();
    file.Close();
  }

  void Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return;
    const int number = errno;
    Fail(CodeOfErrno(number), "cannot rename {} to {}: {}", from, to,
         std::generic_category().message(number));
  }

  void Remove(const std::string& path) override {
    if (remove(path.c_str()) != 0) FailWithErrno("remove", path);
  }

  bool Exists(const std::string& path) const override {
    struct stat status;
    return Look(path, status);
  }

  bool IsDirectory(const std::string& path) const override {
    struct stat status;
    return Look(path, status) && S_ISDIR(status.st_mode);
  }

  void MakeDirectory(const std::string& path) override {
    if (mkdir(path.c_str(), 0777) == 0) return;
    const int code = errno;
    if (code == EEXIST && IsDirectory(path)) return;
    errno = code;
    FailWithErrno("make directory", path);
  }

  std::vector<std::string> List(const std::string& directory) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
    if (open == nullptr) FailWithErrno("list directory", directory);
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) FailWithErrno("list directory", directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  void SyncDirectory(const std::string& directory) override {
    Descriptor("open directory", directory, O_RDONLY | O_DIRECTORY).Sync();
  }

  std::unique_ptr<FileLock> Lock(const std::string& path) override {
    return std::make_unique<PosixFileLock>(path);
  }

 private:
  static bool Look(const std::string& path, struct stat& status) {
    if (stat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    FailWithErrno("look at", path);
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  static PosixFiles files;
  return files;
}

}  // namespace catamaran
