// table/memory/index_line.h
//
// A line of the index: 64 bytes with up to fifteen entries. An entry is one word: the handle of a
// row in the lower bits, and in the bits that the handles of the segment leave a tag from the hash
// of its key, 0 for none. Those are eight bits while a shard has less than four million rows; each
// doubling beyond that takes one. Beside them, in one word:
//
//   overflow   how many entries whose home is this line lie in later ones (it saturates), and how
//              far from here the farthest of them may be
//   version    changes whenever an entry of this line goes or gets another handle, so that a
//              reader who did not find a key knows whether that was the reason
//   handles    how many bits they have; the same as long as the line is in use
//
// Thread safety: one thread writes, any number read. All words are read and written as atomics; in
// builds without the thread sanitizer several entries are read at once by vector instructions.

#pragma once

#include <bit>
#include <cstdint>

#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_handle.h"

namespace catamaran {

// Bit i stands for entry i of a line.
using EntryMask = uint32_t;

// Some entries of a line, and the bits of them that are handles.
struct LineMatch {
  EntryMask entries;
  uint32_t handle_mask;
};

struct alignas(64) IndexLine {
  static constexpr int kEntries = 15;
  static constexpr EntryMask kAllEntries = (1u << kEntries) - 1;

  uint32_t entries[kEntries];
  uint32_t state;  // overflow count (6 bits), reach (8), version (15), bits of handles (3)

  // The entries that have the tag of a hash.
  LineMatch Match(uint64_t hash) const {
    const int bits = HandleBits(State());
    return {WithTag(TagOf(hash, bits), bits), HandleMask(bits)};
  }
  EntryMask Empty() const { return WithTag(0, HandleBits(State())); }

  // The first of some matches; any handle if there are none.
  RowHandle FirstHandle(LineMatch match) const {
    const int first = std::countr_zero(match.entries | EntryMask{1} << (kEntries - 1));
    return RowHandle::FromBits(LoadWord(entries + first) & match.handle_mask);
  }
  RowHandle Handle(int entry) const {
    return RowHandle::FromBits(LoadWord(entries + entry) & HandleMask(HandleBits(State())));
  }
  uint32_t State() const { return LoadWordAcquire(&state); }

  // --- Of a state.

  static constexpr uint32_t kMaxOverflow = 63;  // this many or more
  static constexpr uint32_t kMaxReach = 255;    // anywhere in the segment
  static uint32_t Overflow(uint32_t state) { return state & 63; }
  static uint32_t Reach(uint32_t state) { return state >> 6 & 255; }
  static uint32_t Version(uint32_t state) { return state >> 14 & kMaxVersion; }
  static int HandleBits(uint32_t state) { return kMinHandleBits + static_cast<int>(state >> 29); }

  // --- Of handles and tags.

  static constexpr int kMinHandleBits = 24;
  static constexpr uint32_t HandleMask(int bits) { return (1u << bits) - 1; }
  // Lines are chosen by the high bits of a hash, so this takes the low ones.
  static uint32_t TagOf(uint64_t hash, int handle_bits) {
    const uint32_t low = static_cast<uint32_t>(hash) & UINT32_MAX >> handle_bits;
    return low == 0 ? 1 : low;
  }
  static uint32_t Entry(uint64_t hash, RowHandle handle, int handle_bits) {
    return TagOf(hash, handle_bits) << handle_bits | handle.bits();
  }

  // --- For the writer.

  // Before anything else, of a line of zeros.
  void SetHandleBits(int bits) { state = static_cast<uint32_t>(bits - kMinHandleBits) << 29; }

  // REQUIRES: the handle has as few bits as those of the line.
  void Put(int number, uint64_t hash, RowHandle handle) {
    const uint32_t entry = Entry(hash, handle, HandleBits(LoadWord(&state)));
    __atomic_store_n(entries + number, entry, __ATOMIC_RELEASE);
  }
  // The handle stays, for readers who have seen the tag.
  void Clear(int number) {
    const uint32_t handle = Handle(number).bits();
    __atomic_store_n(entries + number, handle, __ATOMIC_RELEASE);
    BumpVersion();
  }
  void Replace(int number, uint64_t hash, RowHandle handle) {
    Put(number, hash, handle);
    BumpVersion();
  }

  // One more entry of this home lies `distance` lines away; one fewer lies away.
  void AddOverflow(uint32_t distance) {
    const uint32_t s = LoadWord(&state);
    const uint32_t count = Overflow(s) < kMaxOverflow ? Overflow(s) + 1 : kMaxOverflow;
    const uint32_t far = distance < kMaxReach ? distance : kMaxReach;
    SetOverflow(s, count, Reach(s) > far ? Reach(s) : far);
  }
  void RemoveOverflow() {
    const uint32_t s = LoadWord(&state);
    if (Overflow(s) == kMaxOverflow) return;  // nobody knows any more how many there are
    const uint32_t count = Overflow(s) - 1;
    SetOverflow(s, count, count == 0 ? 0 : Reach(s));
  }

 private:
  static constexpr uint32_t kMaxVersion = (1u << 15) - 1;

  EntryMask WithTag(uint32_t tag, int handle_bits) const {
#if defined(__SSE2__) && !CATAMARAN_ROW_WORDS_ARE_ATOMICS
    const auto* const from = reinterpret_cast<const __m128i*>(entries);
    const __m128i by = _mm_cvtsi32_si128(handle_bits);
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
    const auto equal = [&](int quarter) {
      return _mm_cmpeq_epi32(_mm_srl_epi32(_mm_load_si128(from + quarter), by), wanted);
    };
    const __m128i low = _mm_packs_epi32(equal(0), equal(1));
    const __m128i high = _mm_packs_epi32(equal(2), equal(3));
    asm volatile("" ::: "memory");
    return static_cast<EntryMask>(_mm_movemask_epi8(_mm_packs_epi16(low, high))) & kAllEntries;
#else
    EntryMask mask = 0;
    for (int i = 0; i < kEntries; ++i) {
      mask |= EntryMask{LoadWordAcquire(entries + i) >> handle_bits == tag} << i;
    }
    return mask;
#endif
  }
  void SetOverflow(uint32_t old_state, uint32_t overflow, uint32_t reach) {
    constexpr uint32_t kOthers = ~((1u << 14) - 1);
    __atomic_store_n(&state, (old_state & kOthers) | overflow | reach << 6, __ATOMIC_RELEASE);
  }
  void BumpVersion() {
    const uint32_t s = LoadWord(&state);
    const uint32_t version = (Version(s) + 1) & kMaxVersion;
    __atomic_store_n(&state, (s & ~(kMaxVersion << 14)) | version << 14, __ATOMIC_RELEASE);
  }
};
static_assert(sizeof(IndexLine) == 64);
static_assert(IndexLine::kMinHandleBits + 7 == RowHandle::kMaxBits);

}  // namespace catamaran
