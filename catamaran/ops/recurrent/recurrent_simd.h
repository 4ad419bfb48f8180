// ops/recurrent/recurrent_simd.h
//
// Vector code of one step of one sequence: what stands around the matrix products. Gates are four
// (lstm) or three (gru) runs of `hidden` numbers. Plain data and pointers only.

#pragma once

#include <cstdint>

namespace catamaran {

struct RecurrentFunctions {
  // From x + hw and the cell before, the output y and the cell c.
  void (*lstm)(const float* x, const float* hw, const float* c_before, float* y, float* c,
               int64_t hidden);
  // z: x + hw of the step. On the way in dh and dc are the gradients from the step behind; dy and
  // dc_out those at this step's results. Leaves dz, and in dc the gradient of the cell before.
  void (*lstm_grad)(const float* z, const float* c, const float* c_before, const float* dy,
                    const float* dc_out, const float* dh, float* dc, float* dz, int64_t hidden);
  void (*gru)(const float* x, const float* hw, const float* b, const float* h_before, float* y,
              int64_t hidden);
  // Leaves in dh the part of the gradient of h_before that does not go through hw.
  void (*gru_grad)(const float* x, const float* hw, const float* b, const float* h_before,
                   const float* dy, float* dh, float* dx, float* dhw, int64_t hidden);
};

namespace plain {
extern const RecurrentFunctions kRecurrentFunctions;
}
namespace avx2 {
extern const RecurrentFunctions kRecurrentFunctions;
}
namespace avx512 {
extern const RecurrentFunctions kRecurrentFunctions;
}

}  // namespace catamaran
