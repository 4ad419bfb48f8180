#include "catamaran/ops/blas_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "catamaran/base/error.h"

extern "C" {
// Of OpenBLAS: plain malloc of as much as one work area has in this build of it.
void* blas_memory_alloc_nolock(int unused);

// What OpenBLAS calls, defined here in its place.
void* blas_memory_alloc(int unused);
void blas_memory_free(void* area);
}

namespace catamaran::blas {
namespace {

// More threads than this at once may multiply too: areas beyond are given back after the call.
constexpr size_t kPlaces = 64;
constexpr std::chrono::microseconds kLookAgain(20);

// An area that nobody uses, or null.
struct alignas(64) Place {
  std::atomic<void*> area = nullptr;
};

// OpenBLAS belongs to the whole process, and so do its work areas.
std::array<Place, kPlaces> places;
std::atomic<size_t> made = 0;
std::atomic<int64_t> asked = 0;

thread_local size_t last_place = 0;
thread_local void* own_area = nullptr;
thread_local bool own_area_used = false;

// 0 if it cannot be found out for want of memory.
size_t AreaSize() {
  static std::atomic<size_t> known = 0;
  size_t size = known.load(std::memory_order_relaxed);
  if (size != 0) return size;
  void* const sample = blas_memory_alloc_nolock(0);
  if (sample == nullptr) return 0;
  size = malloc_usable_size(sample);
  std::free(sample);
  known.store(size, std::memory_order_relaxed);
  return size;
}

// Null where all are in use.
void* TakeFree() {
  const size_t count = std::min(made.load(), kPlaces);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (last_place + i) % count;
    std::atomic<void*>& place = places[at].area;
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (void* const area = place.exchange(nullptr)) {
      last_place = at;
      return area;
    }
  }
  return nullptr;
}

// Null where there is no memory. Begins at a page, as OpenBLAS's own do.
void* Make() {
  const size_t size = AreaSize();
  if (size == 0) return nullptr;
  void* const area =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  made.fetch_add(1);
  return area;
}

void Give(void* area) {
  while (true) {
    // One of the first `made` places is free: what was made and is not in a place is in use.
    const size_t count = std::min(made.load(), kPlaces);
    for (size_t i = 0; i < count; ++i) {
      void* none = nullptr;
      if (places[(last_place + i) % count].area.compare_exchange_strong(none, area)) return;
    }
    if (made.load() <= kPlaces) continue;  // another thread was quicker
    made.fetch_sub(1);
    munmap(area, AreaSize());
    return;
  }
}

// Null where there is none at all.
void* Take() {
  void* area = TakeFree();
  if (area == nullptr) area = Make();
  while (area == nullptr && made.load() > 0) {
    std::this_thread::sleep_for(kLookAgain);
    area = TakeFree();
  }
  return area;
}

}  // namespace

WorkArea::WorkArea() {
  CATAMARAN_CHECK(own_area == nullptr, "one work area a thread");
  own_area = Take();
  if (own_area == nullptr) {
    Fail(ErrorCode::kResourceExhausted,
         "no memory for the work area of matrix products (OpenBLAS, {} MiB)",
         AreaSize() == 0 ? 128 : AreaSize() >> 20);
  }
}

WorkArea::~WorkArea() {
  Give(own_area);
  own_area = nullptr;
}

int64_t WorkAreasAsked() { return asked.load(); }

}  // namespace catamaran::blas

using catamaran::blas::own_area;
using catamaran::blas::own_area_used;

void* blas_memory_alloc(int) {
  catamaran::blas::asked.fetch_add(1, std::memory_order_relaxed);
  if (own_area != nullptr && !own_area_used) {
    own_area_used = true;
    return own_area;
  }
  // A caller that is not ours. OpenBLAS does not check the result, so all that is left is what it
  // does itself.
  while (true) {
    if (void* const area = catamaran::blas::Take()) return area;
    std::this_thread::sleep_for(catamaran::blas::kLookAgain);
  }
}

void blas_memory_free(void* area) {
  if (area == own_area) {
    own_area_used = false;
  } else {
    catamaran::blas::Give(area);
  }
}
