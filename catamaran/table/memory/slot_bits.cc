#include "catamaran/table/memory/slot_bits.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr uint64_t kGrainBytes = 64 * 1024;
constexpr uint64_t kGrainSlots = kGrainBytes * 8;

}  // namespace

SlotBits::SlotBits(uint32_t max_slots)
    : max_slots_((uint64_t{max_slots} + kGrainSlots - 1) / kGrainSlots * kGrainSlots) {
  void* range =
      mmap(nullptr, max_slots_ / 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    Fail(ErrorCode::kResourceExhausted, "table: cannot reserve {} bytes of addresses: {}",
         max_slots_ / 8, std::strerror(errno));
  }
  words_ = static_cast<std::atomic<uint64_t>*>(range);
}

SlotBits::~SlotBits() { munmap(static_cast<void*>(words_), max_slots_ / 8); }

void SlotBits::Grow(uint32_t slot) {
  const uint64_t wanted = (uint64_t{slot} / kGrainSlots + 1) * kGrainSlots;
  if (mprotect(static_cast<void*>(words_), wanted / 8, PROT_READ | PROT_WRITE) != 0) {
    throw std::bad_alloc();
  }
  slots_.store(wanted, std::memory_order_release);
}

void SlotBits::Clear() {
  // Pages come back zero when they are touched again.
  if (slots_ > 0) madvise(static_cast<void*>(words_), slots_ / 8, MADV_DONTNEED);
}

void SlotBits::SetAllOf(const SlotBits& other) {
  if (other.slots_ == 0) return;
  if (slots_ < other.slots_) Grow(static_cast<uint32_t>(other.slots_ - 1));
  for (uint64_t w = 0; w < other.slots_ / 64; ++w) {
    const uint64_t bits = other.words_[w].load(std::memory_order_relaxed);
    if (bits != 0) words_[w].fetch_or(bits, std::memory_order_relaxed);
  }
}

void SlotBits::Swap(SlotBits& other) {
  std::swap(words_, other.words_);
  std::swap(max_slots_, other.max_slots_);
  const uint64_t slots = slots_;
  slots_.store(other.slots_);
  other.slots_.store(slots);
}

int64_t SlotBits::Count(uint32_t limit) const {
  int64_t count = 0;
  ForEachWord(limit, [&](uint32_t, uint64_t bits) { count += std::popcount(bits); });
  return count;
}

}  // namespace catamaran
