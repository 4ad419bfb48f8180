// table/memory/row_access.h
//
// How the words of a row in memory are read and written while others read them. A row's sequence
// number is in the upper 24 bits of its tag word (row_layout.h): odd while the row is being written
// and after it has been removed, 0 in memory that never held a row, even otherwise. Whoever reads
// copies what they want and looks at the number again: unchanged and even, the copy is whole.
//
// This is the one place that goes around the language's memory model. Words are 32-bit and aligned,
// and are read and written as relaxed atomics under the thread sanitizer; in other builds vector
// instructions move several at once, each word whole, kept in their place by compiler barriers. On
// x86-64 loads are not reordered with loads, nor stores with stores; elsewhere the fences order
// them.
//
// Thread safety: one thread writes a row at a time, any number read it.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "catamaran/table/row_layout.h"

#if defined(__SANITIZE_THREAD__)
#define CATAMARAN_ROW_WORDS_ARE_ATOMICS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CATAMARAN_ROW_WORDS_ARE_ATOMICS 1
#endif
#endif
#ifndef CATAMARAN_ROW_WORDS_ARE_ATOMICS
#define CATAMARAN_ROW_WORDS_ARE_ATOMICS 0
#endif

namespace catamaran {

inline constexpr uint32_t kSequenceStep = 1u << 8;  // the lowest bit of the number
inline constexpr uint32_t kSequenceBits = ~uint32_t{0xff};

// Whether a row with this tag word can be read: it is there and nobody is writing it.
inline bool TagIsReadable(uint32_t tag) {
  return ((tag & kSequenceStep) == 0) & ((tag & kSequenceBits) != 0);
}

// Asks for the cache line of an address, in the second level: there more misses can be under way at
// once than in the first (two thirds of the time for lines at random, where it was measured), and
// whoever asks early enough does not notice the rest of the way. The empty statement keeps it: GCC
// takes a function that does nothing but __builtin_prefetch for one without effect, and drops calls
// to it.
inline void PrefetchLineOf(const void* address) {
  __builtin_prefetch(address, 0, 2);
  asm volatile("");
}

inline uint32_t LoadWord(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
inline uint32_t LoadWordAcquire(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void StoreWord(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

inline void LoadWords(const uint32_t* from, uint32_t* to, int n) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  for (int i = 0; i < n; ++i) to[i] = LoadWord(from + i);
#else
  asm volatile("" ::: "memory");
  int i = 0;
#if defined(__SSE2__)
#pragma GCC unroll 4
  for (; i + 4 <= n; i += 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
#endif
  for (; i < n; ++i) to[i] = LoadWord(from + i);
  asm volatile("" ::: "memory");
#endif
}

inline void StoreWords(uint32_t* to, const uint32_t* from, int n) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  for (int i = 0; i < n; ++i) StoreWord(to + i, from[i]);
#else
  asm volatile("" ::: "memory");
  int i = 0;
#if defined(__SSE2__)
  for (; i + 4 <= n; i += 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
#endif
  for (; i < n; ++i) StoreWord(to + i, from[i]);
  asm volatile("" ::: "memory");
#endif
}

// The key of a row as its words are now.
inline uint64_t LoadRowKey(const uint32_t* row) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  return uint64_t{LoadWord(row + row_words::kKey)} | uint64_t{LoadWord(row + row_words::kKey + 1)}
                                                         << 32;
#else
  uint64_t key;
  asm volatile("" ::: "memory");
  std::memcpy(&key, row + row_words::kKey, sizeof(key));
  asm volatile("" ::: "memory");
  return key;
#endif
}

// --- Writing. From BeginRowWrite on nobody gets a copy of the row, until EndRowWrite.

// Returns the tag word as it was.
inline uint32_t BeginRowWrite(uint32_t* row) {
  uint32_t* tag = row + row_words::kTag;
  const uint32_t before = LoadWord(tag);
  // A release too: who sees that the row is gone sees what was done to the index before.
  __atomic_store_n(tag, before | kSequenceStep, __ATOMIC_RELEASE);
  std::atomic_thread_fence(std::memory_order_release);
  return before;
}

// `before` is what BeginRowWrite returned, perhaps with another feature in its low 8 bits.
inline void EndRowWrite(uint32_t* row, uint32_t before) {
  uint32_t tag = (before | kSequenceStep) + kSequenceStep;
  if (tag < 2 * kSequenceStep) tag += 2 * kSequenceStep;  // 0 is for memory without a row
  __atomic_store_n(row + row_words::kTag, tag, __ATOMIC_RELEASE);
}

// Replaces all words of the row by those of `record`, as one change. The record's sequence bits
// do not matter.
inline void StoreRow(uint32_t* row, const uint32_t* record, int words) {
  const uint32_t before = BeginRowWrite(row);
  StoreWords(row, record, row_words::kTag);
  StoreWords(row + row_words::kKey, record + row_words::kKey, words - row_words::kKey);
  EndRowWrite(row, (before & kSequenceBits) | RecordFeature(record));
}

// --- Reading.

// Whether a copy that was made after the tag word was `tag` is whole.
inline bool RowIsUnchanged(const uint32_t* row, uint32_t tag) {
  std::atomic_thread_fence(std::memory_order_acquire);
  return LoadWord(row + row_words::kTag) == tag;
}

// Copies the row, with its sequence bits 0. False if it is being written, or is not there.
inline bool LoadRow(const uint32_t* row, uint32_t* record, int words) {
  const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
  if (!TagIsReadable(tag)) return false;
  LoadWords(row, record, words);
  record[row_words::kTag] = tag & ~kSequenceBits;
  return RowIsUnchanged(row, tag);
}

}  // namespace catamaran
