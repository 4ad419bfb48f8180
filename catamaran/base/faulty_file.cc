#include "catamaran/base/faulty_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_disk.h"
#include "catamaran/base/memory.h"

namespace catamaran {
namespace {

using Disk = FaultyFileSystem::Disk;
using Place = Disk::Place;
using NodeRef = Disk::NodeRef;

class FaultyWritableFile final : public WritableFile {
 public:
  FaultyWritableFile(std::shared_ptr<Disk> disk, NodeRef node, std::string path)
      : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)) {
    boot_ = disk_->boots;
  }

  void Append(std::span<const std::byte> bytes) override {
    std::lock_guard lock(disk_->mutex);
    Begin("write to");
    const size_t fits = std::min<uint64_t>(bytes.size(), disk_->space);
    node_->data.append(reinterpret_cast<const char*>(bytes.data()), fits);
    if (disk_->space != UINT64_MAX) disk_->space -= fits;
    if (fits < bytes.size())
      Fail(ErrorCode::kResourceExhausted, "cannot write to {}: No space left on device", path_);
  }

  void Sync() override {
    std::lock_guard lock(disk_->mutex);
    Begin("sync");
    node_->durable_data = node_->data;
  }

  void Close() override {
    if (closed_) return;
    std::lock_guard lock(disk_->mutex);
    Begin("close");
    closed_ = true;
  }

 private:
  void Begin(std::string_view doing) {
    disk_->BeginOnOpenFile(doing, path_, boot_);
    if (closed_) Fail(ErrorCode::kStorage, "cannot {} {}: it is closed", doing, path_);
  }

  std::shared_ptr<Disk> disk_;
  NodeRef node_;
  std::string path_;
  uint64_t boot_;
  bool closed_ = false;
};

class FaultyRandomReadFile final : public RandomReadFile {
 public:
  FaultyRandomReadFile(std::shared_ptr<Disk> disk, NodeRef node, std::string path)
      : disk_(std::move(disk)), node_(std::move(node)), path_(std::move(path)) {
    boot_ = disk_->boots;
    size_ = node_->data.size();
  }

  size_t Read(uint64_t offset, std::span<std::byte> out) const override {
    std::lock_guard lock(disk_->mutex);
    disk_->BeginOnOpenFile("read from", path_, boot_);
    if (offset >= node_->data.size()) return 0;
    const size_t count =
        std::min({out.size(), static_cast<size_t>(node_->data.size() - offset), disk_->read_limit});
    if (count > 0) std::memcpy(out.data(), node_->data.data() + offset, count);
    return count;
  }

  uint64_t size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  std::shared_ptr<Disk> disk_;
  NodeRef node_;
  std::string path_;
  uint64_t boot_;
  uint64_t size_;
};

class FaultyMappedFile final : public MappedFile {
 public:
  FaultyMappedFile(const std::string& contents, std::string path)
      : MappedFile(std::move(path)), copy_(BufferRef::Allocate(contents.size())) {
    if (!contents.empty()) std::memcpy(copy_.data(), contents.data(), contents.size());
    bytes_ = {copy_.data(), contents.size()};
  }

 private:
  BufferRef copy_;
};

class FaultyFileLock final : public FileLock {
 public:
  FaultyFileLock(std::shared_ptr<Disk> disk, NodeRef node)
      : disk_(std::move(disk)), node_(std::move(node)), boot_(disk_->boots) {}

  ~FaultyFileLock() override {
    std::lock_guard lock(disk_->mutex);
    if (boot_ == disk_->boots) disk_->locks.erase(node_);
  }

 private:
  std::shared_ptr<Disk> disk_;
  NodeRef node_;
  uint64_t boot_;
};

}  // namespace

FaultyFileSystem::FaultyFileSystem() : disk_(std::make_shared<Disk>()) {}

FaultyFileSystem::~FaultyFileSystem() = default;

uint64_t FaultyFileSystem::operations() const {
  std::lock_guard lock(disk_->mutex);
  return disk_->operations;
}

void FaultyFileSystem::FailAt(uint64_t k) {
  std::lock_guard lock(disk_->mutex);
  disk_->fail_at = disk_->operations + k;
}

void FaultyFileSystem::CrashAt(uint64_t k, uint64_t seed) {
  std::lock_guard lock(disk_->mutex);
  disk_->crash_at = disk_->operations + k;
  disk_->crash_seed = seed;
}

void FaultyFileSystem::Crash(uint64_t seed) {
  std::lock_guard lock(disk_->mutex);
  disk_->Crash(seed);
}

void FaultyFileSystem::Restart() {
  std::lock_guard lock(disk_->mutex);
  disk_->crashed = false;
  disk_->crash_at = disk_->fail_at = Disk::kNever;
}

void FaultyFileSystem::SetDiskSpace(uint64_t bytes) {
  std::lock_guard lock(disk_->mutex);
  disk_->space = bytes;
}

void FaultyFileSystem::LimitReads(size_t bytes) {
  if (bytes == 0) Fail("a limit of 0 bytes for reads would look like the end of every file");
  std::lock_guard lock(disk_->mutex);
  disk_->read_limit = bytes;
}

void FaultyFileSystem::FlipBit(const std::string& path, uint64_t bit) {
  std::lock_guard lock(disk_->mutex);
  const NodeRef node = disk_->FindFile("flip a bit of", path);
  if (bit / 8 >= node->data.size()) {
    Fail("cannot flip bit {} of {}: it has {} bytes", bit, path, node->data.size());
  }
  const char mask = static_cast<char>(1 << (bit % 8));
  node->data[bit / 8] ^= mask;
  if (bit / 8 < node->durable_data.size()) node->durable_data[bit / 8] ^= mask;
}

std::unique_ptr<WritableFile> FaultyFileSystem::OpenWrite(const std::string& path) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("open for writing", path);
  const NodeRef node = disk_->FindOrMakeFile("open for writing", path);
  node->data.clear();
  return std::make_unique<FaultyWritableFile>(disk_, node, path);
}

std::unique_ptr<WritableFile> FaultyFileSystem::OpenAppend(const std::string& path) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("open for writing", path);
  const NodeRef node = disk_->FindOrMakeFile("open for writing", path);
  return std::make_unique<FaultyWritableFile>(disk_, node, path);
}

std::unique_ptr<RandomReadFile> FaultyFileSystem::OpenRead(const std::string& path) const {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("open for reading", path);
  const NodeRef node = disk_->FindFile("open for reading", path);
  return std::make_unique<FaultyRandomReadFile>(disk_, node, path);
}

std::unique_ptr<MappedFile> FaultyFileSystem::Map(const std::string& path) const {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("open to map", path);
  return std::make_unique<FaultyMappedFile>(disk_->FindFile("open to map", path)->data, path);
}

void FaultyFileSystem::Truncate(const std::string& path, uint64_t size) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("cut", path);
  const NodeRef node = disk_->FindFile("cut", path);
  if (node->data.size() < size) {
    Fail("cannot cut {} to {} bytes: it has {}", path, size, node->data.size());
  }
  node->data.resize(size);
  node->durable_data = node->data;
}

void FaultyFileSystem::Rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("rename", from);
  const Place source = disk_->FindExisting("rename", from);
  const Place target = disk_->Find("rename to", to);
  if (source.directory == nullptr || target.directory == nullptr) {
    Fail("cannot rename {} to {}: the root has no name", from, to);
  }
  if (source.node == target.node) return;
  const bool whole = target.node == nullptr || (source.node->directory == target.node->directory &&
                                                target.node->entries.empty());
  if (!whole)
    Fail(ErrorCode::kStorage, "cannot rename {} to {}: that is a directory, or not one", from, to);
  disk_->Change(
      {{source.directory, source.name, nullptr}, {target.directory, target.name, source.node}});
}

void FaultyFileSystem::Remove(const std::string& path) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("remove", path);
  const Place place = disk_->FindExisting("remove", path);
  if (place.directory == nullptr) Fail("cannot remove {}: it is the root", path);
  if (!place.node->entries.empty())
    Fail(ErrorCode::kStorage, "cannot remove {}: Directory not empty", path);
  disk_->Change({{place.directory, place.name, nullptr}});
}

bool FaultyFileSystem::Exists(const std::string& path) const {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("look at", path);
  return disk_->Lookup(path) != nullptr;
}

bool FaultyFileSystem::IsDirectory(const std::string& path) const {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("look at", path);
  const NodeRef node = disk_->Lookup(path);
  return node != nullptr && node->directory;
}

void FaultyFileSystem::MakeDirectory(const std::string& path) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("make directory", path);
  const Place place = disk_->Find("make directory", path);
  if (place.node == nullptr) {
    disk_->Change({{place.directory, place.name, std::make_shared<Disk::Node>(true)}});
  } else if (!place.node->directory) {
    Fail(ErrorCode::kStorage, "cannot make directory {}: File exists", path);
  }
}

std::vector<std::string> FaultyFileSystem::List(const std::string& directory) const {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("list directory", directory);
  std::vector<std::string> names;
  for (const auto& [name, node] : disk_->FindDirectory("list directory", directory)->entries) {
    names.push_back(name);
  }
  return names;
}

void FaultyFileSystem::SyncDirectory(const std::string& directory) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("sync directory", directory);
  disk_->Sync(disk_->FindDirectory("sync directory", directory));
}

std::unique_ptr<FileLock> FaultyFileSystem::Lock(const std::string& path) {
  std::lock_guard lock(disk_->mutex);
  disk_->Begin("lock", path);
  const NodeRef node = disk_->FindOrMakeFile("lock", path);
  if (!disk_->locks.insert(node).second) {
    Fail(ErrorCode::kUnavailable, "cannot lock {}: somebody else holds the lock", path);
  }
  return std::make_unique<FaultyFileLock>(disk_, node);
}

}  // namespace catamaran
