// ops/sparse/factorization_machine.cc
//
// factorization_machine(x): the sum of the products of all pairs of fields; and its gradient as an
// op.

#include "catamaran/ops/sparse/interaction_isa.h"

// reference-begin
namespace catamaran::reference {

struct FactorizationMachineSizes {
  int64_t rows, fields, width;
};

// Each field times the sum of those before it: the same as half of (square of sum - sum of
// squares), without what cancels there.
template <class T>
void FactorizationMachine(const T* x, T* y, const FactorizationMachineSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.fields * s.width) {
    double total = 0;
    for (int64_t i = 0; i < s.width; ++i) {
      double before = 0;
      for (int64_t f = 0; f < s.fields; ++f) {
        total += static_cast<double>(x[f * s.width + i]) * before;
        before += static_cast<double>(x[f * s.width + i]);
      }
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

FactorizationMachineSizes SizesOf(const Slot& x) {
  const FieldSizes s = FieldsOf(x);
  return {s.rows, s.fields, s.width};
}

KernelStatus RunMachine(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::FactorizationMachine(c.in(0).data<const T>(), c.out().data<T>(),
                                        SizesOf(c.in(0)));
      },
      "factorization_machine");
  return KernelStatus::kDone;
}

KernelStatus RunMachineGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::FactorizationMachineGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                                            c.out().data<T>(), SizesOf(c.in(0)));
      },
      "factorization_machine_grad");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const FieldSizes s = FieldsOf(c.in(0));
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto machine = InteractionsOf<T>(c).machine;
        Split(c.pool, s.rows, s.fields * s.width, [&](int64_t begin, int64_t end) {
          machine(c.in(0).data<const T>() + begin * s.fields * s.width, c.out().data<T>() + begin,
                  end - begin, s.fields, s.width);
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

void FillSizes(const KernelQuery& q, Words& words) {
  const FieldSizes s = FieldsOf(*q.in[0]);
  words << s.rows << s.fields << s.width;
}

OpCost CostOf(const KernelQuery& q) {
  double bytes = 0;
  for (const Slot* slot : q.in) bytes += static_cast<double>(slot->tensor.num_bytes());
  bytes += static_cast<double>(q.out[0]->tensor.num_bytes());
  return {3 * static_cast<double>(q.in[0]->size()), bytes};
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
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        Type y;
        if (WantFields(c, 0, {}, &y)) c.SetResult(y);
      })
      .Sizes("FactorizationMachineSizes", FillSizes)
      .Cost(CostOf)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("factorization_machine_grad", {c.operand(0), c.grad()}));
      })
      .Reference("FactorizationMachine", RunMachine)
      .Fast(InteractionKernel(RunVector))
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 2, 3, 4, 5, 6})}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 2, 7, 37}, -1, 1)}})
      .AddSample({.inputs = {Uniform({5, 8}, -1, 1)}, .note = "one example"})
      .AddSample({.inputs = {Uniform({3, 1, 5}, -1, 1)}, .note = "one field"})
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
      .Sizes("FactorizationMachineSizes", FillSizes)
      .Cost(CostOf)
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
