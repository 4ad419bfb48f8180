// ops/attention/attention_simd.h
//
// Vector code for attention: one block of queries of one head against all its keys. Plain data and
// pointers only, so that the vector files can include it.

#pragma once

#include <cstdint>

namespace catamaran {

inline constexpr int64_t kAttentionQueries = 64;  // in a block, at most
inline constexpr int64_t kAttentionKeys = 96;     // of which scores exist at a time

// Rows of one head; `stride` is the number of elements from one row to the next.
struct AttentionRows {
  const float* data;
  int64_t stride;
  const float* Row(int64_t i) const { return data + i * stride; }
};
struct AttentionOutRows {
  float* data;
  int64_t stride;
  float* Row(int64_t i) const { return data + i * stride; }
};

struct AttentionBlock {
  AttentionRows q, k, v;  // q from the first query of the block on
  int64_t queries;        // in the block
  int64_t keys;
  // The number of keys that the first query sees; each query after it sees one more, up to `keys`.
  // Not causal: kSeesAll.
  int64_t first_sees;
  int64_t width, value_width;
  float scale;
  // At the first query and key, with the steps of both; null where there is none. At most one.
  const bool* keep;
  const float* add;
  int64_t mask_query, mask_key;
  float* scratch;  // AttentionScratch() floats, aligned as vectors are

  static constexpr int64_t kSeesAll = int64_t{1} << 60;
};

struct AttentionForward {
  AttentionBlock block;
  AttentionOutRows y;
  AttentionOutRows lse;  // one number a row
};

// Sets dq, adds to dk, dv and dmask: those whose data is not null.
struct AttentionBackward {
  AttentionBlock block;
  AttentionRows y, dy;
  AttentionRows lse, dlse;  // one number a row; dlse.data may be null
  AttentionOutRows dq, dk, dv;
  float* dmask;                // laid out as the mask of the block
  int64_t key_begin, key_end;  // multiples of kAttentionKeys, or beyond the last key
};

struct AttentionFunctions {
  void (*forward)(const AttentionForward& task);
  void (*backward)(const AttentionBackward& task);
};

// Floats of scratch that a task needs: two operands and a result, transposed, and two tiles.
inline int64_t AttentionScratch(int64_t width, int64_t value_width) {
  return (2 * width + value_width + 2 * kAttentionKeys) * kAttentionQueries;
}

namespace plain {
extern const AttentionFunctions kAttentionFunctions;
}
namespace avx2 {
extern const AttentionFunctions kAttentionFunctions;
}
namespace avx512 {
extern const AttentionFunctions kAttentionFunctions;
}

}  // namespace catamaran
