// ops/loss/list_rank.cc
//
// list_net(scores, relevance) and list_mle(scores, relevance): whole lists should be in the right
// order; and their gradients as ops. Lists are the last axis, or ragged.

#include "catamaran/ops/loss/list_rank_reference.h"
#include "catamaran/ops/loss/loss.h"

namespace catamaran {
namespace {

using reference::ListRankSizes;

// One number for each list.
Type ListType(const Type& scores) {
  return Type::Tensor(scores.dtype(), {scores.dims().begin(), scores.dims().end() - 1});
}

bool WantLists(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return false;
  if (c.type(0).is_ragged() && c.type(0).rank() != 2) {
    return c.Fail("ragged lists are [B, *T], found " + c.type(0).ToString());
  }
  return c.UnifyTypes(c.type(0), c.type(1), "scores and relevance");
}
bool WantListGradient(InferContext& c) {
  return WantLists(c) && c.WantFloat(2) && c.UnifyTypes(ListType(c.type(0)), c.type(2), "lists");
}

void FillSizes(const KernelQuery& q, Words& words) {
  const bool ragged = q.in[0]->offsets || q.in[0]->num_rows > 0;
  const int64_t width = ragged ? 0 : LastDim(*q.in[0]);
  words << (ragged ? q.in[0]->num_rows : RowsOf(*q.in[0], width)) << width;
}

ListRankSizes RunSizes(const KernelContext& c) {
  ListRankSizes s = c.sizes<ListRankSizes>();
  if (c.in(0).offsets) {
    s.rows = c.in(0).num_rows;
  } else {
    s.width = LastDim(c.in(0));
    // Lists without elements are lists too.
    s.rows = 1;
    for (int i = 0; i + 1 < c.in(0).shape().rank(); ++i) s.rows *= c.in(0).shape()[i];
  }
  return s;
}

// A list is at most all there is.
size_t Longest(const KernelQuery& q) { return static_cast<size_t>(q.in[0]->size()); }

template <class F>
KernelStatus ForTypes(const KernelContext& c, F&& f) {
  const ListRankSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype, [&]<class T>(T) { f(T{}, s); }, "listwise rank");
  return KernelStatus::kDone;
}

KernelStatus RunNet(KernelContext& c) {
  return ForTypes(c, [&]<class T>(T, const ListRankSizes& s) {
    reference::ListNet(c.in(0).data<T>(), c.in(1).data<T>(), c.in(0).offsets, c.out().data<T>(), s);
  });
}
KernelStatus RunNetGrad(KernelContext& c) {
  return ForTypes(c, [&]<class T>(T, const ListRankSizes& s) {
    reference::ListNetGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(), c.in(0).offsets,
                           c.out(0).data<T>(), c.out(1).data<T>(), s);
  });
}
KernelStatus RunMle(KernelContext& c) {
  return ForTypes(c, [&]<class T>(T, const ListRankSizes& s) {
    reference::ListMle(c.in(0).data<T>(), c.in(1).data<T>(), c.in(0).offsets, c.out().data<T>(),
                       static_cast<int64_t*>(c.scratch), s);
  });
}
KernelStatus RunMleGrad(KernelContext& c) {
  return ForTypes(c, [&]<class T>(T, const ListRankSizes& s) {
    auto* order = static_cast<int64_t*>(c.scratch);
    auto* rests = reinterpret_cast<double*>(order + c.in(0).size());
    reference::ListMleGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(), c.in(0).offsets,
                           c.out().data<T>(), order, rests, s);
  });
}

OpBuilder& AddLists(OpBuilder& op) {
  return op.Group("loss")
      .In("scores", "[…, N], or ragged [B, *T]")
      .In("relevance", "as scores")
      .Traits(RaggedTraits())
      .Sizes("ListRankSizes", FillSizes);
}

void AddSamples(OpBuilder& op, bool gradient) {
  const auto add = [&](Sample sample, Shape lists) {
    if (gradient) sample.inputs.push_back(Uniform(lists, 0.5, 1.5, 7));
    op.AddSample(std::move(sample));
  };
  add({.inputs = {Floats({2, 3}, {3, 1, 2, 0, 0, 1}), Floats({2, 3}, {2, 1, 0, 0, 0, 1})}}, {2});
  add({.inputs = {Uniform({2, 2, 7}, -2, 2), Uniform({2, 2, 7}, 0, 3, 2)}}, {2, 2});
  add({.inputs = {Uniform({5}, -2, 2), Uniform({5}, 0, 3, 2)}}, {});
  add({.inputs = {Floats({1, 3}, {1000, -1000, 0}), Floats({1, 3}, {1, 2, 3})}}, {1});
  add({.inputs = {Empty({0, 3}), Empty({0, 3})}}, {0});
  add({.inputs = {Empty({2, 0}), Empty({2, 0})}}, {2});
  add({.inputs = {Uniform({6}, -2, 2), Uniform({6}, 0, 3, 2)},
       .ragged_lengths = {{2, 0, 4}, {2, 0, 4}},
       .note = "ragged"},
      {3});
}

}  // namespace

void DefineListNet(OpSet& ops) {
  OpBuilder op = ops.Define("list_net");
  AddLists(op)
      .Doc(
          "For each list the cross entropy of softmax(scores) with softmax(relevance) as the "
          "target. An empty list loses 0.")
      .Formula("y[n] = -sum_j softmax(relevance)[n, j] log(softmax(scores)[n, j])")
      .Infer([](InferContext& c) {
        if (WantLists(c)) c.SetResult(ListType(c.type(0)));
      })
      .Grad([](GradContext& c) {
        const Var operands[] = {c.operand(0), c.operand(1), c.grad()};
        const std::vector<Var> grads = c.emit().EmitMany("list_net_grad", operands, 2);
        if (c.wanted(0)) c.SetGrad(0, grads[0]);
        if (c.wanted(1)) c.SetGrad(1, grads[1]);
      })
      .Reference("ListNet", RunNet);
  AddSamples(op, false);
}

void DefineListNetGrad(OpSet& ops) {
  OpBuilder op = ops.Define("list_net_grad");
  AddLists(op)
      .Doc("The gradients of list_net at its scores and at the relevance.")
      .Formula("dscores[n, j] = dy[n] (softmax(scores)[n, j] - softmax(relevance)[n, j])")
      .In("dy", "one number for each list")
      .Results(2)
      .Infer([](InferContext& c) {
        if (!WantListGradient(c)) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(0));
      })
      .NoGrad("the second derivative of list_net is not provided")
      .Reference("ListNetGrad", RunNetGrad);
  AddSamples(op, true);
}

void DefineListMle(OpSet& ops) {
  OpBuilder op = ops.Define("list_mle");
  AddLists(op)
      .Doc(
          "For each list minus the logarithm of the probability of the order by falling relevance, "
          "when places are filled one after another with probabilities softmax(scores) of what is "
          "left (Plackett and Luce). Elements of equal relevance are in their order. An empty list "
          "loses 0. The relevance has no gradient.")
      .Formula("y[n] = sum_i (log(sum over k >= i of exp(s[k])) - s[i]), s by falling relevance")
      .Infer([](InferContext& c) {
        if (WantLists(c)) c.SetResult(ListType(c.type(0)));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("list_mle_grad", {c.operand(0), c.operand(1), c.grad()}));
      })
      .Reference("ListMle", RunMle);
  op.def().kernels.back().scratch = [](const KernelQuery& q) { return 8 * Longest(q); };
  AddSamples(op, false);
}

void DefineListMleGrad(OpSet& ops) {
  OpBuilder op = ops.Define("list_mle_grad");
  AddLists(op)
      .Doc("The gradient of list_mle at its scores.")
      .Formula("ds[k] = dy (sum over i <= k of exp(s[k]) / (sum over j >= i of exp(s[j])) - 1)")
      .In("dy", "one number for each list")
      .Infer([](InferContext& c) {
        if (WantListGradient(c)) c.SetResult(c.type(0));
      })
      .NoGrad("the second derivative of list_mle is not provided")
      .Reference("ListMleGrad", RunMleGrad);
  op.def().kernels.back().scratch = [](const KernelQuery& q) { return 16 * Longest(q); };
  AddSamples(op, true);
}

}  // namespace catamaran
