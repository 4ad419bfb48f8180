// conv(in, out, kernel): a two-dimensional convolution with bias, images as [B, C, H, W].

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildConv(BuildContext& c) {
  const int64_t in = SizeArg(c, "in"), out = SizeArg(c, "out"), kernel = SizeArg(c, "kernel");
  const int64_t groups = SizeArg(c, "groups");
  if (in % groups != 0 || out % groups != 0) {
    c.Fail(fmt::format("conv: groups = {} must divide in = {} and out = {}", groups, in, out));
  }
  const std::string w =
      c.Declare(StateKind::kParam, "w",
                Type::Tensor(DType::kF32, {out, in / groups, kernel, kernel}), c.arg("init"));
  std::string b;
  if (c.Bool("bias")) {
    b = c.Declare(StateKind::kParam, "b", Type::Tensor(DType::kF32, {out}), Attr::Word("zeros"));
  }
  Function& f = c.NewFunction();
  Value* x = f.body().AddArg(
      "x", Type::Tensor(DType::kF32, {Dim::Name("B"), in, Dim::Name("H"), Dim::Name("W")}));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  const Var bias = b.empty() ? Var() : emit.Read(b);
  Var y = emit.Emit("conv2d", {emit.Wrap(x), emit.Read(w), bias},
                    {{"stride", c.arg("stride")},
                     {"padding", c.arg("padding")},
                     {"dilation", c.arg("dilation")},
                     {"groups", c.arg("groups")}});
  Return(c, emit, y);
}

}  // namespace

void AddConv(BuilderSet& builders) {
  builders.Add({"conv",
                "A two-dimensional convolution of x[B, in, H, W]. Owns w[out, in/groups, kernel, "
                "kernel] and b[out].",
                {{"in", StaticKind::kInt, {}, "channels of x", {}},
                 {"out", StaticKind::kInt, {}, "channels of the result", {}},
                 {"kernel", StaticKind::kInt, {}, "height and width of the window", {}},
                 {"stride", StaticKind::kInt, 1, "step of the window", {}},
                 {"padding", StaticKind::kInt, 0, "zeros added at each side", {}},
                 {"dilation", StaticKind::kInt, 1, "distance between the window's points", {}},
                 {"groups", StaticKind::kInt, 1, "channels are split into this many groups", {}},
                 {"bias", StaticKind::kBool, true, "whether b is added", {}},
                 {"init", StaticKind::kAny, Attr::Word("he"), "initial value of w", {}}},
                BuildConv});
}

}  // namespace catamaran
