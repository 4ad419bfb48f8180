// table/memory/index_line.h
//
// A line of the index: 64 bytes with up to twelve entries. An entry is the handle of a row and an
// 8-bit tag from the hash of its key, 0 for none. Beside them:
//
//   overflow   how many entries whose home is this line lie in later ones (it saturates), and how
//              far from here the farthest of them may be
//   version    changes whenever an entry of this line goes or gets another handle, so that a
//              reader who did not find a key knows whether that was the reason
//
// Thread safety: one thread writes, any number read. All words are read and written as atomics; in
// builds without the thread sanitizer the tags are read at once by a vector instruction.

#pragma once

#include <bit>
#include <cstdint>

#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_handle.h"

namespace catamaran {

// Bits i of the result are set where tag i of a line equals `tag`.
using EntryMask = uint32_t;

struct alignas(64) IndexLine {
  static constexpr int kEntries = 12;
  static constexpr EntryMask kAllEntries = (1u << kEntries) - 1;

  uint32_t handles[kEntries];
  uint32_t tags[kEntries / 4];
  uint32_t state;  // overflow count (7 bits), reach (9 bits), version (16 bits)

  // Never 0. Lines are chosen by the high bits of a hash, so this takes the low ones.
  static uint8_t TagOf(uint64_t hash) {
    const auto low = static_cast<uint8_t>(hash);
    return low == 0 ? 1 : low;
  }

  EntryMask Match(uint8_t tag) const {
#if defined(__SSE2__) && !CATAMARAN_ROW_WORDS_ARE_ATOMICS
    const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(tags));
    const __m128i equal = _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)));
    asm volatile("" ::: "memory");
    return static_cast<EntryMask>(_mm_movemask_epi8(equal)) & kAllEntries;
#else
    EntryMask mask = 0;
    for (int w = 0; w < kEntries / 4; ++w) {
      const uint32_t four = LoadWordAcquire(tags + w);
      for (int b = 0; b < 4; ++b) {
        mask |= EntryMask{static_cast<uint8_t>(four >> (8 * b)) == tag} << (4 * w + b);
      }
    }
    return mask;
#endif
  }
  EntryMask Empty() const { return Match(0); }

  // The first of some matches; any handle if there are none.
  RowHandle FirstHandle(EntryMask match) const {
    return Handle(std::countr_zero(match | EntryMask{1} << (kEntries - 1)));
  }
  RowHandle Handle(int entry) const { return RowHandle::FromBits(LoadWord(handles + entry)); }
  uint32_t State() const { return LoadWordAcquire(&state); }

  // --- Of a state.

  static constexpr uint32_t kMaxOverflow = 127;  // this many or more
  static constexpr uint32_t kMaxReach = 511;     // anywhere in the segment
  static uint32_t Overflow(uint32_t state) { return state & 127; }
  static uint32_t Reach(uint32_t state) { return state >> 7 & 511; }
  static uint32_t Version(uint32_t state) { return state >> 16; }

  // --- For the writer.

  void Put(int entry, uint8_t tag, RowHandle handle) {
    StoreWord(handles + entry, handle.bits());
    SetTag(entry, tag);
  }
  void Clear(int entry) {
    SetTag(entry, 0);
    BumpVersion();
  }
  void Replace(int entry, RowHandle handle) {
    __atomic_store_n(handles + entry, handle.bits(), __ATOMIC_RELEASE);
    BumpVersion();
  }

  // One more entry of this home lies `distance` lines away; one fewer lies away.
  void AddOverflow(uint32_t distance) {
    const uint32_t s = LoadWord(&state);
    const uint32_t count = Overflow(s) < kMaxOverflow ? Overflow(s) + 1 : kMaxOverflow;
    const uint32_t far = distance < kMaxReach ? distance : kMaxReach;
    SetState(count, Reach(s) > far ? Reach(s) : far, Version(s));
  }
  void RemoveOverflow() {
    const uint32_t s = LoadWord(&state);
    if (Overflow(s) == kMaxOverflow) return;  // nobody knows any more how many there are
    const uint32_t count = Overflow(s) - 1;
    SetState(count, count == 0 ? 0 : Reach(s), Version(s));
  }

 private:
  void SetTag(int entry, uint8_t tag) {
    uint32_t* word = tags + entry / 4;
    const int shift = 8 * (entry % 4);
    const uint32_t others = LoadWord(word) & ~(uint32_t{0xff} << shift);
    __atomic_store_n(word, others | uint32_t{tag} << shift, __ATOMIC_RELEASE);
  }
  void SetState(uint32_t overflow, uint32_t reach, uint32_t version) {
    __atomic_store_n(&state, overflow | reach << 7 | version << 16, __ATOMIC_RELEASE);
  }
  void BumpVersion() { __atomic_store_n(&state, LoadWord(&state) + (1u << 16), __ATOMIC_RELEASE); }
};
static_assert(sizeof(IndexLine) == 64);

}  // namespace catamaran
