#include "catamaran/table/memory/page_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "catamaran/base/error.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace catamaran {
namespace {

// Of this many slabs the unused part of the last one is small enough to be huge from the start.
constexpr size_t kSlabsBeforeHuge = 128;

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
size_t SmallPage() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

PageRange::PageRange(size_t reserve_bytes, PageMode mode) : mode_(mode) {
  reserved_ = RoundUp(std::max<size_t>(reserve_bytes, 1), kSlabBytes);
  // One slab more, so that the range can begin at a multiple of a huge page.
  void* address = mmap(nullptr, reserved_ + kSlabBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    Fail(ErrorCode::kResourceExhausted,
         "table: the system has no range of {} bytes of addresses: {}", reserved_,
         std::strerror(errno));
  }
  const auto first = reinterpret_cast<uintptr_t>(address);
  const size_t before = RoundUp(first, kSlabBytes) - first;
  if (before > 0) munmap(address, before);
  base_ = static_cast<char*>(address) + before;
  munmap(base_ + reserved_, kSlabBytes - before);
}

PageRange::~PageRange() { munmap(base_, reserved_); }

bool PageRange::BeginsHuge(size_t slab) const {
  return mode_ != PageMode::kSmall && slab >= kSlabsBeforeHuge;
}

void PageRange::MakeHuge() {
  char* const at = base_ + small_from_;
  madvise(at, kSlabBytes, MADV_HUGEPAGE);
  // Now; where the system does not know how, it will in its own time.
  madvise(at, kSlabBytes, MADV_COLLAPSE);
  small_from_ += kSlabBytes;
}

void PageRange::MapSlab(size_t at) {
  void* const address = base_ + at;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mode_ == PageMode::kExplicit) {
    constexpr int kTwoMegabytes = 21 << 26;
    if (explicit_end_ == at && mmap(address, kSlabBytes, PROT_READ | PROT_WRITE,
                                    flags | MAP_HUGETLB | kTwoMegabytes, -1, 0) != MAP_FAILED) {
      explicit_end_ = at + kSlabBytes;
      return;
    }
    // The attempt may have left a hole in the addresses.
    if (mmap(address, kSlabBytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
      Fail(ErrorCode::kResourceExhausted, "table: no memory for more rows: {}",
           std::strerror(errno));
    }
  } else if (mprotect(address, kSlabBytes, PROT_READ | PROT_WRITE) != 0) {
    Fail(ErrorCode::kResourceExhausted, "table: no memory for more rows: {}", std::strerror(errno));
  }
  const bool huge = BeginsHuge(at / kSlabBytes);
  madvise(address, kSlabBytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void PageRange::Grow(size_t bytes) {
  if (bytes <= usable_) return;
  const size_t wanted = RoundUp(bytes, kSlabBytes);
  if (wanted > reserved_) {
    Fail("table: {} bytes of rows or index in one shard, and addresses for {}", bytes, reserved_);
  }
  for (size_t at = usable_; at < wanted; at += kSlabBytes) {
    if (at >= mapped_) {
      MapSlab(at);
      mapped_ = at + kSlabBytes;
    }
    usable_ = at + kSlabBytes;
    if (mode_ != PageMode::kSmall && at >= explicit_end_ && !BeginsHuge(at / kSlabBytes)) {
      small_from_ = std::max(small_from_, explicit_end_);
      small_end_ = usable_;
    }
  }
}

size_t PageRange::Shrink(size_t bytes) {
  if (bytes >= usable_) return usable_;
  const size_t slabs = RoundUp(bytes, kSlabBytes);
  if (explicit_end_ > slabs) {
    // The system forgets that it owes pages of the pool once they have been given back, so these
    // addresses go back to small pages until they grow again.
    if (mmap(base_ + slabs, explicit_end_ - slabs, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      return usable_;
    }
    mapped_ = explicit_end_ = slabs;
  }
  const bool whole_slabs = slabs <= explicit_end_ || BeginsHuge(slabs / kSlabBytes - 1);
  const size_t keep = whole_slabs ? slabs : RoundUp(bytes, SmallPage());
  Release(keep, usable_ - keep);
  for (size_t at = slabs; at < usable_ && !BeginsHuge(at / kSlabBytes); at += kSlabBytes) {
    madvise(base_ + at, kSlabBytes, MADV_NOHUGEPAGE);
  }
  usable_ = slabs;
  small_from_ = std::min(small_from_, slabs);
  small_end_ = std::min(small_end_, slabs);
  return keep;
}

void PageRange::Release(size_t first, size_t bytes) {
  const size_t end = first + bytes;
  if (first < explicit_end_) {
    // Pages of the pool stay: once given back they are not owed to us any more.
    const size_t pool_end = std::min(end, explicit_end_);
    std::memset(base_ + first, 0, pool_end - first);
    first = pool_end;
  }
  if (first < end) madvise(base_ + first, end - first, MADV_DONTNEED);
}

size_t PageRange::MemoryOf(size_t used) const {
  if (used == 0) return 0;
  const size_t last_slab = (used - 1) / kSlabBytes;
  const bool huge = used <= explicit_end_ || BeginsHuge(last_slab);
  return RoundUp(used, huge ? kSlabBytes : SmallPage());
}

PageUse MeasurePages(std::span<const PageRange* const> ranges) {
  PageUse use;
  std::FILE* file = std::fopen("/proc/self/smaps", "re");
  if (file == nullptr) return use;
  char line[512];
  bool ours = false;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned long long a = 0, b = 0;
    char name[64];
    if (std::sscanf(line, "%llx-%llx ", &a, &b) == 2) {
      ours = std::any_of(ranges.begin(), ranges.end(), [&](const PageRange* range) {
        const auto first = reinterpret_cast<uintptr_t>(range->base());
        return a >= first && b <= first + range->reserved();
      });
    } else if (ours && std::sscanf(line, "%63[^:]: %llu kB", name, &a) == 2) {
      const size_t bytes = static_cast<size_t>(a) * 1024;
      if (std::strcmp(name, "Rss") == 0) {
        use.small += bytes;
      } else if (std::strcmp(name, "AnonHugePages") == 0) {
        use.transparent += bytes;
        use.small -= bytes;
      } else if (std::strcmp(name, "Private_Hugetlb") == 0 ||
                 std::strcmp(name, "Shared_Hugetlb") == 0) {
        use.explicit_huge += bytes;  // not part of Rss
      }
    }
  }
  std::fclose(file);
  return use;
}

}  // namespace catamaran
