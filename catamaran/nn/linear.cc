// linear(in, out): x·w + b over the last dimension.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildLinear(BuildContext& c) {
  const int64_t in = SizeArg(c, "in"), out = SizeArg(c, "out");
  const Type x_type = InputType(c, DType::kF32, 2, {in});
  const std::string w =
      c.Declare(StateKind::kParam, "w", Type::Tensor(DType::kF32, {in, out}), c.arg("init"));
  std::string b;
  if (c.Bool("bias")) {
    b = c.Declare(StateKind::kParam, "b", Type::Tensor(DType::kF32, {out}), Attr::Word("zeros"));
  }
  Function& f = c.NewFunction();
  Value* x = f.body().AddArg("x", x_type);
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  Var y = emit.Emit("matmul", {emit.Wrap(x), emit.Read(w)});
  if (!b.empty()) y = y + emit.Read(b);
  Return(c, emit, y);
}

}  // namespace

void AddLinear(BuilderSet& builders) {
  builders.Add({"linear",
                "x·w + b over the last dimension of x. Owns w[in, out] and b[out].",
                {{"in", StaticKind::kInt, {}, "size of the last dimension of x", {}},
                 {"out", StaticKind::kInt, {}, "size of the last dimension of the result", {}},
                 {"bias", StaticKind::kBool, true, "whether b is added", {}},
                 {"init", StaticKind::kAny, Attr::Word("xavier"), "initial value of w", {}},
                 RankParam(2),
                 RaggedParam("[B, *T, in]")},
                BuildLinear});
}

}  // namespace catamaran
