// ops/sparse/interaction_simd.h
//
// Vector code for products between the fields of an example, [fields, width] each: one table of
// functions for each instruction set. Plain data only.

#pragma once

#include <cstdint>

namespace catamaran {

// Beyond this many fields pairwise_dot is left to its reference.
constexpr int64_t kMostFields = 1024;

template <class T>
struct InteractionFunctions {
  // y[r] = sum over f < g and i of x[r, f, i] x[r, g, i], where the last fields of x stand in
  // `more`, [rows, more_fields, width].
  void (*machine)(const T* x, int64_t fields, const T* more, int64_t more_fields, T* y,
                  int64_t rows, int64_t width);
  // dx[r, f, i] = dy[r] * sum over g != f of x[r, g, i].
  void (*machine_grad)(const T* x, const T* dy, T* dx, int64_t rows, int64_t fields, int64_t width);
  // y[r, (f, g)] = sum over i of x[r, f, i] x[r, g, i] for g < f, or g <= f with `self`.
  void (*dots)(const T* x, T* y, int64_t rows, int64_t fields, int64_t width, bool self);
  void (*dots_grad)(const T* x, const T* dy, T* dx, int64_t rows, int64_t fields, int64_t width,
                    bool self);
  // y = x0 (x · w) + b + x, row by row.
  void (*cross)(const T* x0, const T* x, const T* w, const T* b, T* y, int64_t rows, int64_t width);
};

struct InteractionTable {
  InteractionFunctions<float> f32;
  InteractionFunctions<double> f64;
};

namespace plain {
extern const InteractionTable kInteractions;
}
namespace avx2 {
extern const InteractionTable kInteractions;
}
namespace avx512 {
extern const InteractionTable kInteractions;
}

}  // namespace catamaran
