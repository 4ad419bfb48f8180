// Programs written in C++ with the generated op functions.

#include "catamaran/ops/functions.h"

#include <gtest/gtest.h>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/program_builder.h"
#include "catamaran/ops/op_list.h"

namespace catamaran {
namespace {

std::shared_ptr<const OpSet> AllOps() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto set = std::make_shared<OpSet>();
    DefineAllOps(*set);
    return set;
  }();
  return ops;
}

void ExpectSame(ProgramBuilder& built, const BuilderSet& builders, std::string_view text) {
  const Program parsed = Parse(text, "test.ctm", AllOps(), builders);
  std::string why;
  EXPECT_TRUE(Equal(built.program(), parsed, &why)) << why;
}

TEST(OpFunctions, WriteWhatTheTextSays) {
  BuilderSet builders;
  ProgramBuilder p("all", AllOps(), builders);
  auto w = p.Param("w", "f32[4, 8]", Call("normal", {{"std", 0.1}}));
  auto b = p.Param("b", "f32[8]");
  auto feat = p.Table("feat", "f32[4]", 0.0, {{"optimizer", Call("sgd", {{"lr", 0.1}})}});
  auto f = p.Function("f");
  Var ids = f.Param("ids", "u64[B]");
  Var label = f.Param("label", "f32[B]");
  Var e = Lookup(feat, ids).Named("e");
  Var h = Relu(Matmul(e, w) + b).Named("h");
  Var t = Matmul(h, h, {.transpose_b = true}).Named("t");
  Var s = Sum(t, {.axes = {1}}).Named("s");
  Var z = Where(s > 0, s, 0.5).Named("z");
  Var c = Cast(Reshape(z, "[B]"), DType::kF32).Named("c");
  Observe(feat, ids, {.show = 1.0, .click = label});
  f.Return(Mean(BinaryCrossEntropy(Sigmoid(c), label)));
  ExpectSame(p, builders, R"(program all
param @w : f32[4, 8] = normal(std=0.1)
param @b : f32[8]
table @feat : u64 -> f32[4] = 0.0 { optimizer = sgd(lr=0.1) }
fn f(ids: u64[B], label: f32[B]) {
  e = lookup(@feat, ids)
  h = relu(matmul(e, @w) + @b)
  t = matmul(h, h, transpose_b=true)
  s = sum(t, axes=[1])
  z = where(s > 0, s, 0.5)
  c = cast(reshape(z, [B]), f32)
  observe(@feat, ids, show=1.0, click=label)
  return mean(binary_cross_entropy(sigmoid(c), label))
}
)");
  const Program flat = p.Flatten();
  EXPECT_EQ(flat.items.FindFunction("f")->results[0].type.ToString(), "f32[]");
}

}  // namespace
}  // namespace catamaran
