// bench/table/gather.h
//
// The least that a look-up or an update of a row must do to the memory: touch one line of an index
// and the lines of the row. Positions are given, nothing is compared, hashed or checked.

#pragma once

#include <cstddef>
#include <cstdint>

namespace catamaran::bench {

inline constexpr size_t kLine = 64;

struct GatherPlace {
  uint32_t index_line;
  uint32_t row;
};

struct GatherMemory {
  char* index = nullptr;
  char* rows = nullptr;
  size_t lines_a_row = 0;
  size_t floats = 0;       // of the embedding
  size_t slot_floats = 0;  // after it; updated, not read by look-ups
};

// Lines of a row of `floats` numbers and a sequence word.
constexpr size_t LinesOf(size_t floats) { return (4 * floats + 4 + kLine - 1) / kLine; }

// How far ahead lines are asked for, and in which level of cache: which is best differs from one
// machine to the next.
struct Asking {
  size_t ahead = 0;
  int level = 1;  // or 2
};

// out[i] = the embedding of place i. Returns something that depends on every index line read. It
// asks for the lines of place i + ahead while it copies those of place i.
uint64_t Gather(const GatherMemory& memory, const GatherPlace* places, size_t count, Asking asking,
                float* out);

// Reads and writes the sequence word, the embedding and the slots of each place.
uint64_t Modify(const GatherMemory& memory, const GatherPlace* places, size_t count, Asking asking);

}  // namespace catamaran::bench
