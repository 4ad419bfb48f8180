// ir/text_samples.h
//
// A small op set and builder set for the tests and the fuzzer of the text form, and programs
// that together use the whole grammar.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/parser.h"

namespace catamaran::testing {

inline std::shared_ptr<const OpSet> TextSampleOps() {
  auto ops = std::make_shared<OpSet>();
  for (const char* name :
       {"add", "sub", "mul", "div", "less", "less_equal", "greater", "greater_equal", "equal",
        "not_equal", "logical_and", "logical_or", "matmul", "binary_cross_entropy"}) {
    ops->Define(name).In("a").In("b");
  }
  for (const char* name : {"logical_not", "neg", "relu", "sigmoid", "tanh"}) {
    ops->Define(name).In("x");
  }
  ops->Define("concat").VariadicIn("parts").RequiredAttr("axis", AttrKind::kInt);
  ops->Define("stack_of").RequiredAttr("axis", AttrKind::kInt).In("first").VariadicIn("parts");
  ops->Define("reshape").In("x").RequiredAttr("shape", AttrKind::kInts);
  ops->Define("cast").In("x").RequiredAttr("dtype", AttrKind::kDType);
  ops->Define("mean")
      .In("x")
      .OptionalAttr("axes", AttrKind::kInts)
      .WithAttr("keep", AttrKind::kBool, false);
  ops->Define("split").In("x").WithAttr("axis", AttrKind::kInt, 0).Results(2);
  ops->Define("dropout")
      .In("x")
      .WithAttr("rate", AttrKind::kFloat, 0.5)
      .OptionalIn("key")
      .WithAttr("training", AttrKind::kBool, false);
  ops->Define("lookup").StateArg("table").In("ids").OptionalIn("weights").WordAttr(
      "pool", {"none", "sum", "mean", "sqrt"}, "none");
  OpTraits keep;
  keep.keep = true;
  ops->Define("print").In("x").WithAttr("label", AttrKind::kString, "").Results(0).Traits(keep);
  OpTraits effect;
  effect.effect = true;
  ops->Define("guard").In("ok").Results(0).Traits(effect);
  ops->Define("write").StateArg("state").In("value").Results(0).Traits(effect);
  ops->Define("observe")
      .StateArg("table")
      .In("ids")
      .OptionalIn("show")
      .OptionalIn("click")
      .Results(0)
      .Traits(effect);
  effect.open_attrs = true;
  ops->Define("update")
      .StateArg("state")
      .StatesArg("slots")
      .In("gradient")
      .RequiredAttr("rule", AttrKind::kString)
      .Results(0)
      .Traits(effect);
  return ops;
}

inline std::unique_ptr<BuilderSet> TextSampleBuilders() {
  auto builders = std::make_unique<BuilderSet>();
  auto add = [&](const char* name, std::vector<StaticParam> params) {
    builders->Add({name, "", std::move(params), nullptr});
  };
  using K = StaticKind;
  add("linear", {{"in", K::kInt}, {"out", K::kInt}, {"bias", K::kBool, true}});
  add("mlp", {{"sizes", K::kInts}, {"activation", K::kString, "relu"}});
  add("dropout_layer", {{"rate", K::kFloat, 0.5}});
  add("grad", {{"f", K::kFunction}, {"wrt", K::kAny}});
  add("clip", {{"f", K::kFunction}, {"norm", K::kFloat, 1.0}});
  add("adam", {{"f", K::kFunction}, {"lr", K::kFloat, 0.001}, {"beta1", K::kFloat, 0.9}});
  return builders;
}

inline Program ParseSample(std::string_view text, const std::string& file_name = "sample.ctm",
                           const ParseOptions& options = {}) {
  const auto builders = TextSampleBuilders();
  return Parse(text, file_name, TextSampleOps(), *builders, options);
}

// DESIGN.md section 2, word for word.
inline constexpr std::string_view kCtrProgram = R"(program ctr

table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)     // rows are updated where they live
  admit     = count(3)
  expire    = unseen(days=30)
}
fc1 = linear(429, 400)                     // owns @fc1.w and @fc1.b
fc2 = linear(400, 1)

fn infer(ids: u64[B, 26], dense: f32[B, 13]) -> f32[B] {
  e = lookup(@feat, ids)                   // f32[B, 26, 16]
  x = concat(reshape(e, [B, 416]), dense, axis=1)
  return sigmoid(reshape(fc2(relu(fc1(x))), [B]))
}

fn loss(ids: u64[B, 26], dense: f32[B, 13], label: f32[B]) -> f32[] {
  observe(@feat, ids, show=1, click=label) // metadata; joins the commit region
  return mean(binary_cross_entropy(infer(ids, dense), label))
}

train = adam(clip(grad(loss), norm=1.0), lr=0.001)   // owns @train.step, @train.m.*, ...
)";

// Programs that use the whole grammar between them.
inline std::vector<std::string_view> TextSamples() {
  return {kCtrProgram,
          R"(program control
param @w : f32[4, 4] = normal(std=0.1)
var @n : i64[] = 0 { merge = sum }
channel @c : f32[16] { capacity = 8 }

fn rnn(x: f32[T, B, 4], h0: f32[B, 4], flag: bool[]) -> f32[B, 4], i64[] {
  h, s = for i in range(T) with (h = h0, s = 0) {
    u = tanh(matmul(h, @w) + h0)
    yield u * 0.5 + h, s + i
  }
  for k in range(1, 3) {
    print(k, label="step\t\"k\"")
  }
  y = if flag and s < 10 {
    yield h
  } else if s == 12 {
    yield -h
  } else {
    g = h / 2.0
    yield g
  }
  z, m = while m < 10 or not flag with (z = y, m = s) {
    z2 = z - -1
    yield z2, m + 1
  }
  commit {
    guard(s >= 0)
    write(@n, s)
  }
  return z, m
}

fn effects(x: f32[4, 4], ok: bool[]) {
  guard(ok)
  update(@w, x * 2.0, rule=sgd, lr=0.1)
}
)",
          R"(program builders
# comments of both kinds
builder block(D: int, act: string = "relu", f: function) {
  fc = linear(D, 2*D)
  param @s : f32[D] = ones
  fn half(x: f32[B, D]) -> f32[B, D] { return x / 2.0 }
  fn (x: f32[B, D], training: static bool = false) -> f32[B, D] {
    a, b = split(fc(x), axis=1)
    d = dropout(a * @s, rate=0.25, training=training)
    return f(half(d)) + cast(b, f32); }
}
fn id(x: f32[B, D]) -> f32[B, D] { return x }
b1 = block(64, f=id)
m = mlp([8, 16, 2], activation=tanh)
fn net(x: f32[B, 64], scale: static float = 1.5, n: static int = 3) -> (y: f32[B, 64], f32[]) {
  _ = b1.fc(x)
  v = b1[training=true](x) * scale
  c = concat(v, x, v, axis=-1)
  e = mean(stack_of(c, v, x, axis=2), axes=[0, 1], keep=true)
  return op.relu(v), e + B * n
}
fn relu(x: f32[?]) -> f32[] { return mean(x) }
fn uses(x: f32[B, *T, 16], r: rows<f32[16]>, s: stack<f32[B]>) -> f32[] {
  y, z = net(reshape(x, [B*T, 64/4*4]), n=B, scale=2)
  t = relu(reshape(y, [(B+1)/2]))
  %1 = inf
  return t + z * %1 - relu.pure(reshape(y, [-1]))
}
g = grad(uses, wrt=[@b1.s, @b1.fc.w])
)",
          R"(program flat_names
param @b1.fc.w : f32[3, 4]
fn b1.fc(x: f32[B, 3]) -> f32[B, 4] { return matmul(x, @b1.fc.w) }
fn net[training=true](x: f32[B, 3]) -> f32[B, 4] { return b1.fc(x) }
fn net[training=true].pure(x: f32[B, 3]) -> f32[B, 4] { return net[training=true](x) }
fn grads(x: f32[B, 3]) -> (loss: f32[], @b1.fc.w: f32[3, 4]) {
  return mean(net[training=true].pure(x)), @b1.fc.w
}
)"};
}

}  // namespace catamaran::testing
