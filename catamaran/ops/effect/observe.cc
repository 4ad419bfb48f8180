// ops/effect/observe.cc
//
// observe(@t, ids): keys were shown, and perhaps clicked. It feeds the table's metadata, admission
// and expiry.

#include "catamaran/ops/effect/update_code.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/sparse/feature.h"
#include "catamaran/table/table.h"

namespace catamaran {
namespace {

struct ObserveSizes {
  int64_t salt;  // the bits of the feature's
};

// show or click: for all keys, for each leading part of the ids, or for each key.
bool WantCounts(InferContext& c, int i) {
  if (!c.has(i)) return true;
  c.AdoptLiteral(i, DType::kF32);
  if (!c.WantDType(i, DType::kF32)) return false;
  const Type& ids = c.type(0);
  const Type& counts = c.type(i);
  if (counts.rank() > ids.rank()) {
    return c.Fail("show and click have the axes of the ids, or the first of them, or none");
  }
  if (counts.is_ragged() && counts.ragged_axis() != ids.ragged_axis()) {
    return c.Fail("show and click must be ragged as the ids are");
  }
  for (int axis = 0; axis < counts.rank(); ++axis) {
    if (!c.Unify(ids.dim(axis), counts.dim(axis), "axes of the ids")) return false;
  }
  return true;
}

void InferObserve(InferContext& c) {
  const StateDecl* table = c.state(0);
  if (table == nullptr) return;
  if (table->kind != StateKind::kTable) {
    c.Fail("@" + table->name + " is a " + std::string(StateKindName(table->kind)) +
           ", wanted a table");
    return;
  }
  if (!WantKeys(c, 0) || !WantCounts(c, 1) || !WantCounts(c, 2) || !WantFeature(c)) return;
  if (c.has(1) && c.has(2) && c.type(1).rank() > 0 && c.type(2).rank() > 0 &&
      c.type(1).rank() != c.type(2).rank()) {
    c.Fail("show and click must have the same shape, or one of them none");
  }
}

KernelStatus PrepareObserve(KernelContext& c) {
  const Slot& ids = c.in(0);
  TableObservation seen;
  seen.keys = ids.tensor.data;
  seen.key_type = ids.tensor.dtype;
  seen.num_keys = ids.size();
  seen.salt = static_cast<uint64_t>(c.sizes<ObserveSizes>().salt);
  for (int i = 1; i <= 2; ++i) {
    if (!c.has_in(i)) continue;
    const Slot& counts = c.in(i);
    const bool for_all = counts.shape().rank() == 0;
    (i == 1 ? seen.show : seen.click) = counts.data<float>();
    (i == 1 ? seen.show_for_all : seen.click_for_all) = for_all;
    if (for_all) continue;
    if (ids.offsets != nullptr && counts.offsets == nullptr) {
      seen.offsets = ids.offsets;
      seen.num_groups = ids.num_rows;
    } else if (counts.size() > 0) {
      seen.keys_per_group = ids.size() / counts.size();
    }
  }
  for (int i = 1; i <= 2; ++i) {
    if (!c.has_in(i)) continue;
    if (const std::string wrong = WrongNumbers(c.in(i).data<float>(), c.in(i).size());
        !wrong.empty()) {
      c.run->Refuse(*c.op, fmt::format("{} {}", i == 1 ? "show" : "click", wrong));
    }
  }
  c.run->Observe(*c.op, 0, seen);
  return KernelStatus::kDone;
}

}  // namespace

void DefineObserve(OpSet& ops) {
  OpTraits traits = EffectTraits();
  traits.understands_ragged = true;
  OpBuilder op = ops.Define("observe");
  op.Formula("shows[ids] += show, clicks[ids] += click")
      .Example(R"(table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
}
fn shown(ids: u64[B, 26], clicked: f32[B]) {
  commit {
    observe(@feat, ids, show=1, click=clicked)
  }
  return
})")
      .Group("effect")
      .Doc(
          "Tells a table that keys were shown: adds to their shows and clicks, counts for "
          "admission, and keeps them from expiring. A key without a row is counted until the "
          "table admits it.")
      .StateArg("table")
      .In("ids", "u64 or i64, dense or ragged")
      .OptionalIn("show", "how often; 1 where it is left out")
      .OptionalIn("click", "how often it was clicked; 0 where it is left out");
  AddFeature(op)
      .Results(0)
      .Traits(traits)
      .Infer(InferObserve)
      .Sizes("ObserveSizes", [](const KernelQuery& q,
                                Words& words) { words << static_cast<int64_t>(SaltOf(*q.op)); })
      .NoGrad("an effect has no value")
      .PrepareEffect(PrepareObserve)
      // The table applies it, with all else that the step does to it.
      .Reference("", [](KernelContext&) { return KernelStatus::kDone; });
}

}  // namespace catamaran
