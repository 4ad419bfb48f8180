// ops/sparse/pairwise_dot.cc
//
// pairwise_dot(x): the products of all pairs of fields, one number a pair; and its gradient as an
// op.

#include "catamaran/ops/sparse/interaction_isa.h"

// reference-begin
namespace catamaran::reference {

// self 1: also each field with itself.
struct PairwiseDotSizes {
  int64_t rows, fields, width, self;
};

template <class T>
void PairwiseDot(const T* x, T* y, const PairwiseDotSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.fields * s.width) {
    for (int64_t f = 0; f < s.fields; ++f) {
      for (int64_t g = 0; g < f + s.self; ++g) {
        T dot = T(0);
        for (int64_t i = 0; i < s.width; ++i) dot += x[f * s.width + i] * x[g * s.width + i];
        *y++ = dot;
      }
    }
  }
}

template <class T>
void PairwiseDotGrad(const T* x, const T* dy, T* dx, const PairwiseDotSizes& s) {
  std::fill_n(dx, s.rows * s.fields * s.width, T(0));
  for (int64_t r = 0; r < s.rows; ++r, x += s.fields * s.width, dx += s.fields * s.width) {
    for (int64_t f = 0; f < s.fields; ++f) {
      for (int64_t g = 0; g < f + s.self; ++g, ++dy) {
        for (int64_t i = 0; i < s.width; ++i) {
          dx[f * s.width + i] += *dy * x[g * s.width + i];
          dx[g * s.width + i] += *dy * x[f * s.width + i];
        }
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::PairwiseDotSizes;

PairwiseDotSizes SizesOf(const Op& op, const Slot& x) {
  const FieldSizes s = FieldsOf(x);
  return {s.rows, s.fields, s.width, op.attr("self_interaction").AsBool()};
}

int64_t Pairs(const PairwiseDotSizes& s) { return s.fields * (s.fields - 1 + 2 * s.self) / 2; }

// Sizes of this run: the number of examples may differ from what was prepared for.
PairwiseDotSizes RunSizes(const KernelContext& c) {
  PairwiseDotSizes s = c.sizes<PairwiseDotSizes>();
  s.rows = FieldsOf(c.in(0)).rows;
  return s;
}

KernelStatus RunDot(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::PairwiseDot(c.in(0).data<const T>(), c.out().data<T>(), RunSizes(c));
      },
      "pairwise_dot");
  return KernelStatus::kDone;
}

KernelStatus RunDotGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::PairwiseDotGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                                   c.out().data<T>(), RunSizes(c));
      },
      "pairwise_dot_grad");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const PairwiseDotSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto dots = InteractionsOf<T>(c).dots;
        Split(c.pool, s.rows, Pairs(s) * s.width / 4, [&](int64_t begin, int64_t end) {
          dots(c.in(0).data<const T>() + begin * s.fields * s.width,
               c.out().data<T>() + begin * Pairs(s), end - begin, s.fields, s.width, s.self != 0);
        });
      },
      "pairwise_dot");
  return KernelStatus::kDone;
}

KernelStatus RunVectorGrad(KernelContext& c) {
  const PairwiseDotSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto grad = InteractionsOf<T>(c).dots_grad;
        Split(c.pool, s.rows, Pairs(s) * s.width / 2, [&](int64_t begin, int64_t end) {
          const int64_t at = begin * s.fields * s.width;
          grad(c.in(0).data<const T>() + at, c.in(1).data<const T>() + begin * Pairs(s),
               c.out().data<T>() + at, end - begin, s.fields, s.width, s.self != 0);
        });
      },
      "pairwise_dot_grad");
  return KernelStatus::kDone;
}

bool FewFields(const KernelQuery& q) { return FieldsOf(*q.in[0]).fields <= kMostFields; }

void FillSizes(const KernelQuery& q, Words& words) {
  const PairwiseDotSizes s = SizesOf(*q.op, *q.in[0]);
  words << s.rows << s.fields << s.width << s.self;
}

OpCost CostOf(const KernelQuery& q) {
  const PairwiseDotSizes s = SizesOf(*q.op, *q.in[0]);
  double bytes = 0;
  for (const Slot* slot : q.in) bytes += static_cast<double>(slot->tensor.num_bytes());
  bytes += static_cast<double>(q.out[0]->tensor.num_bytes());
  const double ways = q.in.size() > 1 ? 4 : 2;
  return {ways * static_cast<double>(s.rows * Pairs(s) * s.width), bytes};
}

// The type of the products of x.
bool WantPairs(InferContext& c, Type* y) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 2)) return false;
  const Dim& fields = c.type(0).dim(c.type(0).rank() - 2);
  const int64_t more = c.op().attr("self_interaction").AsBool() ? 1 : -1;
  return WantFields(c, 0, {fields * (fields + more) / 2}, y);
}

OpBuilder& AddSelf(OpBuilder& op) {
  return op.Group("sparse")
      .WithAttr("self_interaction", AttrKind::kBool, false,
                "whether each field is multiplied with itself too")
      .Traits(RowwiseTraits())
      .Sizes("PairwiseDotSizes", FillSizes)
      .Cost(CostOf);
}

}  // namespace

void DefinePairwiseDot(OpSet& ops) {
  OpBuilder op = ops.Define("pairwise_dot");
  op.In("x", "[…, F, D]: F fields of D numbers");
  AddSelf(op)
      .Doc(
          "The inner products of all pairs of fields, as DLRM has them: F (F - 1) / 2 numbers, or "
          "F (F + 1) / 2 with self_interaction. They stand in the order (1, 0), (2, 0), (2, 1), "
          "(3, 0), …")
      .Formula("y[…, (f, g)] = sum over i of x[…, f, i] * x[…, g, i] for g < f")
      .Infer([](InferContext& c) {
        Type y;
        if (WantPairs(c, &y)) c.SetResult(y);
      })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("pairwise_dot_grad", {c.operand(0), c.grad()},
                                   {{"self_interaction", c.attr("self_interaction")}}));
      })
      .Reference("PairwiseDot", RunDot)
      .Fast(InteractionKernel(RunVector, FewFields))
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 2, 3, 4, 5, 6})}});
  for (const bool self : {false, true}) {
    const std::vector<NamedAttr> attrs = {{"self_interaction", self}};
    op.AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1)}, .attrs = attrs})
        .AddSample({.inputs = {Uniform({2, 27, 19}, -1, 1)}, .attrs = attrs, .tolerance = 1e-4})
        .AddSample({.inputs = {Uniform({2, 2, 9, 4}, -1, 1)}, .attrs = attrs})
        .AddSample({.inputs = {Uniform({2, 1, 4}, -1, 1)}, .attrs = attrs})
        .AddSample({.inputs = {Empty({2, 3, 0})}, .attrs = attrs})
        .AddSample({.inputs = {Empty({0, 3, 4})}, .attrs = attrs})
        .AddSample({.inputs = {Uniform({5, 3, 2}, -1, 1)},
                    .attrs = attrs,
                    .ragged_lengths = {{2, 0, 3}},
                    .note = "ragged"});
  }
  op.AddSample({.inputs = {Uniform({1, 40, 300}, -1, 1)}, .tolerance = 1e-4, .note = "in pieces"});
}

void DefinePairwiseDotGrad(OpSet& ops) {
  OpBuilder op = ops.Define("pairwise_dot_grad");
  op.In("x", "[…, F, D]").In("dy", "as pairwise_dot's result");
  AddSelf(op)
      .Doc("The gradient of pairwise_dot: each field gets the others times the dy of their pair.")
      .Formula("dx[…, f, i] = sum over g of dy[…, (f, g)] * x[…, g, i]; twice for g = f")
      .Infer([](InferContext& c) {
        Type y;
        if (WantPairs(c, &y) && c.UnifyTypes(y, c.type(1), "pairs and dy")) {
          c.SetResult(c.type(0));
        }
      })
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        const std::vector<NamedAttr> self = {{"self_interaction", c.attr("self_interaction")}};
        const auto dots = [&](Var v) { return e.Emit("pairwise_dot", {v}, self); };
        if (c.wanted(0)) c.SetGrad(0, e.Emit("pairwise_dot_grad", {u, dy}, self));
        // The mixed products of x and u.
        if (c.wanted(1)) c.SetGrad(1, dots(x + u) - dots(x) - dots(u));
      })
      .Reference("PairwiseDotGrad", RunDotGrad)
      .Fast(InteractionKernel(RunVectorGrad, FewFields))
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 2, 3, 4, 5, 6}), Floats({1, 3}, {1, 0, 2})}})
      .AddSample({.inputs = {Uniform({3, 4, 85}, -1, 1), Uniform({3, 6}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1), Uniform({3, 10}, -1, 1, 2)},
                  .attrs = {{"self_interaction", true}}})
      .AddSample({.inputs = {Empty({0, 3, 5}), Empty({0, 3})}});
}

}  // namespace catamaran
