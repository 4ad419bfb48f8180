// nn/layer_test_util.h
//
// For tests of layers: random inputs, values of states as doubles, and gradients in f32 against
// finite differences.

#pragma once

#include <cmath>
#include <random>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {

inline Tensor RandomTensor(const Shape& shape, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  Tensor t = Tensor::Allocate(DType::kF32, shape);
  for (float& v : t.mutable_data<float>()) {
    v = low + (high - low) * (static_cast<float>(random() >> 8) / 16777216.0f);
  }
  return t;
}

inline std::vector<double> Doubles(const Tensor& t) {
  const auto values = t.data<float>();
  return std::vector<double>(values.begin(), values.end());
}

// Gives every param random numbers, also those that start as zeros or ones.
inline void Shake(TestProgram& p, uint32_t seed = 7, float size = 0.5f) {
  for (const StateDecl* s : p.flat().States()) {
    if (s->kind != StateKind::kParam) continue;
    const Tensor old = p.state().GetTensor(s->name);
    p.state().SetTensor(s->name, RandomTensor(old.shape(), seed++, -size, size));
  }
}

inline std::vector<double> StateDoubles(TestProgram& p, const std::string& path) {
  return Doubles(p.state().GetTensor(path));
}

inline void ExpectNear(const std::vector<double>& found, const std::vector<double>& wanted,
                       double tolerance = 1e-5) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i])))
        << "element " << i;
  }
}

// Compares the gradients of params that `function` returns with central differences of its first
// result: up to 8 elements of each, as far as f32 lets them be compared.
inline void ExpectGradientsOfParams(TestProgram& p, const std::string& function,
                                    const TestProgram::Feeds& feeds, int least_params = 1) {
  const RunResult result = p.Run(function, feeds);
  const Executable& e = p.Get(function);
  int params = 0;
  for (size_t k = 1; k < e.num_outputs(); ++k) {
    const std::string name = e.output_name(k);
    if (!name.starts_with("@") || result.outputs.size() <= k) continue;
    const std::string path = name.substr(1);
    const StateDecl* decl = p.flat().items.FindState(path);
    if (decl->kind != StateKind::kParam) continue;
    const Tensor original = p.state().GetTensor(path);
    const Tensor& grad = result.outputs[k];
    if (grad.shape() != original.shape()) continue;  // rows of an embedding
    ++params;
    const int64_t stride = std::max<int64_t>(1, original.num_elements() / 8);
    for (int64_t i = 0; i < original.num_elements(); i += stride) {
      constexpr float kStep = 1e-2f;
      auto loss_at = [&](float delta) {
        Tensor moved = original.Clone();
        moved.mutable_data<float>()[static_cast<size_t>(i)] += delta;
        p.state().SetTensor(path, moved);
        return p.Scalar(function, feeds);
      };
      const double numeric = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);
      const double exact = grad.data<float>()[static_cast<size_t>(i)];
      EXPECT_NEAR(exact, numeric, 2e-2 * std::max(0.1, std::abs(numeric))) << name << " " << i;
    }
    p.state().SetTensor(path, original);
  }
  EXPECT_GE(params, least_params);
}

}  // namespace catamaran
