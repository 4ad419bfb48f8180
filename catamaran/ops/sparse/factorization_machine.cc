// ops/sparse/factorization_machine.cc
//
// factorization_machine(x, more): the sum of the products of all pairs of fields; and its gradient
// as an op.

#include "catamaran/ops/sparse/interaction_isa.h"

// reference-begin
namespace catamaran::reference {

struct FactorizationMachineSizes {
  int64_t rows, fields, more_fields, width;
};

// Each field times the sum of those before it: the same as half of (square of sum - sum of
// squares), without what cancels there. Fields of `more` come behind those of x; it is null where
// there are none.
template <class T>
void FactorizationMachine(const T* x, const T* more, T* y, const FactorizationMachineSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    double total = 0;
    for (int64_t i = 0; i < s.width; ++i) {
      double before = 0;
      const auto add = [&](const T* from, int64_t fields) {
        for (int64_t f = 0; f < fields; ++f) {
          const double v = static_cast<double>(from[(r * fields + f) * s.width + i]);
          total += v * before;
          before += v;
        }
      };
      add(x, s.fields);
      add(more, s.more_fields);
    }
    y[r] = static_cast<T>(total);
  }
}

template <class T>
void FactorizationMachineGrad(const T* x, const T* dy, T* dx, const FactorizationMachineSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.fields * s.width, dx += s.fields * s.width) {
    for (int64_t i = 0; i < s.width; ++i) {
      T sum = T(0);
      for (int64_t f = 0; f < s.fields; ++f) sum += x[f * s.width + i];
      for (int64_t f = 0; f < s.fields; ++f) {
        dx[f * s.width + i] = (sum - x[f * s.width + i]) * dy[r];
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::FactorizationMachineSizes;

FactorizationMachineSizes SizesOf(const Slot& x, const Slot* more) {
  const FieldSizes s = FieldsOf(x);
  return {s.rows, s.fields, more == nullptr ? 0 : FieldsOf(*more).fields, s.width};
}
FactorizationMachineSizes RunSizes(const KernelContext& c) {
  return SizesOf(c.in(0), c.has_in(1) ? &c.in(1) : nullptr);
}
template <class T>
const T* MoreOf(const KernelContext& c) {
  return c.has_in(1) ? c.in(1).data<const T>() : nullptr;
}

KernelStatus RunMachine(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::FactorizationMachine(c.in(0).data<const T>(), MoreOf<T>(c), c.out().data<T>(),
                                        RunSizes(c));
      },
      "factorization_machine");
  return KernelStatus::kDone;
}

KernelStatus RunMachineGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::FactorizationMachineGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                                            c.out().data<T>(), SizesOf(c.in(0), nullptr));
      },
      "factorization_machine_grad");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const FactorizationMachineSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto machine = InteractionsOf<T>(c).machine;
        const T *x = c.in(0).data<const T>(), *more = MoreOf<T>(c);
        Split(c.pool, s.rows, (s.fields + s.more_fields) * s.width,
              [&](int64_t begin, int64_t end) {
                machine(x + begin * s.fields * s.width, s.fields,
                        more + begin * s.more_fields * s.width, s.more_fields,
                        c.out().data<T>() + begin, end - begin, s.width);
              });
      },
      "factorization_machine");
  return KernelStatus::kDone;
}

KernelStatus RunVectorGrad(KernelContext& c) {
  const FieldSizes s = FieldsOf(c.in(0));
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto grad = InteractionsOf<T>(c).machine_grad;
        Split(c.pool, s.rows, s.fields * s.width, [&](int64_t begin, int64_t end) {
          const int64_t at = begin * s.fields * s.width;
          grad(c.in(0).data<const T>() + at, c.in(1).data<const T>() + begin,
               c.out().data<T>() + at, end - begin, s.fields, s.width);
        });
      },
      "factorization_machine_grad");
  return KernelStatus::kDone;
}

void WriteSizes(const FactorizationMachineSizes& s, Words& words) {
  words << s.rows << s.fields << s.more_fields << s.width;
}

OpCost CostOf(const KernelQuery& q) {
  double bytes = static_cast<double>(q.out[0]->tensor.num_bytes());
  for (const Slot* slot : q.in) {
    if (slot != nullptr) bytes += static_cast<double>(slot->tensor.num_bytes());
  }
  const FactorizationMachineSizes s = SizesOf(*q.in[0], q.in.size() > 1 ? q.in[1] : nullptr);
  return {3 * static_cast<double>(s.rows * (s.fields + s.more_fields) * s.width), bytes};
}
OpCost GradCostOf(const KernelQuery& q) {
  double bytes = static_cast<double>(q.out[0]->tensor.num_bytes());
  for (const Slot* slot : q.in) bytes += static_cast<double>(slot->tensor.num_bytes());
  return {3 * static_cast<double>(q.in[0]->size()), bytes};
}

void GradMachine(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0);
  const int64_t axis = x.type().rank() - 2;
  if (!c.has_operand(1)) {
    c.SetGrad(0, e.Emit("factorization_machine_grad", {x, c.grad()}));
    return;
  }
  const Var more = c.operand(1);
  const Var all = e.Emit("concat", {x, more}, {{"axis", axis}});
  const Var grad = e.Emit("factorization_machine_grad", {all, c.grad()});
  const Dim fields = x.type().dim(static_cast<int>(axis));
  const Dim more_fields = more.type().dim(static_cast<int>(axis));
  if (c.wanted(0)) {
    c.SetGrad(0, e.Emit("slice", {grad}, {{"axis", axis}, {"begin", 0}, {"end", fields}}));
  }
  if (!c.wanted(1)) return;
  c.SetGrad(1, fields.is_constant() ? e.Emit("slice", {grad}, {{"axis", axis}, {"begin", fields}})
                                    : e.Emit("slice", {grad, e.DimValue(fields)},
                                             {{"axis", axis}, {"size", more_fields}}));
}

}  // namespace

void DefineFactorizationMachine(OpSet& ops) {
  ops.Define("factorization_machine")
      .Group("sparse")
      .Doc(
          "The second-order part of a factorisation machine: the products of all pairs of fields, "
          "added up. One field, or none, gives 0.")
      .Formula("y = 1/2 sum over i of ((sum over f of x[f, i])^2 - sum over f of x[f, i]^2)")
      .In("x", "[…, F, D]: F fields of D numbers")
      .OptionalIn("more", "[…, G, D]: G fields that come behind those of x")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        Type y, of_more;
        if (!WantFields(c, 0, {}, &y)) return;
        if (c.has(1) &&
            (!c.WantSameDType(0, 1) || !WantFields(c, 1, {}, &of_more) ||
             !c.UnifyTypes(y, of_more, "examples of x and more") ||
             !c.Unify(c.type(0).dim(c.type(0).rank() - 1), c.type(1).dim(c.type(1).rank() - 1),
                      "numbers of a field of x and more"))) {
          return;
        }
        c.SetResult(y);
      })
      .Sizes("FactorizationMachineSizes",
             [](const KernelQuery& q, Words& words) {
               WriteSizes(SizesOf(*q.in[0], q.in.size() > 1 ? q.in[1] : nullptr), words);
             })
      .Cost(CostOf)
      .Grad(GradMachine)
      .Reference("FactorizationMachine", RunMachine)
      .Fast(InteractionKernel(RunVector))
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 2, 3, 4, 5, 6})}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 2, 7, 37}, -1, 1)}})
      .AddSample({.inputs = {Uniform({5, 8}, -1, 1)}, .note = "one example"})
      .AddSample({.inputs = {Uniform({3, 1, 5}, -1, 1)}, .note = "one field"})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1), Uniform({3, 2, 5}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 2, 3, 37}, -1, 1), Uniform({2, 2, 5, 37}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({2, 0, 5})}})
      .AddSample({.inputs = {Empty({0, 3, 5})}})
      .AddSample(
          {.inputs = {Uniform({5, 3, 2}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}, .note = "ragged"});
}

void DefineFactorizationMachineGrad(OpSet& ops) {
  ops.Define("factorization_machine_grad")
      .Group("sparse")
      .Doc("The gradient of factorization_machine: dy times the sum of the other fields.")
      .Formula("dx[f, i] = dy * sum over g != f of x[g, i]")
      .In("x", "[…, F, D]")
      .In("dy", "[…]")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        Type y;
        if (WantFields(c, 0, {}, &y) && c.UnifyTypes(y, c.type(1), "examples and dy")) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes(
          "FactorizationMachineSizes",
          [](const KernelQuery& q, Words& words) { WriteSizes(SizesOf(*q.in[0], nullptr), words); })
      .Cost(GradCostOf)
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        const auto machine = [&](Var v) { return e.Emit("factorization_machine", {v}); };
        // Linear in both: x by itself as in the machine, dy by the mixed products of x and u.
        if (c.wanted(0)) c.SetGrad(0, e.Emit("factorization_machine_grad", {u, dy}));
        if (c.wanted(1)) c.SetGrad(1, machine(x + u) - machine(x) - machine(u));
      })
      .Reference("FactorizationMachineGrad", RunMachineGrad)
      .Fast(InteractionKernel(RunVectorGrad))
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 2, 3, 4, 5, 6}), Floats({1}, {2})}})
      .AddSample({.inputs = {Uniform({3, 4, 21}, -1, 1), Uniform({3}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0, 3, 5}), Empty({0})}});
}

}  // namespace catamaran
