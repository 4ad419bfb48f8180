// bench/table/huge_array.h
//
// Memory as a table's rows lie in: mapped, asked to be in huge pages, touched.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string>

namespace catamaran::bench {

class HugeArray {
 public:
  explicit HugeArray(size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
    // One page more, so that it can begin at a page's boundary.
    mapped_ =
        mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    const auto at = reinterpret_cast<size_t>(mapped_);
    data_ = reinterpret_cast<char*>((at + kPage - 1) / kPage * kPage);
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 1, bytes_);
  }
  ~HugeArray() { munmap(mapped_, bytes_ + kPage); }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
  void* mapped_;
  char* data_;
  size_t bytes_;
};

// Of this process's anonymous memory, how much lies in huge pages: "97 % in huge pages".
std::string HugePageShare();

}  // namespace catamaran::bench
