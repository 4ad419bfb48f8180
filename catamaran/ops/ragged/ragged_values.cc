// ops/ragged/ragged_values.cc
//
// ragged_values(x): the elements of all sequences, one after another; ragged_like(values, like):
// the way back. Both share memory.

#include <cstring>

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedValuesSizes {
  int64_t count;
};

template <class T>
void RaggedValues(const T* x, T* y, const RaggedValuesSizes& s) {
  if (x != y) std::copy_n(x, s.count, y);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

// The executor lets the result share the operand's memory; where it does not, this copies.
KernelStatus RunValues(KernelContext& c) {
  const int64_t have = c.in(0).shape()[0];
  const int64_t want = c.num_ins > 1 ? c.in(1).offsets[c.in(1).num_rows] : c.out().shape()[0];
  if (have != want) Fail("there are {} values, wanted {}", have, want);
  const size_t bytes = c.in(0).tensor.num_bytes();
  if (bytes > 0 && c.in(0).tensor.data != c.out().tensor.data) {
    std::memcpy(c.out().tensor.data, c.in(0).tensor.data, bytes);
  }
  return KernelStatus::kDone;
}

OpBuilder& Shares(OpBuilder& op) {
  OpTraits traits = RaggedTraits();
  traits.alias_first = true;
  return op.Group("ragged")
      .Traits(traits)
      .Sizes("RaggedValuesSizes",
             [](const KernelQuery& q, Words& words) { words << q.in[0]->size(); })
      .Reference("RaggedValues", RunValues)
      .TakesHalf();
}

}  // namespace

void DefineRaggedValues(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_values");
  Shares(op)
      .Doc(
          "The elements of all sequences, one after another, as a dense tensor. Its axis 0 is the "
          "total of the ragged dimension and has its name, or `total` where that is given; the "
          "two are then checked to be equal when it runs.")
      .Formula("y[offsets[b] + t, …] = x[b, t, …]")
      .In("x", "[B, *T, …]")
      .OptionalAttr("total", AttrKind::kInt, "what to call axis 0")
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0)) return;
        Dim total = c.type(0).dim(1);
        if (const Attr& given = c.op().attr("total"); !given.empty()) {
          if (!c.Unify(total, given.AsDim(), "the totals")) return;
          total = given.AsDim();
        }
        c.SetResult(Joined(c.type(0), {total}, 2, -1));
      })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_like", {c.grad(), c.operand(0)}));
      })
      .AddSample(
          {.inputs = {Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, .ragged_lengths = {{3, 0, 1}}})
      .AddSample(
          {.inputs = {Uniform({5}, -1, 1)}, .attrs = {{"total", 5}}, .ragged_lengths = {{2, 3}}})
      .AddSample({.inputs = {RandomInts({5, 1}, 0, 9)}, .ragged_lengths = {{5}}})
      .AddSample({.inputs = {Empty({0, 3})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedLike(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_like");
  Shares(op)
      .Doc(
          "Elements as sequences of the same lengths as those of `like`. There are as many as "
          "`like` has, which is checked when it runs where it is not known before.")
      .Formula("y[b, t, …] = values[offsets[b] + t, …]")
      .In("values", "[N, …]")
      .In("like", "[B, *T, …]; only its lengths matter")
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantDense(0) || !c.WantMinRank(0, 1) || !WantRagged(c, 1)) {
          return;
        }
        const Type& like = c.type(1);
        if (!c.Unify(c.type(0).dim(0), like.dim(1), "the totals")) return;
        c.SetResult(Joined(c.type(0), {like.dim(0), like.dim(1)}, 1, 1));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(
            0, c.emit().Emit("ragged_values", {c.grad()}, {{"total", c.operand(0).type().dim(0)}}));
      })
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({3, 1}, {0, 0, 0})},
                  .ragged_lengths = {{}, {1, 2}}})
      .AddSample({.inputs = {Uniform({5, 2, 2}, -1, 1), RandomInts({5}, 0, 9)},
                  .ragged_lengths = {{}, {2, 0, 3}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0})}, .ragged_lengths = {{}, {0, 0}}});
}

}  // namespace catamaran
