// ops/loss/loss_test_util.h
//
// For tests that compare ops with numbers from elsewhere. Not part of the library.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {

// The results of one op; an empty Tensor() leaves an optional operand out.
inline std::vector<Tensor> Evaluate(const std::string& name, const std::vector<Tensor>& operands,
                                    std::vector<NamedAttr> attrs = {},
                                    const RunnerOptions& options = {DetectIsa(), {}, nullptr}) {
  Program program("test", TestOps());
  auto owned = std::make_unique<Function>();
  owned->name = "f";
  owned->typed = true;
  Function& f = *program.items.Add(std::move(owned));
  std::vector<Value*> values;
  std::vector<RunnerValue> arguments;
  for (const Tensor& tensor : operands) {
    if (tensor.raw_data() == nullptr && tensor.num_elements() == 0) {
      values.push_back(nullptr);
      continue;
    }
    std::vector<Dim> dims;
    for (int64_t d : tensor.shape()) dims.push_back(d);
    values.push_back(f.body().AddArg(fmt::format("a{}", values.size()),
                                     Type::Tensor(tensor.dtype(), std::move(dims))));
    arguments.push_back({tensor});
  }
  Emitter emit(program, f, f.body());
  const OpDef& def = program.ops().Get(name);
  Op* op = emit.EmitOp(def, {values, std::move(attrs), {}, {}, def.num_results}, {});
  std::vector<Value*> results;
  for (int i = 0; i < op->num_results(); ++i) results.push_back(op->result(i));
  emit.EmitOp(program.ops().Get("return"), {results, {}, {}, {}, 0}, {});
  return RunStraight(f, arguments, options);
}

// f64 numbers in a row.
inline Tensor Doubles(const Shape& shape, std::initializer_list<double> values) {
  return Floats(shape, values, DType::kF64);
}

inline void ExpectNear(const Tensor& got, const std::vector<double>& wanted,
                       double tolerance = 1e-9) {
  ASSERT_EQ(got.num_elements(), static_cast<int64_t>(wanted.size()));
  const auto values = got.data<double>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(values[i], wanted[i], tolerance) << "element " << i;
  }
}

// What the op says when it refuses.
inline std::string Refusal(const std::string& name, const std::vector<Tensor>& operands,
                           std::vector<NamedAttr> attrs = {}) {
  try {
    Evaluate(name, operands, std::move(attrs));
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace catamaran
