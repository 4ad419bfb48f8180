#include "catamaran/exec/versions.h"

#include <algorithm>
#include <cstring>

#include "catamaran/base/error.h"

// Why readers need no lock. A reader raises the count of the version that it found current and
// then looks again whether that is still current. The writer takes a version for reuse when it
// is not current and its count is 0. All four accesses are sequentially consistent, so either
// the reader's second look comes after the writer made another version current (the reader then
// lets go and tries again, having touched nothing but the count), or the writer sees the count.
// A reader that raised the count of a version under reuse and then finds it current again holds
// the new contents, whole: they were written before it became current.

namespace catamaran {

VersionPool::VersionPool(int cap) {
  CATAMARAN_CHECK(cap >= 2, "a State needs room for two versions at least");
  for (int i = 0; i < cap; ++i) versions_.push_back(std::make_unique<Version>());
}

const Version* VersionPool::Pin() {
  for (;;) {
    Version* version = current_.load(std::memory_order_seq_cst);
    if (version == nullptr) return nullptr;
    version->pins_.fetch_add(1, std::memory_order_seq_cst);
    if (current_.load(std::memory_order_seq_cst) == version) return version;
    version->pins_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void VersionPool::Unpin(const Version* version) {
  const_cast<Version*>(version)->pins_.fetch_sub(1, std::memory_order_seq_cst);
}

Version* VersionPool::FindFree() {
  const Version* current = current_.load(std::memory_order_seq_cst);
  for (const auto& version : versions_) {
    if (version.get() == current) continue;
    if (version->pins_.load(std::memory_order_seq_cst) == 0) return version.get();
  }
  return nullptr;
}

BufferRef VersionPool::FreeBuffer(size_t i, size_t bytes) {
  std::vector<BufferRef>& mine = buffers_[i];
  for (const BufferRef& buffer : mine) {
    if (buffer.use_count() == 1) return buffer;
  }
  mine.push_back(BufferRef::Allocate(bytes));
  return mine.back();
}

bool VersionPool::Publish(std::span<const Publishable> values, int64_t step) {
  Version* version = FindFree();
  if (version == nullptr) {
    skipped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const Version* last = current_.load(std::memory_order_seq_cst);
  buffers_.resize(values.size());
  version->buffers_.resize(values.size());
  version->pointers_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Publishable& value = values[i];
    if (!value.versioned) continue;
    if (last != nullptr && !value.changed) {
      version->buffers_[i] = last->buffers_[i];
    } else {
      version->buffers_[i] = BufferRef();  // its old buffer may be the free one
      version->buffers_[i] = FreeBuffer(i, value.bytes);
      if (value.bytes > 0) std::memcpy(version->buffers_[i].data(), value.data, value.bytes);
      bytes_copied_.fetch_add(value.bytes, std::memory_order_relaxed);
    }
    version->pointers_[i] = version->buffers_[i].data();
  }
  version->step_ = step;
  version->number_ = publications_.fetch_add(1, std::memory_order_relaxed) + 1;
  current_.store(version, std::memory_order_seq_cst);
  return true;
}

}  // namespace catamaran
