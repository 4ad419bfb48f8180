// ops/blas_memory.h
//
// The work areas of OpenBLAS: memory that it needs while it multiplies, 128 MiB for each call at a
// time. (Few of those pages are ever touched.)
//
// OpenBLAS finds them by its own function blas_memory_alloc, which is no use to us: where there is
// no memory it tries again for ever, and in a build without threads it may give one area to two
// threads at once. So blas_memory.cc defines that function and blas_memory_free itself. The
// program's definition comes before the library's, so OpenBLAS calls ours. Ours hands out what the
// caller has taken before, where a failure can still become an Error.

#pragma once

#include <cstdint>

namespace catamaran::blas {

// Held by a thread around each call of the BLAS that may need a work area. One at a time in each
// thread. Areas are the process's: they are kept for the next call and never given back.
class WorkArea {
 public:
  // Throws an Error (resource exhausted) if there is no memory for the first area. Where others
  // exist and no further one can be had, it waits for one of them.
  WorkArea();
  ~WorkArea();
  WorkArea(const WorkArea&) = delete;
  WorkArea& operator=(const WorkArea&) = delete;
};

// How many areas OpenBLAS has asked for, ever: whether it calls our functions.
int64_t WorkAreasAsked();

}  // namespace catamaran::blas
