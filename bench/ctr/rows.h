// bench/ctr/rows.h
//
// Made-up rows in the shape of Criteo's: a label, 13 numbers, and an id for each of 26 fields of
// 100,000 ids, by a power law. bench/peers/ctr_rows.py computes the same.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/data/row_block.h"

namespace catamaran::bench {

inline constexpr int64_t kFields = 26;
inline constexpr int64_t kNumbers = 13;
inline constexpr int64_t kIdsAField = 100'000;
inline constexpr int64_t kIds = kFields * kIdsAField;
inline constexpr int64_t kEmbeddingWidth = 16;
inline constexpr int64_t kRows = 204'800;

// Columns `label: f32`, `dense: f32[13]`, `ids: i64[26]`.
Schema CtrSchema();

// Rows [0, kRows).
RowBlock MakeCtrRows();

// Where embeddings begin: small, a function of id and column.
float InitialEmbedding(int64_t id, int64_t column);

}  // namespace catamaran::bench
