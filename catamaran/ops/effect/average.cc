// ops/effect/average.cc
//
// average(@mean, @w, take): a moving average of a state follows that state.

#include <cmath>

#include "catamaran/ops/effect/update_code.h"

namespace catamaran {
namespace {

KernelStatus PrepareAverage(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto take = static_cast<double>(*c.in(0).data<T>());
        if (!std::isfinite(take)) {
          Fail(ErrorCode::kInvalidProgram, "what the average @{} takes of the state is {}",
               c.op->states[0], take);
        }
      },
      "average");
  return KernelStatus::kDone;
}

KernelStatus RunAverage(KernelContext& c) {
  const TensorView to = c.run->state(*c.op, 0);
  const TensorView from = c.run->state(*c.op, 1);
  const double take = DispatchFloating(
      c.in(0).tensor.dtype, [&]<class T>(T) { return static_cast<double>(*c.in(0).data<T>()); },
      "average");
  DispatchFloating(
      to.dtype,
      [&]<class T>(T) {
        const UpdateFunctions<T>& functions = UpdateFunctionsOf<T>(c);
        Split(c.pool, to.num_elements(), 2, [&](int64_t begin, int64_t end) {
          functions.average(to.As<T>() + begin, from.As<T>() + begin, end - begin, take);
        });
      },
      "average");
  return KernelStatus::kDone;
}

void InferAverage(InferContext& c) {
  const StateDecl* to = c.state(0);
  const StateDecl* from = c.state(1);
  if (to == nullptr || from == nullptr) return;
  for (const StateDecl* state : {to, from}) {
    if (state->kind != StateKind::kParam && state->kind != StateKind::kVar) {
      c.Fail("@" + state->name + " is a " + std::string(StateKindName(state->kind)) +
             "; only a param or var has an average");
      return;
    }
  }
  if (to->type.dtype() != DType::kF32 && to->type.dtype() != DType::kF64) {
    c.Fail("averages are f32 or f64, found " + to->type.ToString());
    return;
  }
  if (!(to->type == from->type)) {
    c.Fail("@" + to->name + " and @" + from->name + " differ: " + to->type.ToString() + " and " +
           from->type.ToString());
    return;
  }
  if (to->name == from->name) {
    c.Fail("a state cannot be its own average");
    return;
  }
  c.AdoptLiteral(0, DType::kF64);
  if (c.WantFloat(0)) c.WantRank(0, 0);
}

}  // namespace

void DefineAverage(OpSet& ops) {
  ops.Define("average")
      .Formula("mean += take * (w - mean)")
      .Example(R"(param @w : f32[8]
var @mean : f32[8]
fn follow() {
  commit {
    average(@mean, @w, 0.01)
  }
  return
})")
      .Group("effect")
      .Doc(
          "Moves a state towards another one, in place: mean += take * (w - mean). Of an `update` "
          "of w that stands before it in the region it sees the result. Only mean changes.")
      .StateArg("mean", "the average")
      .StateArg("w", "what is averaged")
      .In("take", "a scalar: 1 copies w, 0 changes nothing")
      .Results(0)
      .Traits(EffectTraits())
      .Infer(InferAverage)
      .NoGrad("an effect has no value")
      .PrepareEffect(PrepareAverage)
      .Reference("", RunAverage)
      .Fast(UpdateKernel(RunAverage));
}

}  // namespace catamaran
