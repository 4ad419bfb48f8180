#include "catamaran/ir/proto_samples.h"

#include <cmath>
#include <limits>

#include "catamaran/ir/emitter.h"

namespace catamaran::testing {
namespace {

void AddStates(Items& items, uint32_t file) {
  const Location at{file, 3, 1, 0};
  AttrCall normal{"normal", {}, {{"std", 0.01}}, {file, 3, 20, 0}};
  AttrCall adagrad{"rowwise_adagrad", {}, {{"lr", 0.05}}, at};
  AttrCall count{"count", {Attr(3)}, {}, {}};
  items.Add(StateDecl{StateKind::kTable,
                      "feat",
                      Type::Tensor(DType::kF32, {16}),
                      normal,
                      {{"optimizer", adagrad}, {"admit", count}},
                      at});
  items.Add(StateDecl{StateKind::kParam,
                      "w",
                      Type::Tensor(DType::kBF16, {Dim::Name("D") * 4 + 1, 3}),
                      Attr::Word("ones"),
                      {},
                      {file, 4, 1, 0}});
  items.Add(StateDecl{StateKind::kVar,
                      "seen",
                      Type::Scalar(DType::kI64),
                      Attr(0),
                      {{"merge", Attr::Word("sum")}},
                      {}});
  items.Add(StateDecl{StateKind::kChannel,
                      "out",
                      Type::Chan(Type::Tensor(DType::kF32, {8})),
                      Attr(),
                      {{"capacity", Attr(64)}},
                      at});
}

// One attribute of every kind.
std::vector<NamedAttr> AllAttrs() {
  AttrCall nested{"clip",
                  {Attr(AttrCall{"grad", {Attr::Word("loss.pure")}, {}, {}})},
                  {{"norm", 1.0}},
                  {1, 2, 3, 0}};
  const Dim b = Dim::Name("B"), h = Dim::Name("H");
  return {{"yes", true},
          {"no", false},
          {"int", -7},
          {"zero", 0},
          {"least", std::numeric_limits<int64_t>::min()},
          {"dim", Attr((h + 1) / 2 * b - 3)},
          {"quotient", Attr(((h + 1) / 2 + b) / (b * 3))},
          {"number", 0.1},
          {"negative_zero", -0.0},
          {"nan", std::nan("")},
          {"infinite", -std::numeric_limits<double>::infinity()},
          {"text", std::string("a \"b\"\n\xff\0c", 10)},
          {"dtype", DType::kBF16},
          {"word", Attr::Word("sum")},
          {"state", AttrState{"fc1.w"}},
          {"call", nested},
          {"list", Attr(Attr::List{Attr(1), Attr(b), Attr(Attr::List{}), Attr(nested)})},
          {"none", Attr()}};
}

// if, for and while in each other, values captured from outside, an optional left out.
void FillControlFlow(Program& program, Function& f) {
  Emitter e(program, f, f.body());
  Var x = e.Wrap(f.body().AddArg("x", Type::Tensor(DType::kF32, {Dim::Name("B"), 4})));
  Var n = e.Wrap(f.body().AddArg("n", Type::Scalar(DType::kI64)));
  f.order = {false, true, false};
  f.arg_locations = {{1, 7, 8, 0}, {1, 7, 12, 0}};
  f.statics.push_back({"training", StaticKind::kBool, Attr(false), "a mode", {1, 7, 20, 0}});
  Var zero = e.Constant(Attr(0));
  Op* loop = e.EmitOp(e.ops().Get("for"), {{zero.value(), n.value(), x.value()}, {}, {}, {}, 1},
                      {1, 8, 3, 0});
  loop->result()->name = "h";
  Block* body = loop->AddBlock();
  Value* i = body->AddArg("i");
  Var h(&e, body->AddArg("h"));
  Emitter inner(program, f, *body);
  Var flag = inner.Emit("less", {Var(&e, i), n});
  Op* branch = inner.EmitOp(e.ops().Get("if"), {{flag.value()}, {}, {}, {}, 1}, {1, 9, 5, 0});
  for (int k = 0; k < 2; ++k) {
    Block* block = branch->AddBlock();
    Emitter deep(program, f, *block);
    Var y = k == 0 ? deep.Emit("relu", {h}) : deep.Emit("add", {h, x});
    deep.Emit("yield", {y});
  }
  inner.Emit("yield", {inner.Wrap(branch->result())});
  Op* again = e.EmitOp(e.ops().Get("while"), {{loop->result()}, {}, {}, {}, 1}, {1, 12, 3, 0});
  for (int k = 0; k < 2; ++k) {
    Block* block = again->AddBlock();
    Var carried(&e, block->AddArg("c"));
    Emitter deep(program, f, *block);
    Var y = k == 0 ? deep.Emit("less", {carried, x}) : deep.Emit("relu", {carried});
    deep.Emit("yield", {y});
  }
  e.EmitOp(e.ops().Get("call"),
           {{again->result()}, {{"training", Attr::Word("training")}}, {}, "fc1.pure", 1},
           {1, 14, 3, 0});
  Var w = e.Read("w");
  const Var parts[] = {x, e.Wrap(again->result()), w};
  Var joined = e.Emit("concat", parts, {{"axis", 1}}).Named("joined");
  std::vector<Var> halves = e.EmitMany("split", std::vector<Var>{joined}, 2);
  const Var ids_only[] = {x, Var()};
  Var rows = e.EmitWithStates("lookup", {"feat"}, ids_only, {{"pool", Attr::Word("sum")}});
  Emitter commit(program, f, e.CommitRegion());
  commit.EmitWithStates("observe", {"feat"}, std::vector<Var>{x, rows});
  e.SetInsertionPoint(f.body());
  e.Emit("return", std::span<const Var>(halves));
}

}  // namespace

Program ProtoSampleAsWritten() {
  auto ops = ProtoSampleOps();
  Program program("ctr", ops);
  const uint32_t file = program.sources().AddFile("models/ctr.ctm", "program ctr\n\ntable @feat\n");
  AddStates(program.items, file);
  program.items.Add(
      Instance{"fc1", {"linear", {Attr(429), Attr(400)}, {}, {file, 5, 7, 0}}, {file, 5, 1, 0}});

  auto block = std::make_unique<BuilderDecl>();
  block->name = "block";
  block->at = {file, 6, 1, 0};
  block->params = {{"D", StaticKind::kInt, Attr(), "width", {file, 6, 15, 0}},
                   {"f", StaticKind::kFunction, Attr::Word("relu"), "", {}}};
  AddStates(block->items, file);
  auto main = std::make_unique<Function>();
  main->results = {{"", Type::Tensor(DType::kF32, {Dim::Name("B"), 2})}, {"@w", {}}};
  main->results_declared = true;
  FillControlFlow(program, *main);
  block->items.Add(std::move(main));
  program.items.Add(std::move(block));

  auto f = std::make_unique<Function>();
  f->name = "loss";
  f->at = {file, 7, 4, 0};
  FillControlFlow(program, *f);
  program.items.Add(std::move(f));

  auto attrs = std::make_unique<Function>();
  attrs->name = "attrs";
  Emitter e(program, *attrs, attrs->body());
  e.Emit("anything", {}, AllAttrs());
  e.Emit("return", {});
  program.items.Add(std::move(attrs));

  for (bool shared : {true, false}) {
    auto import = std::make_unique<Import>();
    import->alias = shared ? "near" : "far";
    import->path = "../net.ctm";
    import->at = {file, 20, 1, 0};
    import->program =
        std::make_unique<Program>("net", ops, shared ? program.sources_ptr() : nullptr);
    const uint32_t other = import->program->sources().AddFile("net.ctm", "program net\n");
    AddStates(import->program->items, other);
    program.items.Add(std::move(import));
  }
  program.items.Add(Instance{
      "train", {"adam", {Attr::Word("loss")}, AllAttrs(), {file, 21, 9, 0}}, {file, 21, 1, 0}});
  return program;
}

Program ProtoSampleFlat() {
  Program program("net", ProtoSampleOps());
  program.flat = true;
  SourceTable& sources = program.sources();
  const uint32_t file = sources.AddFile("net.ctm", "program net\nfn f(x: f32[B, *T, 16]) {\n");
  const uint32_t outer = sources.AddFrame("in linear fc1", {file, 2, 1, 0});
  const uint32_t inner = sources.AddFrame("called by loss", {file, 1, 1, outer});
  AddStates(program.items, file);

  auto f = std::make_unique<Function>();
  f->name = "net[training=true]";
  f->typed = true;
  f->next_fresh = 3;
  const Dim b = Dim::Name("B"), t = Dim::Name("T"), fresh = Dim::Name("?0");
  const Type ragged = Type::Tensor(DType::kF32, {b, t, 16}, 1);
  Value* x = f->body().AddArg("x", ragged);
  Value* rows = f->body().AddArg("r", Type::Rows(DType::kF64, {16, b * t / 2}));
  f->body().AddArg("s", Type::Stack(Type::Stack(ragged)));
  auto relu = std::make_unique<Op>(program.ops().Get("relu"), Location{file, 2, 5, inner});
  relu->SetOperands(std::vector<Value*>{x});
  Value* y = relu->AddResult("y", Type::Tensor(DType::kU8, {fresh, b + b * t}));
  f->body().Insert(std::move(relu));
  auto end = std::make_unique<Op>(program.ops().Get("return"), Location{file, 2, 9, 0});
  end->SetOperands(std::vector<Value*>{y, rows});
  f->body().Insert(std::move(end));
  f->results = {{"", y->type}, {"@w", rows->type}};
  f->results_declared = true;
  f->checks.push_back({fresh, b * 3, {file, 2, 5, outer}, "relu: inner dimensions"});
  program.items.Add(std::move(f));
  return program;
}

}  // namespace catamaran::testing
