// ops/effect/update.cc
//
// update(@w, grad, …): an optimizer's update rule applied to a parameter and its slots, in place.
// The rules stand in table/update_rules.h; tables apply the same ones.

#include <atomic>
#include <cmath>

#include "catamaran/ops/effect/update_code.h"
#include "catamaran/ops/row_sums.h"
#include "catamaran/table/optimizers.h"

namespace catamaran {
namespace {

struct UpdateSizes {
  int64_t rule, nesterov, centered;
  double momentum, beta1, beta2, rho, epsilon, weight_decay, l1, l2, beta;
};

rules::Hyper HyperOf(const UpdateSizes& s) {
  return {s.momentum, s.nesterov != 0, s.centered != 0, s.beta1, s.beta2,
          s.rho,      s.epsilon,       s.weight_decay,  s.l1,    s.l2,
          s.beta};
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
  words << static_cast<int64_t>(o.rule) << h.nesterov << h.centered << h.momentum << h.beta1
        << h.beta2 << h.rho << h.epsilon << h.weight_decay << h.l1 << h.l2 << h.beta;
}

// What one run works on.
template <class T>
struct Work {
  const UpdateFunctions<T>& functions;
  rules::Factors<T> factors;
  UpdateTarget<T> to = {};
  int64_t rows = 0;
};

double RateOf(const Slot& slot) {
  return DispatchFloating(
      slot.tensor.dtype, [&]<class T>(T) { return static_cast<double>(*slot.data<T>()); },
      "update");
}

template <class T>
Work<T> WorkOf(const KernelContext& c) {
  const UpdateSizes& s = c.sizes<UpdateSizes>();
  Optimizer optimizer;
  optimizer.rule = static_cast<rules::Rule>(s.rule);
  optimizer.hyper = HyperOf(s);
  const int64_t step = c.has_in(2) ? *c.in(2).data<int64_t>() : 1;
  Work<T> work = {UpdateFunctionsOf<T>(c),
                  rules::FactorsOf<T>(optimizer.rule, optimizer.hyper, RateOf(c.in(1)), step)};
  const TensorView w = c.run->state(*c.op, 0);
  work.to.w = w.As<T>();
  work.rows = w.shape.rank() == 0 ? 1 : w.shape[0];
  work.to.width = work.rows == 0 ? 0 : w.num_elements() / work.rows;
  for (const SlotFact& fact : optimizer.slots()) {
    const int k = work.to.num_slots++;
    work.to.slots[k] = c.run->state(*c.op, k + 1).template As<T>();
    work.to.slot_width[k] = fact.per_row ? 1 : work.to.width;
  }
  return work;
}

// Rows of a parameter: their sums, made while the effect is prepared.
template <class T>
struct PreparedRows final : Prepared {
  RowSums<T> sums;
};

template <class T>
void PrepareRows(KernelContext& c, const Work<T>& work) {
  if (c.prepared_effect == nullptr) c.prepared_effect = std::make_shared<PreparedRows<T>>();
  RowSums<T>& sums = static_cast<PreparedRows<T>&>(*c.prepared_effect).sums;
  sums.Fill(*static_cast<const RowsValue*>(c.in(0).object));
  // Keys rise, so that the last one tells.
  if (sums.size() > 0 && sums.key(sums.size() - 1) >= static_cast<uint64_t>(work.rows)) {
    Fail(ErrorCode::kBadData, "key {} is outside of the {} rows of @{}", sums.key(sums.size() - 1),
         work.rows, c.op->states[0]);
  }
}

template <class T>
void RunRows(const KernelContext& c, const Work<T>& work) {
  const RowSums<T>& sums = static_cast<const PreparedRows<T>&>(*c.prepared_effect).sums;
  Split(c.pool, sums.size(), 8 * work.to.width, [&](int64_t begin, int64_t end) {
    const int64_t kept = work.functions.rows(work.factors, work.to, sums.row(begin),
                                             sums.keys() + begin, end - begin);
    if (kept > 0) c.run->CountUnwritten(kept);
  });
}

// The norms of the whole parameter first, in blocks that depend on its size only; then the step.
template <class T>
void RunLamb(const KernelContext& c, const Work<T>& work, const T* g) {
  constexpr int64_t kBlocks = 64;
  const int64_t n = work.rows * work.to.width;
  const int64_t size = std::max<int64_t>(4096, (n + kBlocks - 1) / kBlocks);
  const int64_t blocks = (n + size - 1) / size;
  double sums[kBlocks][2] = {};
  std::atomic<bool> kept = false;
  Split(c.pool, blocks, 8 * size, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      if (work.functions.lamb_measure(work.factors, work.to, g, b * size,
                                      std::min(size, n - b * size), sums[b])) {
        kept.store(true, std::memory_order_relaxed);
      }
    }
  });
  double total[2] = {};
  for (int64_t b = 0; b < blocks; ++b) total[0] += sums[b][0], total[1] += sums[b][1];
  Split(c.pool, n, 8, [&](int64_t begin, int64_t end) {
    if (work.functions.lamb_step(work.factors, work.to, begin, end - begin, total)) {
      kept.store(true, std::memory_order_relaxed);
    }
  });
  if (kept.load(std::memory_order_relaxed)) c.run->CountUnwritten(1);
}

template <class T>
void RunDense(const KernelContext& c, Work<T> work) {
  const T* g = c.in(0).data<T>();
  if (work.factors.rule == rules::Rule::kLamb) return RunLamb(c, work, g);
  if (rules::ByElement(work.factors.rule)) {
    // Rows of one number, whole blocks of them at once.
    work.rows *= work.to.width;
    work.to.width = 1;
    for (int64_t& width : work.to.slot_width) width = 1;
  }
  std::atomic<bool> kept = false;
  Split(c.pool, work.rows, 4 * work.to.width, [&](int64_t begin, int64_t end) {
    if (work.functions.block(work.factors, work.to, g + begin * work.to.width, begin,
                             end - begin)) {
      kept.store(true, std::memory_order_relaxed);
    }
  });
  if (kept.load(std::memory_order_relaxed)) c.run->CountUnwritten(1);
}

DType DTypeOfGrad(const Op& op) { return op.operand(0)->type.dtype(); }

// As WrongNumbers says it, of a dense gradient.
template <class T>
std::string WrongGradient(const KernelContext& c, const Work<T>& work) {
  const T* g = c.in(0).data<T>();
  const int64_t count = work.rows * work.to.width;
  std::atomic<bool> wrong = false;
  Split(c.pool, count, 1, [&](int64_t begin, int64_t end) {
    if (!work.functions.within(g + begin, end - begin, kLargestNumber<T>)) {
      wrong.store(true, std::memory_order_relaxed);
    }
  });
  return wrong.load(std::memory_order_relaxed) ? WrongNumbers(g, count) : std::string();
}

KernelStatus PrepareUpdate(KernelContext& c) {
  if (c.has_in(3) && !*c.in(3).data<bool>()) return KernelStatus::kDone;
  const double rate = RateOf(c.in(1));
  if (!std::isfinite(rate)) {
    Fail(ErrorCode::kInvalidProgram, "the learning rate of @{} is {}", c.op->states[0], rate);
  }
  DispatchFloating(
      DTypeOfGrad(*c.op),
      [&]<class T>(T) {
        const Work<T> work = WorkOf<T>(c);
        std::string wrong;
        if (c.in(0).object != nullptr) {
          PrepareRows(c, work);
          wrong = WrongNumbers(*static_cast<const RowsValue*>(c.in(0).object));
        } else {
          wrong = WrongGradient(c, work);
        }
        if (!wrong.empty()) {
          c.run->Refuse(*c.op, fmt::format("the gradient of @{} {}", c.op->states[0], wrong));
        }
      },
      "update");
  return KernelStatus::kDone;
}

KernelStatus RunUpdate(KernelContext& c) {
  if (c.has_in(3) && !*c.in(3).data<bool>()) return KernelStatus::kDone;
  DispatchFloating(
      DTypeOfGrad(*c.op),
      [&]<class T>(T) {
        const Work<T> work = WorkOf<T>(c);
        if (c.in(0).object != nullptr) {
          RunRows(c, work);
        } else {
          RunDense(c, work);
        }
      },
      "update");
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
  if (c.has(3) && (!c.WantDType(3, DType::kBool) || !c.WantRank(3, 0))) return;

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
  const std::span<const SlotFact> slots = optimizer.slots();
  if (c.op().states.size() != slots.size() + 1) {
    c.Fail(std::string(fact.name) + " has " + std::to_string(slots.size()) + " slots, found " +
           std::to_string(c.op().states.size() - 1));
    return;
  }
  for (size_t k = 0; k < slots.size(); ++k) {
    const StateDecl* slot = c.state(static_cast<int>(k) + 1);
    if (slot == nullptr) return;
    Type wanted = w->type;
    if (slots[k].per_row) {
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
  op.Formula("w, slots = rule(w, slots, grad, lr)").Example(R"(param @w : f32[8]
var @m : f32[8] = 0
fn step(g: f32[8]) {
  commit {
    update(@w, [@m], g, 0.01, momentum, momentum=0.9)
  }
  return
})");
  op.Group("effect")
      .Doc(
          "Applies an optimizer's update rule to a parameter and its slots. A sparse gradient "
          "changes only its rows (equal keys added up in order). A gradient that is not finite, or "
          "beyond 1e15 (f64: 1e150), refuses the step as a guard does; a number whose next value "
          "is "
          "not finite stays as it is. Further attributes are the rule's hyperparameters.")
      .StateArg("w", "the parameter")
      .StatesArg("slots", "what the rule keeps, in its order")
      .In("grad", "dense, or rows")
      .In("lr", "the learning rate, a scalar")
      .OptionalIn("step", "i64, from 1 on; adam and its relatives need it")
      .OptionalIn("when", "bool; false: nothing changes");
  std::vector<std::string> names;
  for (const OptimizerFact& fact : Optimizers()) names.emplace_back(fact.name);
  op.WordAttr("rule", std::move(names), "", "which rule")
      .Results(0)
      .Traits(traits)
      .Infer(InferUpdate)
      .Sizes("UpdateSizes", FillSizes)
      .NoGrad("an effect has no value")
      .PrepareEffect(PrepareUpdate)
      .Reference("", RunUpdate)
      .Fast(UpdateKernel(RunUpdate));
}

}  // namespace catamaran
