// table/memory/page_range.h
//
// A range of addresses that becomes memory from its beginning on, in slabs of 2 MiB, and gives
// memory back to the system; what lies in it never moves. Addresses cost nothing, so the range is
// as long as it could ever be needed.
//
// Memory lies in huge pages as far as the system has them. Transparent ones: the first slabs begin
// as small pages, so that small tables stay small, and are made huge later, one at a time
// (MakeOneHuge); further slabs begin huge.
//
// Thread safety: one thread at a time. What lies in the range is for its users to agree on; memory
// that has been given back, but was there once, reads as zeros.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace catamaran {

enum class PageMode : uint8_t {
  kSmall,        // the system's smallest
  kTransparent,  // 2 MiB where the system finds them, else small ones
  kExplicit,     // 2 MiB from the system's pool for that; as kTransparent when the pool is empty
};

class PageRange {
 public:
  static constexpr size_t kSlabBytes = size_t{2} << 20;

  // An Error if the system has no such range of addresses.
  PageRange(size_t reserve_bytes, PageMode mode);
  ~PageRange();
  PageRange(const PageRange&) = delete;
  PageRange& operator=(const PageRange&) = delete;

  char* base() const { return base_; }
  size_t reserved() const { return reserved_; }
  // The first this many bytes can be used. A multiple of kSlabBytes.
  size_t usable() const { return usable_; }

  // Makes usable() at least `bytes`; new memory is zeros. An Error, with nothing changed, if the
  // range or the memory is too small.
  void Grow(size_t bytes);

  // Makes one slab huge that began small and is not the last one, if there is such. It is copied,
  // so this takes a millisecond or so.
  void MakeOneHuge() {
    if (small_from_ + kSlabBytes < usable_ && small_from_ < small_end_) MakeHuge();
  }

  // Gives the memory beyond `bytes` back, as far as that is whole pages. Returns how many bytes
  // from the beginning on still have memory.
  size_t Shrink(size_t bytes);
  // Gives the pages of a part back, unless they are explicit; it stays usable, and is zeros.
  void Release(size_t first, size_t bytes);

  // What `used` bytes from the beginning on, touched so far, take of memory.
  size_t MemoryOf(size_t used) const;

 private:
  bool BeginsHuge(size_t slab) const;
  void MapSlab(size_t at);
  void MakeHuge();

  char* base_ = nullptr;
  size_t reserved_ = 0;
  size_t usable_ = 0;
  size_t mapped_ = 0;        // usable once; reads as zeros at least
  size_t explicit_end_ = 0;  // slabs below it are explicit huge pages
  size_t small_from_ = 0;    // slabs from this one on to small_end_ are small as yet
  size_t small_end_ = 0;
  PageMode mode_;
};

// What the system says the ranges lie in, in bytes. Takes a while: the system walks page tables.
struct PageUse {
  size_t small = 0;
  size_t transparent = 0;
  size_t explicit_huge = 0;
};
PageUse MeasurePages(std::span<const PageRange* const> ranges);

}  // namespace catamaran
