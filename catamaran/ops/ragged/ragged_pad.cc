// ops/ragged/ragged_pad.cc
//
// ragged_pad(x, length): sequences as rows of one length, filled up or cut; ragged_unpad(x,
// lengths): the way back; and ragged_unpad_like, the way back to sequences that are there.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedPadSizes {
  int64_t rows, width, length;
  double value;
};

template <class T>
void RaggedPad(const T* x, const int64_t* offsets, T* y, const RaggedPadSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b, y += s.length * s.width) {
    const int64_t have = std::min(offsets[b + 1] - offsets[b], s.length);
    std::copy_n(x + offsets[b] * s.width, have * s.width, y);
    std::fill_n(y + have * s.width, (s.length - have) * s.width, static_cast<T>(s.value));
  }
}

// What lies beyond the length of the padded rows becomes zero.
template <class T>
void RaggedUnpad(const T* x, T* y, const int64_t* y_offsets, const RaggedPadSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b, x += s.length * s.width) {
    const int64_t want = y_offsets[b + 1] - y_offsets[b];
    const int64_t have = std::min(want, s.length);
    std::copy_n(x, have * s.width, y + y_offsets[b] * s.width);
    std::fill_n(y + (y_offsets[b] + have) * s.width, (want - have) * s.width, T(0));
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedPadSizes;

KernelStatus RunPad(KernelContext& c) {
  const RaggedPadSizes& s = c.sizes<RaggedPadSizes>();
  const int64_t rows = c.in(0).num_rows;
  const int64_t* offsets = c.in(0).offsets;
  if (!c.op->attr("truncate").AsBool()) {
    for (int64_t b = 0; b < rows; ++b) {
      if (offsets[b + 1] - offsets[b] > s.length) {
        Fail(ErrorCode::kBadData, "sequence {} has {} elements, more than the length {}", b,
             offsets[b + 1] - offsets[b], s.length);
      }
    }
  }
  DispatchAll(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const T* x = c.in(0).data<T>();
        T* y = c.out().data<T>();
        Split(c.pool, rows, 8 + s.length * s.width, [&](int64_t begin, int64_t end) {
          reference::RaggedPad(x, offsets + begin, y + begin * s.length * s.width,
                               {end - begin, s.width, s.length, s.value});
        });
      },
      "ragged_pad");
  return KernelStatus::kDone;
}

void Unpad(KernelContext& c, const int64_t* offsets, int64_t rows) {
  const RaggedPadSizes& s = c.sizes<RaggedPadSizes>();
  DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, rows, 8 + s.length * s.width, [&](int64_t begin, int64_t end) {
      reference::RaggedUnpad(x + begin * s.length * s.width, y, offsets + begin,
                             {end - begin, s.width, s.length, 0});
    });
  });
}

KernelStatus RunUnpad(KernelContext& c) {
  c.DecideSize(OffsetsOf(c.in(1), c.sizes<RaggedPadSizes>().length, c.new_offsets));
  Unpad(c, c.new_offsets, c.in(1).size());
  return KernelStatus::kDone;
}

KernelStatus RunUnpadLike(KernelContext& c) {
  Unpad(c, c.in(1).offsets, c.in(1).num_rows);
  return KernelStatus::kDone;
}

// Of the ops whose operand 0 is the padded [B, L, …].
void UnpadSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  words << x[0] << Product(x, 2, x.rank()) << x[1] << 0.0;
}

// The gradient of both ways of cutting rows.
void GradOfUnpad(GradContext& c) {
  if (!c.wanted(0)) return;
  c.SetGrad(0, c.emit().Emit("ragged_pad", {c.grad()}, {{"length", c.operand(0).type().dim(1)}}));
}

}  // namespace

void DefineRaggedPad(OpSet& ops) {
  ops.Define("ragged_pad")
      .Group("ragged")
      .Doc(
          "Sequences as rows of one length: shorter ones are filled up with `value`, longer ones "
          "are cut at the end, or refused when it runs with truncate=false.")
      .Formula("y[b, t, …] = x[b, t, …] for t < length of x[b], else value")
      .In("x", "[B, *T, …]")
      .RequiredAttr("length", AttrKind::kInt, "of every row of the result")
      .WithAttr("value", AttrKind::kFloat, 0.0, "what stands behind the end of a sequence")
      .WithAttr("truncate", AttrKind::kBool, true, "whether longer sequences are cut")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0)) return;
        const Dim length = c.op().attr("length").AsDim();
        if (length.is_constant() && length.constant() < 0) {
          return (void)c.Fail("length is negative: " + length.ToString());
        }
        c.SetResult(Joined(c.type(0), {c.type(0).dim(0), length}, 2, -1));
      })
      .Sizes("RaggedPadSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[0]->num_rows << RowWidth(*q.in[0]) << q.out[0]->shape()[1]
                     << q.op->attr("value").AsDouble();
             })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_unpad_like", {c.grad(), c.operand(0)}));
      })
      .Reference("RaggedPad", RunPad)
      .TakesHalf()
      .AddSample({.inputs = {Floats({4}, {1, 2, 3, 4})},
                  .attrs = {{"length", 3}},
                  .ragged_lengths = {{3, 0, 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"length", 2}, {"value", -1.5}},
                  .ragged_lengths = {{4, 0, 2}},
                  .note = "cut"})
      .AddSample({.inputs = {RandomInts({5, 2}, 0, 9)},
                  .attrs = {{"length", 4}, {"value", 7.0}, {"truncate", false}},
                  .ragged_lengths = {{2, 3}}})
      .AddSample({.inputs = {Bools({2}, {true, true})},
                  .attrs = {{"length", 2}},
                  .ragged_lengths = {{1, 1}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)},
                  .attrs = {{"length", 0}},
                  .ragged_lengths = {{1, 2}}})
      .AddSample({.inputs = {Empty({0, 2})}, .attrs = {{"length", 3}}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedUnpad(OpSet& ops) {
  ops.Define("ragged_unpad")
      .Group("ragged")
      .Doc(
          "The first lengths[b] elements of each row, as sequences. A length beyond the row is an "
          "error.")
      .Formula("y[b, t, …] = x[b, t, …] for t < lengths[b]")
      .In("x", "[B, L, …]")
      .In("lengths", "[B]: i32, i64 or u64")
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantDense(0) || !c.WantMinRank(0, 2)) return;
        if (!WantCounts(c, 1, "lengths")) return;
        if (!c.Unify(c.type(0).dim(0), c.type(1).dim(0), "the numbers of sequences")) return;
        c.SetResult(Joined(c.type(0), {c.type(0).dim(0), c.FreshDim()}, 2, 1));
      })
      .SizeBound(
          [](const Op& op) { return op.operand(0)->type.dim(0) * op.operand(0)->type.dim(1); })
      .Sizes("RaggedPadSizes", UnpadSizes)
      .Grad(GradOfUnpad)
      .Reference("RaggedUnpad", RunUnpad)
      .TakesHalf()
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Ints({2}, {1, 3})}})
      .AddSample({.inputs = {Uniform({3, 4, 2}, -1, 1), Ints({3}, {4, 0, 2}, DType::kI32)}})
      .AddSample({.inputs = {RandomInts({2, 2}, 0, 9), Ints({2}, {0, 2}, DType::kU64)}})
      .AddSample({.inputs = {Empty({2, 0, 3}), Ints({2}, {0, 0})}})
      .AddSample({.inputs = {Empty({0, 4}), Empty({0}, DType::kI64)}});
}

void DefineRaggedUnpadLike(OpSet& ops) {
  ops.Define("ragged_unpad_like")
      .Group("ragged")
      .Doc(
          "Rows as sequences of the same lengths as those of `like`: cut, or filled up with zeros "
          "where a sequence is longer than the rows. The gradient of ragged_pad.")
      .Formula("y[b, t, …] = x[b, t, …] for t < L, else 0")
      .In("x", "[B, L, …]")
      .In("like", "[B, *T, …]; only its lengths matter")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantDense(0) || !c.WantMinRank(0, 2)) return;
        if (!WantRagged(c, 1)) return;
        const Type& like = c.type(1);
        if (!c.Unify(c.type(0).dim(0), like.dim(0), "the numbers of sequences")) return;
        c.SetResult(Joined(c.type(0), {like.dim(0), like.dim(1)}, 2, 1));
      })
      .Sizes("RaggedPadSizes", UnpadSizes)
      .Grad(GradOfUnpad)
      .Reference("RaggedUnpad", RunUnpadLike)
      .TakesHalf()
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3}, {0, 0, 0})},
                  .ragged_lengths = {{}, {1, 2}}})
      .AddSample({.inputs = {Uniform({3, 2, 3}, -1, 1), RandomInts({5, 1}, 0, 9)},
                  .ragged_lengths = {{}, {1, 0, 4}},
                  .note = "filled up"});
}

}  // namespace catamaran
