#include "catamaran/ops/recurrent/recurrent_simd.h"

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

void Lstm(const float* __restrict x, const float* __restrict hw, const float* c_before,
          float* __restrict y, float* __restrict c, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float i = SigmoidFloat(x[j] + hw[j]);
    const float f = SigmoidFloat(x[n + j] + hw[n + j]);
    const float g = TanhFloat(x[2 * n + j] + hw[2 * n + j]);
    const float o = SigmoidFloat(x[3 * n + j] + hw[3 * n + j]);
    const float cell = f * c_before[j] + i * g;
    c[j] = cell;
    y[j] = o * TanhFloat(cell);
  }
}

void LstmGrad(const float* __restrict z, const float* __restrict c,
              const float* __restrict c_before, const float* __restrict dy,
              const float* __restrict dc_out, const float* __restrict dh, float* __restrict dc,
              float* __restrict dz, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float i = SigmoidFloat(z[j]), f = SigmoidFloat(z[n + j]);
    const float g = TanhFloat(z[2 * n + j]), o = SigmoidFloat(z[3 * n + j]);
    const float top = TanhFloat(c[j]), dhj = dh[j] + dy[j];
    const float dcj = dc[j] + dc_out[j] + dhj * o * (1 - top * top);
    dz[j] = dcj * g * i * (1 - i);
    dz[n + j] = dcj * c_before[j] * f * (1 - f);
    dz[2 * n + j] = dcj * i * (1 - g * g);
    dz[3 * n + j] = dhj * top * o * (1 - o);
    dc[j] = dcj * f;
  }
}

void Gru(const float* __restrict x, const float* __restrict hw, const float* __restrict b,
         const float* h_before, float* __restrict y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float r = SigmoidFloat(x[j] + hw[j]);
    const float u = SigmoidFloat(x[n + j] + hw[n + j]);
    const float m = TanhFloat(x[2 * n + j] + r * (hw[2 * n + j] + b[j]));
    y[j] = (1 - u) * m + u * h_before[j];
  }
}

void GruGrad(const float* __restrict x, const float* __restrict hw, const float* __restrict b,
             const float* __restrict h_before, const float* __restrict dy, float* __restrict dh,
             float* __restrict dx, float* __restrict dhw, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float r = SigmoidFloat(x[j] + hw[j]), u = SigmoidFloat(x[n + j] + hw[n + j]);
    const float q = hw[2 * n + j] + b[j];
    const float m = TanhFloat(x[2 * n + j] + r * q), dhj = dh[j] + dy[j];
    const float dm = dhj * (1 - u) * (1 - m * m);
    const float dr = dm * q * r * (1 - r), du = dhj * (h_before[j] - m) * u * (1 - u);
    dx[j] = dhw[j] = dr;
    dx[n + j] = dhw[n + j] = du;
    dx[2 * n + j] = dm;
    dhw[2 * n + j] = dm * r;
    dh[j] = dhj * u;
  }
}

}  // namespace

const RecurrentFunctions kRecurrentFunctions = {Lstm, LstmGrad, Gru, GruGrad};

}  // namespace catamaran::CATAMARAN_ISA
