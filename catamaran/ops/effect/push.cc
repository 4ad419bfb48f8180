// ops/effect/push.cc
//
// push(@t, rows): a gradient for the optimizer that a table declares.

#include <cmath>

#include "catamaran/ops/effect/update_code.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/table/table.h"

namespace catamaran {
namespace {

double ScalarOr(const KernelContext& c, int i, double otherwise) {
  if (!c.has_in(i)) return otherwise;
  const Slot& slot = c.in(i);
  return DispatchFloating(
      slot.tensor.dtype, [&]<class T>(T) { return static_cast<double>(*slot.data<T>()); }, "push");
}

double FiniteScalar(const KernelContext& c, int i, double otherwise, const char* what) {
  const double value = ScalarOr(c, i, otherwise);
  if (!std::isfinite(value)) {
    Fail(ErrorCode::kInvalidProgram, "the {} of @{} is {}", what, c.op->states[0], value);
  }
  return value;
}

KernelStatus PreparePush(KernelContext& c) {
  TablePush push;
  push.rows = static_cast<const RowsValue*>(c.in(0).object);
  push.scale = FiniteScalar(c, 1, 1, "scale of the gradient");
  push.lr_scale = FiniteScalar(c, 2, 1, "scale of the learning rate");
  if (const std::string wrong = WrongNumbers(*push.rows); !wrong.empty()) {
    c.run->Refuse(*c.op, fmt::format("the gradient of @{} {}", c.op->states[0], wrong));
  }
  c.run->Push(*c.op, 0, push);
  return KernelStatus::kDone;
}

void InferPush(InferContext& c) {
  const StateDecl* table = c.state(0);
  if (table == nullptr) return;
  if (table->kind != StateKind::kTable) {
    c.Fail("@" + table->name + " is a " + std::string(StateKindName(table->kind)) +
           ", wanted a table; update changes a param");
    return;
  }
  // Here and not when it runs: after the guard of a commit region nothing may fail.
  if (FindAttr(table->settings, "optimizer").empty()) {
    c.Fail("the table @" + table->name + " declares no optimizer");
    return;
  }
  if (!c.has(0) || !c.type(0).is_rows()) {
    c.Fail("wants rows, found " + (c.has(0) ? c.type(0).ToString() : "nothing"));
    return;
  }
  const Type& rows = c.type(0);
  if (rows.dtype() != DType::kF32 || rows.rank() != table->type.rank()) {
    c.Fail("the rows do not fit a table of " + table->type.ToString());
    return;
  }
  for (int i = 0; i < rows.rank(); ++i) {
    if (!c.Unify(rows.dim(i), table->type.dim(i), "widths of a row")) return;
  }
  for (int i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    c.AdoptLiteral(i, DType::kF32);
    if (!c.WantFloat(i) || !c.WantRank(i, 0)) return;
  }
}

}  // namespace

void DefinePush(OpSet& ops) {
  ops.Define("push")
      .Formula("row, slots = rule(row, slots, scale * sum of the rows with its key)")
      .Example(R"(table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
}
fn learn(ids: u64[B], dy: f32[B, 16]) {
  commit {
    push(@feat, lookup_rows(ids, dy), scale=0.5)
  }
  return
})")
      .Group("effect")
      .Doc(
          "Hands a sparse gradient to a table, whose own optimizer updates the rows: equal keys "
          "are added up in order, then each makes one step. Keys without a row pass admission "
          "first. A gradient that is not finite, or beyond 1e15, refuses the step as a guard does; "
          "a "
          "number of a row whose next value is not finite stays as it is.")
      .StateArg("table")
      .In("rows")
      .OptionalIn("scale", "multiplies the gradient")
      .OptionalIn("lr_scale", "multiplies the table's learning rate")
      .Results(0)
      .Traits(EffectTraits())
      .Infer(InferPush)
      .NoGrad("an effect has no value")
      .PrepareEffect(PreparePush)
      // The table applies it, with all else that the step does to it.
      .Reference("", [](KernelContext&) { return KernelStatus::kDone; });
}

}  // namespace catamaran
