#include "catamaran/ir/program_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "catamaran/ir/op_call.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/parser.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;

// Ops as the library has them, in so far as the programs below use them.
std::shared_ptr<const OpSet> TestOps() {
  auto ops = std::make_shared<OpSet>();
  for (const char* name : {"relu", "sigmoid", "mean", "neg"}) ops->Define(name).In("x");
  for (const char* name : {"add", "sub", "mul", "div", "less", "less_equal", "greater",
                           "greater_equal", "binary_cross_entropy", "matmul"}) {
    ops->Define(name).In("a").In("b");
  }
  ops->Define("reshape").In("x").RequiredAttr("shape", AttrKind::kInts);
  ops->Define("concat").VariadicIn("parts").RequiredAttr("axis", AttrKind::kInt);
  ops->Define("split").In("x").Results(2);
  ops->Define("dropout").In("x").OptionalIn("key").WithAttr("training", AttrKind::kBool, false);
  ops->Define("lookup").StateArg("table").In("ids").OptionalIn("weights").WordAttr(
      "pool", {"none", "sum"}, "none");
  OpTraits effect;
  effect.effect = true;
  ops->Define("observe")
      .StateArg("table")
      .In("ids")
      .OptionalIn("show")
      .OptionalIn("click")
      .Results(0)
      .Traits(effect);
  ops->Define("guard").In("ok").Results(0).Traits(effect);
  ops->Define("write").StateArg("state").In("value").Results(0).Traits(effect);
  ops->Define("push").StateArg("table").In("rows").Results(0).Traits(effect);
  OpTraits open = effect;
  open.open_attrs = true;
  ops->Define("update")
      .StateArg("state")
      .StatesArg("slots")
      .In("gradient")
      .RequiredAttr("rule", AttrKind::kWord)
      .Results(0)
      .Traits(open);
  return ops;
}

const BuilderSet& TestBuilders() {
  static const BuilderSet* const builders = [] {
    auto* set = new BuilderSet;
    const auto none = [](BuildContext&) {};
    set->Add({"linear", "", {{"in", StaticKind::kInt}, {"out", StaticKind::kInt}}, none});
    set->Add({"grad", "", {{"f", StaticKind::kFunction}, {"wrt", StaticKind::kAny}}, none});
    set->Add({"clip", "", {{"f", StaticKind::kFunction}, {"norm", StaticKind::kFloat}}, none});
    set->Add({"adam", "", {{"f", StaticKind::kFunction}, {"lr", StaticKind::kFloat}}, none});
    return set;
  }();
  return *builders;
}

// Short op functions as catamaran/ops/functions.h has them.
Var Relu(OperandArg x, std::source_location where = std::source_location::current()) {
  return OpCall("relu", where).In(x).Result();
}
Var Sigmoid(OperandArg x, std::source_location where = std::source_location::current()) {
  return OpCall("sigmoid", where).In(x).Result();
}
Var Mean(OperandArg x, std::source_location where = std::source_location::current()) {
  return OpCall("mean", where).In(x).Result();
}
Var Reshape(OperandArg x, DimsArg shape,
            std::source_location where = std::source_location::current()) {
  return OpCall("reshape", where).In(x).Set("shape", shape).Result();
}
Var Concat(std::vector<OperandArg> parts, IntArg axis,
           std::source_location where = std::source_location::current()) {
  return OpCall("concat", where).VariadicIn(parts).Set("axis", axis).Result();
}
struct LookupArgs {
  std::optional<OperandArg> weights;
  WordArg pool;
};
Var Lookup(const StateRef& table, OperandArg ids, LookupArgs args = {},
           std::source_location where = std::source_location::current()) {
  return OpCall("lookup", where)
      .State(table)
      .In(ids)
      .OptionalIn(args.weights)
      .Set("pool", args.pool)
      .Result();
}
struct ObserveArgs {
  std::optional<OperandArg> show;
  std::optional<OperandArg> click;
};
void Observe(const StateRef& table, OperandArg ids, ObserveArgs args = {},
             std::source_location where = std::source_location::current()) {
  OpCall("observe", where)
      .State(table)
      .In(ids)
      .OptionalIn(args.show)
      .OptionalIn(args.click)
      .Effect();
}

void ExpectSame(ProgramBuilder& built, std::string_view text, const ParseOptions& options = {}) {
  const Program parsed =
      Parse(text, "test.ctm", built.program().ops_ptr(), TestBuilders(), options);
  std::string why;
  EXPECT_TRUE(Equal(built.program(), parsed, &why)) << why;
}

std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ProgramBuilder, WritesTheProgramOfTheDesign) {
  ProgramBuilder p("ctr", TestOps(), TestBuilders());
  auto feat = p.Table("feat", "f32[16]", Call("normal", {{"std", 0.01}}),
                      {{"optimizer", Call("rowwise_adagrad", {{"lr", 0.05}})},
                       {"admit", Call("count", {3})},
                       {"expire", Call("unseen", {{"days", 30}})}});
  auto fc1 = p.Instance("fc1", "linear", {429, 400});
  auto fc2 = p.Instance("fc2", "linear", {400, 1});

  auto infer = p.Function("infer");
  {
    Var ids = infer.Param("ids", "u64[B, 26]");
    Var dense = infer.Param("dense", "f32[B, 13]");
    infer.Result("f32[B]");
    Var e = Lookup(feat, ids).Named("e");
    Var x = Concat({Reshape(e, "[B, 416]"), dense}, 1).Named("x");
    infer.Return(Sigmoid(Reshape(fc2(Relu(fc1(x))), "[B]")));
  }
  auto loss = p.Function("loss");
  {
    Var ids = loss.Param("ids", "u64[B, 26]");
    Var dense = loss.Param("dense", "f32[B, 13]");
    Var label = loss.Param("label", "f32[B]");
    loss.Result("f32[]");
    Observe(feat, ids, {.show = 1, .click = label});
    loss.Return(Mean(loss.Emit("binary_cross_entropy", {infer(ids, dense), label})));
  }
  p.Instance("train", "adam", {Call("clip", {Call("grad", {loss}), {"norm", 1.0}}), {"lr", 0.001}});

  ExpectSame(p, R"(program ctr

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
)");
}

TEST(ProgramBuilder, WritesEveryKindOfStateAndEffect) {
  ProgramBuilder p("states", TestOps(), TestBuilders());
  auto w = p.Param("w", "f32[4, 3]", "ones");
  auto b = p.Param("b", "f32[3]", 0.5);
  auto seen = p.Variable("seen", "i64[]", 0, {{"merge", Attr::Word("sum")}});
  auto t = p.Table("t", "f32[3]");
  p.Channel("out", "f32[8]", {{"capacity", 64}});
  auto f = p.Function("f");
  Var x = f.Param("x", "f32[B, 4]");
  Var h = (f.Emit("matmul", {x, w}) + b).Named("h");
  Var ok = (Mean(h) < 10.0).Named("ok");
  f.Effect("guard", {ok});
  f.Effect("write", {seen, f.Size("B")});
  f.Effect("push", {t, h});
  f.Effect("update", {w, b, h}, {{"rule", "sgd"}, {"lr", 0.1}});
  Var y = (-h * 2).Named("y");  // after an effect, and before the region all the same
  f.Return({y, h});
  ExpectSame(p, R"(program states
param @w : f32[4, 3] = ones
param @b : f32[3] = 0.5
var @seen : i64[] = 0 { merge = sum }
table @t : u64 -> f32[3]
channel @out : f32[8] { capacity = 64 }
fn f(x: f32[B, 4]) {
  h = matmul(x, @w) + @b
  ok = mean(h) < 10.0
  guard(ok)
  write(@seen, B)
  push(@t, h)
  update(@w, [@b], h, rule=sgd, lr=0.1)
  y = -h * 2
  return y, h
}
)");
}

TEST(ProgramBuilder, WritesControlFlow) {
  ProgramBuilder p("flow", TestOps(), TestBuilders());
  auto w = p.Param("w", "f32[]");
  auto f = p.Function("f");
  Var x = f.Param("x", "f32[B]");
  Var n = f.Param("n", "i64[]");
  Var h = f.For(0, n, Carry("h", x), [&](Var i, Var h) {
             i.Named("i");
             Var small = (i < 3).Named("small");
             return f.If(
                 small, [&] { return Relu(h); }, [&] { return h + x; });
           }).Named("h");
  auto pair = f.For(1, 5, {{"a", h}, {"b", x}}, [&](Var i, std::vector<Var> v) {
    i.Named("j");
    return std::vector<Var>{v[1], v[0] * w};
  });
  pair[0].Named("p");
  pair[1].Named("q");
  Var r = f.While(
               Carry("r", pair[0]), [&](Var r) { return Mean(r) > 1.5; },
               [&](Var r) { return r / 2.0; })
              .Named("r");
  f.Return({r, pair[1]});
  ExpectSame(p, R"(program flow
param @w : f32[]
fn f(x: f32[B], n: i64[]) {
  h = for i in range(0, n) with (h = x) {
    small = i < 3
    yield if small { yield relu(h) } else { yield h + x }
  }
  p, q = for j in range(1, 5) with (a = h, b = x) {
    yield b, a * @w
  }
  r = while mean(r) > 1.5 with (r = p) { yield r / 2.0 }
  return r, q
}
)");
}

TEST(ProgramBuilder, WritesBuildersStaticArgumentsAndImports) {
  const std::string net_text =
      "program net\nparam @s : f32[]\nfn infer(x: f32[B]) { return x * @s }\n";
  ProgramBuilder net("net", TestOps(), TestBuilders());
  {
    auto s = net.Param("s", "f32[]");
    auto infer = net.Function("infer");
    Var x = infer.Param("x", "f32[B]");
    infer.Return(x * s);
  }
  ProgramBuilder p("all", net.program().ops_ptr(), TestBuilders());
  auto imported = p.Import("net", "net.ctm", net.Release());
  auto block = p.Builder("block");
  {
    auto d = block.Argument("D", StaticKind::kInt);
    auto scale = block.Argument("scale", StaticKind::kFloat, 1.5);
    auto g = block.FunctionArgument("g");
    auto fc = block.Instance("fc", "linear", {d, d});
    auto s = block.Param("s", "f32[D]", "ones");
    auto main = block.Function("");
    Var x = main.Param("x", "f32[B, D]");
    main.Result("f32[B, D]");
    main.Return(g(fc(x)) * s * scale);
  }
  auto act = p.Function("act");
  {
    Var x = act.Param("x", "f32[B, K]");
    auto training = act.Static("training", StaticKind::kBool, false);
    act.Return(act.Emit("dropout", {x, act.Key()}, {{"training", training}}));
  }
  auto b1 = p.Instance("b1", "block", {64, {"g", act.With({{"training", true}})}});
  auto f = p.Function("f");
  {
    Var x = f.Param("x", "f32[B, 64]");
    Var y = b1(x).Named("y");
    Var z = act.With({{"training", true}})(y).Named("z");
    Var v = b1.Pure()(z).Named("v");
    auto u = imported.Fn("infer").Many(1, {v});
    f.Return(u[0].Named("u") + imported.State("s") + b1.State("s"));
  }
  p.Instance("g", "grad", {f, {"wrt", List({b1.State("s"), p.State("b1.fc.w")})}});
  ParseOptions options;
  options.load_import = [&](const std::string&) { return std::optional(net_text); };
  ExpectSame(p, R"(program all
import net "net.ctm"
builder block(D: int, scale: float = 1.5, g: function) {
  fc = linear(D, D)
  param @s : f32[D] = ones
  fn (x: f32[B, D]) -> f32[B, D] { return g(fc(x)) * @s * scale }
}
fn act(x: f32[B, K], training: static bool = false) {
  return dropout(x, key=key(), training=training)
}
b1 = block(64, g=act[training=true])
fn f(x: f32[B, 64]) {
  y = b1(x)
  z = act[training=true](y)
  v = b1.pure(z)
  u = net.infer(v)
  return u + @net.s + @b1.s
}
g = grad(f, wrt=[@b1.s, @b1.fc.w])
)",
             options);
}

TEST(ProgramBuilder, RecordsTheLineOfEveryExpression) {
  ProgramBuilder p("lines", TestOps(), TestBuilders());
  auto w = p.Param("w", "f32[]");
  auto g = p.Instance("g", "linear", {1, 1});
  auto f = p.Function("f");
  Var x = f.Param("x", "f32[B]");
  const uint32_t line = std::source_location::current().line();
  Var a = x + x;
  Var b = 2.0 * a;
  Var c = -b;
  Var d = c < w;
  Var e = Relu(d);
  Var h = g(e);
  Var i = f.Emit("sigmoid", {h});
  f.Return(Relu(i) - 1);
  const auto where = [&](Var v) { return p.program().sources().ToString(v.value()->def()->at); };
  const auto at = [&](uint32_t n) {
    return "catamaran/ir/program_builder_test.cc:" + std::to_string(line + n);
  };
  EXPECT_EQ(where(a), at(1));
  EXPECT_EQ(where(b), at(2));
  EXPECT_EQ(where(Var(nullptr, b.value()->def()->operand(0))), at(2));  // the constant
  EXPECT_EQ(where(c), at(3));
  EXPECT_EQ(where(d), at(4));
  EXPECT_EQ(where(Var(nullptr, d.value()->def()->operand(1))), at(4));  // the read
  EXPECT_EQ(where(e), at(5));
  EXPECT_EQ(where(h), at(6));
  EXPECT_EQ(where(i), at(7));
  const Op* end = p.program().items.FindFunction("f")->body().terminator();
  EXPECT_EQ(p.program().sources().ToString(end->at), at(8));
  EXPECT_EQ(p.program().sources().ToString(end->operand(0)->def()->at), at(8));
}

TEST(ProgramBuilder, MistakesNameTheCppLine) {
  ProgramBuilder p("wrong", TestOps(), TestBuilders());
  const std::string file = "catamaran/ir/program_builder_test.cc:";
  uint32_t line = 0;
  const auto here = [&](std::source_location w = std::source_location::current()) {
    line = w.line();
  };
  std::string error = ErrorOf([&] { here(), p.Param("w", "f32[B"); });
  EXPECT_EQ(error,
            file + std::to_string(line) + ": the type of @w: \"f32[B\": wanted ']' at column 6");

  p.Param("w", "f32[]");
  error = ErrorOf([&] { here(), p.Param("w", "f32[]"); });
  EXPECT_THAT(error, HasSubstr(file + std::to_string(line) + ": the state @w is already declared"));

  auto f = p.Function("f");
  error = ErrorOf([&] { here(), p.Instance("f", "linear", {1, 2}); });
  EXPECT_THAT(error, HasSubstr(file + std::to_string(line) + ": f is already defined"));

  Var x = f.Param("x", "f32[B]");
  error = ErrorOf([&] { here(), f.Emit("reluu", {x}); });
  EXPECT_EQ(error, file + std::to_string(line) + ": unknown op 'reluu'; did you mean relu?");
  error = ErrorOf([&] { here(), f.Emit("relu", {x, x}); });
  EXPECT_THAT(error, HasSubstr(file + std::to_string(line) + ": relu takes 1 values"));
  error = ErrorOf([&] { here(), f.Emit("relu", {x}, {{"axis", 1}}); });
  EXPECT_THAT(error, HasSubstr("relu has no attribute 'axis'"));

  error = ErrorOf([&] {
    f.For(0, 3, x, [&](Var, Var h) {
      here(), f.Effect("guard", {h});
      return h;
    });
  });
  EXPECT_THAT(error, HasSubstr(file + std::to_string(line) + ": guard is an effect and cannot"));
  f.Return(x);
  error = ErrorOf([&] { here(), f.Return(x); });
  EXPECT_EQ(error, file + std::to_string(line) + ": f has returned already");

  const StateRef state = p.State("w");
  EXPECT_EQ(ErrorOf([&] { state + state; }), "the state @w is used outside a function");

  auto g = p.Function("g");
  g.Result("f32[]");
  EXPECT_THAT(ErrorOf([&] { p.program(); }), HasSubstr("g promises results and ends without"));
}

TEST(ProgramBuilder, FlatteningNamesTheCppLine) {
  ProgramBuilder p("wrong", TestOps(), TestBuilders());
  auto f = p.Function("f");
  Var x = f.Param("x", "f32[B]");
  const uint32_t line = std::source_location::current().line() + 1;
  f.Return(p.Fn("nowhere")(x));
  EXPECT_THAT(ErrorOf([&] { p.Flatten(); }),
              HasSubstr("catamaran/ir/program_builder_test.cc:" + std::to_string(line) + ": "));
}

}  // namespace
}  // namespace catamaran
