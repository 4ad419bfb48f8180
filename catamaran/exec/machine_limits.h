// exec/machine_limits.h
//
// What this machine can do at most, measured: matrix products by the fastest library there is, and
// memory beyond the caches.

#pragma once

namespace catamaran {

struct MachineLimits {
  int threads = 1;
  double flops = 0;         // f32 operations a second, in products of large matrices
  double bytes_second = 0;  // read and written, in copies of large arrays
};

// Takes about a quarter of a second and, while it lasts, 260 MB.
MachineLimits MeasureMachineLimits(int threads);

// The least time in which that many operations and bytes could be done.
inline double LeastSeconds(const MachineLimits& limits, double operations, double bytes) {
  const double compute = limits.flops > 0 ? operations / limits.flops : 0;
  const double memory = limits.bytes_second > 0 ? bytes / limits.bytes_second : 0;
  return compute > memory ? compute : memory;
}

}  // namespace catamaran
