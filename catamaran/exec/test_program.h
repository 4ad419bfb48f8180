// exec/test_program.h
//
// What the tests of this folder share: programs from text, with all ops of the library and a few
// that only tests need.

#pragma once

#include <memory>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/transform/builders.h"

namespace catamaran::test {

inline KernelStatus CopyNegated(KernelContext& c) {
  for (int64_t i = 0; i < c.in(0).size(); ++i) c.out().data<float>()[i] = -c.in(0).data<float>()[i];
  return KernelStatus::kDone;
}

inline KernelStatus FailIfNegative(KernelContext& c) {
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    const float x = c.in(0).data<float>()[i];
    if (x < 0) Fail("element {} is {}", i, x);
    c.out().data<float>()[i] = x;
  }
  return KernelStatus::kDone;
}

// @w += x, in place.
inline KernelStatus AddInPlace(KernelContext& c) {
  const TensorView w = c.run->state(*c.op, 0);
  for (int64_t i = 0; i < w.num_elements(); ++i) w.As<float>()[i] += c.in(0).data<float>()[i];
  return KernelStatus::kDone;
}

// The library's ops, with `test_negate`, `test_positive` (throws for a negative element) and the
// effect `test_add(@w, x)`.
inline std::shared_ptr<OpSet> Ops() {
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  const auto same = [](InferContext& c) { c.SetResult(c.type(0)); };
  ops->Define("test_negate").In("x").Infer(same).Reference("", &CopyNegated);
  ops->Define("test_positive").In("x").Infer(same).Reference("", &FailIfNegative);
  OpTraits effect;
  effect.effect = true;
  ops->Define("test_add")
      .StateArg("state")
      .In("x")
      .Results(0)
      .Traits(effect)
      .Infer([](InferContext&) {})
      .Reference("", &AddInPlace);
  return ops;
}

inline Program FlatProgram(std::string_view text, std::shared_ptr<const OpSet> ops = Ops()) {
  BuilderSet builders;
  AddTransforms(builders);
  const Program written = Parse(text, "test.ctm", std::move(ops), builders);
  return Flatten(written, builders);
}

inline Tensor F32(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::From<float>(shape, values);
}

inline std::string MessageOf(FunctionRef<void()> body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace catamaran::test
