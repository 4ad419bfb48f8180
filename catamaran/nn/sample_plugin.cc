// A user's library of ops, as docs/adding-an-op.md describes it: an elementwise op, an op with a
// kernel and a gradient of its own, and a builder that uses both.

#include "catamaran/ops/op_library.h"

CATAMARAN_OP_LIBRARY

namespace {

using namespace catamaran;

struct RunningSumSizes {
  int64_t rows, width, backwards;
};

template <class T>
void RunningSum(const T* x, T* y, const RunningSumSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, y += s.width) {
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) {
      const int64_t at = s.backwards != 0 ? s.width - 1 - i : i;
      sum += x[at];
      y[at] = sum;
    }
  }
}

KernelStatus RunRunningSum(KernelContext& c) {
  const auto& s = c.sizes<RunningSumSizes>();
  if (c.in(0).tensor.dtype == DType::kF64) {
    RunningSum(c.in(0).data<double>(), c.out().data<double>(), s);
  } else {
    RunningSum(c.in(0).data<float>(), c.out().data<float>(), s);
  }
  return KernelStatus::kDone;
}

void BuildRamp(BuildContext& c) {
  const int64_t size = c.Int("size");
  const std::string scale =
      c.Declare(StateKind::kParam, "scale", Type::Tensor(DType::kF32, {size}), Attr::Word("ones"));
  Function& f = c.NewFunction();
  Value* x = f.body().AddArg("x", Type::Tensor(DType::kF32, {Dim::Name("B"), size}));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  const Var y = emit.Emit("running_sum", {emit.Emit("swish", {emit.Wrap(x)})}) * emit.Read(scale);
  emit.EmitOp(emit.ops().Get("return"), {{y.value()}, {}, {}, {}, 0}, c.at());
  c.Finish(f);
}

}  // namespace

extern "C" void catamaran_define_ops(OpSet& ops) {
  Elementwise(ops, "swish", [](Expr x) { return x * Sigmoid(x); })
      .Group("activation")
      .Doc("x * sigmoid(x).")
      .Sample(Uniform({4, 3}, -3, 3));
  ops.Define("running_sum")
      .Group("matrix")
      .Doc("Each element plus all before it in its row; with backwards, all behind it.")
      .In("x", "[…, N], f32 or f64")
      .WithAttr("backwards", AttrKind::kBool, false)
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return;
        if (c.type(0).dtype() != DType::kF32 && c.type(0).dtype() != DType::kF64) {
          c.Fail("takes f32 and f64");
          return;
        }
        c.SetResult(c.type(0));
      })
      .Sizes("RunningSumSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& shape = q.in[0]->shape();
               const int64_t width = shape[shape.rank() - 1];
               words << (width == 0 ? 0 : q.in[0]->size() / width) << width
                     << int64_t{q.op->attr("backwards").AsBool()};
             })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("running_sum", {c.grad()},
                                   {{"backwards", !c.attr("backwards").AsBool()}}));
      })
      .Reference("RunningSum", RunRunningSum)
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1)}});
}

extern "C" void catamaran_add_builders(BuilderSet& builders) {
  builders.Add({"ramp",
                "running_sum(swish(x)) times a scale that is learned.",
                {{"size", StaticKind::kInt, {}, "size of the last dimension", {}}},
                BuildRamp});
}
