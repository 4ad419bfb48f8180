// ops/loss/ctc_utterance.h
//
// The forward and backward sums of one utterance in f32, with the vector code of ctc_simd.h: what
// ctc_reference.h says, faster.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "catamaran/ops/loss/ctc_reference.h"
#include "catamaran/ops/loss/ctc_simd.h"

namespace catamaran {

// What one lane needs for utterances of up to `steps` and `labels`; alpha has `rows` rows.
struct CtcLane {
  static int64_t Floats(int64_t rows, int64_t steps, int64_t labels) {
    const int64_t width = 2 * labels + 1;
    const int64_t floats = (rows + 3) * (width + 2) + 5 * width + 2 * steps;
    return (floats + 15) / 16 * 16;  // so that those of the next lane are aligned too
  }
  CtcLane(float* memory, int64_t alpha_rows, int64_t steps, int64_t labels)
      : rows(alpha_rows), padded(2 * labels + 3) {
    const int64_t width = 2 * labels + 1;
    offsets = reinterpret_cast<double*>(memory);
    memory += 2 * steps;
    float* const whole[] = {memory, memory + width, memory + 2 * width, memory + 3 * width,
                            memory + 4 * width};
    skip = whole[0], skip_back = whole[1], emission = whole[2], emission_back = whole[3];
    posterior = whole[4];
    alpha = memory + 5 * width;
    beta = alpha + (rows + 1) * padded;
  }
  // Rows of alpha and beta begin with two states that are never reached.
  float* Alpha(int64_t t) const { return alpha + (t % rows) * padded + 2; }
  float* Beta(int64_t t) const { return beta + (t % 2) * padded + 2; }
  // The row before the first.
  float* Start() const { return alpha + rows * padded + 2; }

  int64_t rows, padded;
  double* offsets;  // of alpha, by step
  float *skip, *skip_back, *emission, *emission_back, *posterior, *alpha, *beta;
};

template <class I>
class CtcUtterance {
 public:
  CtcUtterance(const CtcKernels& kernels, const reference::CtcItem<float, I>& item,
               const CtcLane& lane)
      : k_(kernels), item_(item), lane_(lane), width_(item.width()) {
    for (int64_t s = 0; s < width_; ++s) {
      lane.skip[s] = item.CanSkipTo(s) ? 0.0f : kCtcNever;
      const int64_t forward = width_ + 1 - s;  // the state two after the one that s stands for
      lane.skip_back[s] = forward < width_ && item.CanSkipTo(forward) ? 0.0f : kCtcNever;
    }
    for (int64_t r = 0; r < lane.rows + 1; ++r) Pad(lane.alpha + r * lane.padded);
    for (int64_t r = 0; r < 2; ++r) Pad(lane.beta + r * lane.padded);
  }

  // As reference::CtcForward.
  double Forward() {
    if (item_.steps == 0) return item_.count == 0 ? 0.0 : -INFINITY;
    double offset = 0;
    const float* before = Started();
    for (int64_t t = 0; t < item_.steps; ++t) {
      Emit(t);
      float* now = lane_.Alpha(t);
      if (!Step(before, lane_.skip, lane_.emission, now, &offset)) return offset;
      if (lane_.rows > 2) lane_.offsets[t] = offset;
      before = now;
    }
    const float last = before[width_ - 1];
    const float other = width_ > 1 ? before[width_ - 2] : kCtcNever;
    if (last <= kCtcNever / 2 && other <= kCtcNever / 2) return -INFINITY;
    return offset + reference::CtcAdd(last, other);
  }

  // dx = scale * posterior of each class.
  void Backward(float scale, float* dx) {
    const double total = Forward();
    if (total == -INFINITY) return;
    double offset = 0;
    const float* after = Started();
    for (int64_t t = item_.steps - 1; t >= 0; --t) {
      Emit(t);
      for (int64_t s = 0; s < width_; ++s) {
        lane_.emission_back[s] = lane_.emission[width_ - 1 - s];
      }
      float* now = lane_.Beta(t);
      if (!Step(after, lane_.skip_back, lane_.emission_back, now, &offset)) return;
      k_.posterior(lane_.Alpha(t), now, lane_.emission,
                   static_cast<float>(lane_.offsets[t] + offset - total), lane_.posterior, width_);
      float* row = dx + t * item_.stride;
      for (int64_t s = 0; s < width_; ++s) row[item_.Class(s)] += scale * lane_.posterior[s];
      after = now;
    }
  }

 private:
  void Pad(float* row) const { row[0] = row[1] = kCtcNever; }
  const float* Started() const {
    float* row = lane_.Start();
    std::fill_n(row, width_, kCtcNever);
    row[0] = 0.0f;
    return row;
  }
  // A NaN stays.
  static float AtLeastNever(float x) { return x < kCtcNever ? kCtcNever : x; }
  void Emit(int64_t t) const {
    const float* row = item_.log_probs + t * item_.stride;
    const float blank = AtLeastNever(row[item_.blank]);
    for (int64_t s = 0; s < width_; s += 2) lane_.emission[s] = blank;
    for (int64_t s = 1; s < width_; s += 2) {
      lane_.emission[s] = AtLeastNever(row[static_cast<int64_t>(item_.labels[s / 2])]);
    }
  }
  // False when no state can be reached: *offset is then -infinity, or NaN where one was met.
  bool Step(const float* before, const float* skip, const float* emission, float* now,
            double* offset) const {
    const float max = k_.step(before, skip, emission, now, width_);
    if (max > kCtcNever / 2) {
      *offset += static_cast<double>(max);
      return true;
    }
    *offset = -INFINITY;
    for (int64_t s = 0; s < width_; ++s) {
      if (now[s] != now[s]) *offset = NAN;
    }
    return false;
  }

  const CtcKernels& k_;
  const reference::CtcItem<float, I>& item_;
  const CtcLane& lane_;
  int64_t width_;
};

}  // namespace catamaran
