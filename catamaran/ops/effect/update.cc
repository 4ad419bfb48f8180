// ops/effect/update.cc
//
// update(@w, grad, …): an optimizer's update rule applied to a parameter and its slots, in place.
// The rules stand in table/update_rules.h; tables apply the same ones.

#include <cmath>

#include "catamaran/ops/row_kernels.h"
#include "catamaran/ops/row_sums.h"
#include "catamaran/table/optimizers.h"

namespace catamaran {
namespace {

struct UpdateSizes {
  int64_t rule, nesterov;
  double momentum, beta1, beta2, rho, epsilon, weight_decay;
};

rules::Hyper HyperOf(const UpdateSizes& s) {
  return {s.momentum, s.nesterov != 0, s.beta1, s.beta2, s.rho, s.epsilon, s.weight_decay};
}

// Attributes of the op that are not hyperparameters.
bool IsOwnAttr(std::string_view name) { return name == "rule"; }

// The optimizer with the op's hyperparameters; its learning rate is an operand. Throws.
Optimizer OptimizerOf(const Op& op) {
  Optimizer optimizer = MakeOptimizer(op.attr("rule").AsWord(), 0);
  for (const NamedAttr& attr : op.attrs) {
    if (IsOwnAttr(attr.name)) continue;
    const bool* flag = attr.value.get<bool>();
    SetHyper(optimizer, attr.name, flag ? (*flag ? 1.0 : 0.0) : attr.value.AsDouble());
  }
  return optimizer;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Optimizer o = OptimizerOf(*q.op);
  const rules::Hyper& h = o.hyper;
  words << static_cast<int64_t>(o.rule) << h.nesterov << h.momentum << h.beta1 << h.beta2 << h.rho
        << h.epsilon << h.weight_decay;
}

// One function for whole rows, of the vector code or the plain one.
template <class T>
using UpdateFn = void (*)(rules::Rule, const rules::Hyper&, T* w, const T* g, T* const* slots,
                          int64_t rows, int64_t width, double lr, int64_t step);

// What one run works on.
template <class T>
struct Work {
  rules::Rule rule;
  rules::Hyper hyper;
  T* w;
  T* slots[kMaxSlots] = {};
  int64_t slot_width[kMaxSlots] = {};  // numbers a row
  int num_slots = 0;
  int64_t rows, width;
  double lr;
  int64_t step;

  // The rule on rows [begin, begin + count).
  void Apply(UpdateFn<T> update, int64_t begin, int64_t count, const T* g) const {
    T* at[kMaxSlots] = {};
    for (int k = 0; k < num_slots; ++k) at[k] = slots[k] + begin * slot_width[k];
    update(rule, hyper, w + begin * width, g, at, count, width, lr, step);
  }
};

double RateOf(const Slot& slot) {
  return DispatchFloating(
      slot.tensor.dtype, [&]<class T>(T) { return static_cast<double>(*slot.data<T>()); },
      "update");
}

template <class T>
Work<T> WorkOf(const KernelContext& c) {
  const UpdateSizes& s = c.sizes<UpdateSizes>();
  Work<T> work;
  work.rule = static_cast<rules::Rule>(s.rule);
  work.hyper = HyperOf(s);
  const TensorView w = c.run->state(*c.op, 0);
  work.w = w.As<T>();
  work.rows = w.shape.rank() == 0 ? 1 : w.shape[0];
  work.width = work.rows == 0 ? 0 : w.num_elements() / work.rows;
  const auto facts = FactOf(work.rule).slots;
  work.num_slots = static_cast<int>(facts.size());
  for (int k = 0; k < work.num_slots; ++k) {
    work.slots[k] = c.run->state(*c.op, k + 1).template As<T>();
    work.slot_width[k] = facts[static_cast<size_t>(k)].per_row ? 1 : work.width;
  }
  work.lr = RateOf(c.in(1));
  work.step = c.has_in(2) ? *c.in(2).data<int64_t>() : 1;
  return work;
}

template <class T>
void RunRows(const KernelContext& c, const Work<T>& work, UpdateFn<T> update) {
  const RowsValue& rows = *static_cast<const RowsValue*>(c.in(0).object);
  const RowSums<T>& sums = RowSums<T>::Of(rows);
  // Keys rise, so that the last one tells; nothing has changed yet.
  if (sums.size() > 0 && sums.key(sums.size() - 1) >= static_cast<uint64_t>(work.rows)) {
    Fail("key {} is outside of the {} rows of @{}", sums.key(sums.size() - 1), work.rows,
         c.op->states[0]);
  }
  Split(c.pool, sums.size(), 8 * work.width, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      work.Apply(update, static_cast<int64_t>(sums.key(k)), 1, sums.row(k));
    }
  });
}

template <class T>
void RunDense(const KernelContext& c, Work<T> work, UpdateFn<T> update) {
  const T* g = c.in(0).data<T>();
  if (work.rule != rules::Rule::kRowwiseAdagrad) {
    // Every element by itself: rows of one number, whole blocks of them at once.
    work.rows *= work.width;
    work.width = 1;
    for (int64_t& width : work.slot_width) width = 1;
    Split(c.pool, work.rows, 4,
          [&](int64_t begin, int64_t end) { work.Apply(update, begin, end - begin, g + begin); });
    return;
  }
  Split(c.pool, work.rows, 4 * work.width, [&](int64_t begin, int64_t end) {
    work.Apply(update, begin, end - begin, g + begin * work.width);
  });
}

template <class T>
void RunUpdate(const KernelContext& c, UpdateFn<T> update) {
  const Work<T> work = WorkOf<T>(c);
  if (c.in(0).object != nullptr) {
    RunRows(c, work, update);
  } else {
    RunDense(c, work, update);
  }
}

DType DTypeOfGrad(const Op& op) { return op.operand(0)->type.dtype(); }

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      DTypeOfGrad(*c.op), [&]<class T>(T) { RunUpdate<T>(c, rules::Apply<T>); }, "update");
  return KernelStatus::kDone;
}
KernelStatus RunVector(KernelContext& c) {
  RunUpdate<float>(c, RowKernelsOf(c).update);
  return KernelStatus::kDone;
}

// The gradient fits the parameter: dense, or rows of it.
bool WantGradient(InferContext& c, const Type& w) {
  if (!c.has(0) || !c.type(0).is_rows()) {
    return c.WantTensor(0) && c.UnifyTypes(w, c.type(0), "parameter and gradient");
  }
  const Type& rows = c.type(0);
  if (rows.dtype() != w.dtype() || rows.rank() + 1 != w.rank()) {
    return c.Fail("the rows do not fit a parameter of " + w.ToString());
  }
  for (int i = 0; i < rows.rank(); ++i) {
    if (!c.Unify(rows.dim(i), w.dim(i + 1), "dimensions of a row")) return false;
  }
  return true;
}

void InferUpdate(InferContext& c) {
  const StateDecl* w = c.state(0);
  if (w == nullptr) return;
  if (w->kind != StateKind::kParam && w->kind != StateKind::kVar) {
    c.Fail("@" + w->name + " is a " + std::string(StateKindName(w->kind)) +
           "; push hands a gradient to a table");
    return;
  }
  if (w->type.dtype() != DType::kF32 && w->type.dtype() != DType::kF64) {
    c.Fail("update rules work on f32 and f64, found " + w->type.ToString());
    return;
  }
  if (!WantGradient(c, w->type)) return;
  c.AdoptLiteral(1, DType::kF32);
  if (!c.WantFloat(1) || !c.WantRank(1, 0)) return;
  if (c.has(2) && (!c.WantDType(2, DType::kI64) || !c.WantRank(2, 0))) return;

  Optimizer optimizer;
  try {
    optimizer = OptimizerOf(c.op());
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  const OptimizerFact& fact = optimizer.fact();
  if (fact.needs_step && !c.has(2)) {
    c.Fail(std::string(fact.name) + " needs step, the number of this update from 1 on");
    return;
  }
  if (c.op().states.size() != fact.slots.size() + 1) {
    c.Fail(std::string(fact.name) + " has " + std::to_string(fact.slots.size()) + " slots, found " +
           std::to_string(c.op().states.size() - 1));
    return;
  }
  for (size_t k = 0; k < fact.slots.size(); ++k) {
    const StateDecl* slot = c.state(static_cast<int>(k) + 1);
    if (slot == nullptr) return;
    Type wanted = w->type;
    if (fact.slots[k].per_row) {
      wanted = w->type.rank() == 0 ? w->type : w->type.WithDims({w->type.dim(0)});
    }
    if (!(slot->type == wanted)) {
      c.Fail("slot @" + slot->name + " must be " + wanted.ToString() + ", found " +
             slot->type.ToString());
      return;
    }
  }
}

}  // namespace

void DefineUpdate(OpSet& ops) {
  OpTraits traits = EffectTraits();
  traits.open_attrs = true;
  OpBuilder op = ops.Define("update");
  op.Group("effect")
      .Doc(
          "Applies an optimizer's update rule to a parameter and its slots. A sparse gradient "
          "changes only its rows (equal keys added up in order). Further attributes are the "
          "rule's hyperparameters.")
      .StateArg("w", "the parameter")
      .StatesArg("slots", "what the rule keeps, in its order")
      .In("grad", "dense, or rows")
      .In("lr", "the learning rate, a scalar")
      .OptionalIn("step", "i64, from 1 on; adam needs it");
  std::vector<std::string> names;
  for (const OptimizerFact& fact : Optimizers()) names.emplace_back(fact.name);
  op.WordAttr("rule", std::move(names), "", "which rule")
      .Results(0)
      .Traits(traits)
      .Infer(InferUpdate)
      .Sizes("UpdateSizes", FillSizes)
      .NoGrad("an effect has no value")
      .Reference("", RunReference);
  Kernel vector = VectorKernel(RunVector);
  vector.supports = [](const KernelQuery& q) { return DTypeOfGrad(*q.op) == DType::kF32; };
  op.Fast(std::move(vector));
}

}  // namespace catamaran
