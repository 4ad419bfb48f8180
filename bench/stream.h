// bench/stream.h
//
// Loops that do little but move memory, built for every instruction set: what bounds work that
// touches much and computes little.

#pragma once

#include <cstddef>
#include <cstdint>

namespace catamaran::bench {

// Reads everything; the result depends on all of it.
uint64_t ReadAll(const uint64_t* words, size_t count);

// Reads g, and reads and writes w, m and v: the traffic of one Adam update, with an addition and a
// product for each in place of its arithmetic.
void UpdateTraffic(float* w, float* m, float* v, const float* g, int64_t count);

}  // namespace catamaran::bench
