// ops/shape/diag.cc
//
// diagonal(x, offset): the diagonals of matrices; diag_embed(x, offset): matrices with a given
// diagonal; diag: the one or the other by the rank; diagonal_place, the gradient of diagonal.

#include <fmt/format.h>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {
namespace {

using reference::StridedSizes;

constexpr const char* kOffsetDoc = "how far above the main diagonal; negative: below";

// The length of the diagonal of an n by m matrix.
int64_t DiagonalLength(int64_t n, int64_t m, int64_t offset) {
  return std::max<int64_t>(0, offset >= 0 ? std::min(n, m - offset) : std::min(n + offset, m));
}

// The leading dimensions of a batch of matrices, then the length of their diagonals.
bool DiagonalDims(InferContext& c, const Type& x, std::vector<Dim>* dims) {
  if (x.rank() < 2) {
    return c.Fail(fmt::format("wants matrices, found {}", x.ToString()));
  }
  if (!WantBehindRagged(c, x, x.rank() - 2)) return false;
  const int64_t offset = c.op().attr("offset").AsInt();
  const Dim& n = x.dim(x.rank() - 2);
  const Dim& m = x.dim(x.rank() - 1);
  dims->assign(x.dims().begin(), x.dims().end() - 2);
  if (n.is_constant() && m.is_constant()) {
    dims->push_back(DiagonalLength(n.constant(), m.constant(), offset));
  } else if (n == m) {
    dims->push_back(n - Dim(offset < 0 ? -offset : offset));
  } else {
    return c.Fail(fmt::format("cannot tell the length of the diagonal of {} by {}", n.ToString(),
                              m.ToString()));
  }
  return true;
}

void InferDiagonal(InferContext& c) {
  std::vector<Dim> dims;
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  if (DiagonalDims(c, x, &dims)) {
    c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
  }
}

void InferDiagEmbed(InferContext& c) {
  if (!c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  if (!WantBehindRagged(c, x, x.rank() - 1)) return;
  if (x.rank() == kMaxRank) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  const int64_t offset = c.op().attr("offset").AsInt();
  std::vector<Dim> dims = DimsOf(x);
  const Dim side = dims.back() + Dim(offset < 0 ? -offset : offset);
  dims.back() = side;
  dims.push_back(side);
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

void InferDiagonalPlace(InferContext& c) {
  if (!c.WantTensor(0) || !c.WantTensor(1)) return;
  const Type& like = c.type(1);
  std::vector<Dim> dims;
  if (!DiagonalDims(c, like, &dims)) return;
  if (c.UnifyTypes(c.type(0), Type::Tensor(c.type(0).dtype(), std::move(dims), like.ragged_axis()),
                   "the diagonal")) {
    c.SetResult(like.WithDType(c.type(0).dtype()));
  }
}

// Where the diagonals of `matrices` lie; `vectors` has one row for each.
StridedSizes DiagonalSizes(const Op& op, const Shape& matrices, const Shape& vectors) {
  const int64_t offset = op.attr("offset").AsInt();
  const int rank = matrices.rank();
  const int64_t m = matrices[rank - 1];
  StridedSizes s{};
  s.rank = 2;
  s.dims[0] = Product(matrices, 0, rank - 2);
  s.strides[0] = matrices[rank - 2] * m;
  s.dims[1] = vectors[vectors.rank() - 1];
  s.strides[1] = m + 1;
  s.offset = offset >= 0 ? offset : -offset * m;
  s.whole = matrices.num_elements();
  return s;
}

StridedSizes TakeSizes(const Op& op, const Shape& x, const Shape& y) {
  return DiagonalSizes(op, x, y);
}
StridedSizes PutSizes(const Op& op, const Shape& x, const Shape& y) {
  return DiagonalSizes(op, y, x);
}

void GradOfDiagonal(GradContext& c) {
  c.SetGrad(
      0, c.emit().Emit("diagonal_place", {c.grad(), c.operand(0)}, {{"offset", c.attr("offset")}}));
}

void GradOfPut(GradContext& c) {
  if (!c.wanted(0)) return;
  c.SetGrad(0, c.emit().Emit("diagonal", {c.grad()}, {{"offset", c.attr("offset")}}));
}

// diag: of rank 1 or 2.
bool Embeds(const Op& op) { return op.operand(0)->type.rank() == 1; }

void InferDiag(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const int rank = c.type(0).rank();
  if (rank != 1 && rank != 2) {
    return (void)c.Fail(
        fmt::format("wants a vector or a matrix, found {}; diagonal and diag_embed take batches",
                    c.type(0).ToString()));
  }
  return rank == 1 ? InferDiagEmbed(c) : InferDiagonal(c);
}

StridedSizes DiagSizes(const Op& op, const Shape& x, const Shape& y) {
  StridedSizes s = Embeds(op) ? DiagonalSizes(op, y, x) : DiagonalSizes(op, x, y);
  s.place = Embeds(op);
  return s;
}

KernelStatus RunDiagReference(KernelContext& c) {
  return Embeds(*c.op) ? RunStridedPlace<DiagSizes>(c) : RunStridedCopy<DiagSizes>(c);
}

KernelStatus RunDiagFast(KernelContext& c) {
  return Embeds(*c.op) ? RunStridedFast<DiagSizes, true>(c) : RunStridedFast<DiagSizes, false>(c);
}

}  // namespace

void DefineDiagonal(OpSet& ops) {
  auto op = ops.Define("diagonal");
  op.Group("shape")
      .Doc("The diagonals of matrices, which are the last two axes; those before are a batch.")
      .Formula("y[…, i] = x[…, i, i + offset]")
      .In("x")
      .WithAttr("offset", AttrKind::kInt, 0, kOffsetDoc)
      .Traits(RaggedTraits())
      .Infer(InferDiagonal)
      .Grad(GradOfDiagonal);
  StridedCopyKernels<TakeSizes>(op)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}})
      .AddSample({.inputs = {Uniform({2, 3, 5}, -1, 1)}, .attrs = {{"offset", 3}}})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -1, 1)}, .attrs = {{"offset", -1}}})
      .AddSample({.inputs = {Uniform({3, 3}, -1, 1)}, .attrs = {{"offset", 4}}})
      .AddSample({.inputs = {RandomInts({3, 3}, 0, 9)}})
      .AddSample({.inputs = {Empty({0, 3, 3})}})
      .AddSample({.inputs = {Uniform({6, 3, 2}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineDiagonalPlace(OpSet& ops) {
  auto op = ops.Define("diagonal_place");
  op.Group("shape")
      .Doc("Zeros of the shape of `like`, with x on the diagonals. The gradient of diagonal.")
      .Formula("y = 0; y[…, i, i + offset] = x[…, i]")
      .In("x")
      .In("like", "only its shape matters")
      .WithAttr("offset", AttrKind::kInt, 0, kOffsetDoc)
      .Traits(RaggedTraits())
      .Infer(InferDiagonalPlace)
      .Grad(GradOfPut);
  StridedPlaceKernels<PutSizes>(op, "StridedPlace")
      .AddSample({.inputs = {Floats({2}, {1, 2}), Floats({2, 3}, {0, 0, 0, 0, 0, 0})}})
      .AddSample(
          {.inputs = {Uniform({2, 2}, -1, 1), Uniform({2, 3, 5}, -1, 1)}, .attrs = {{"offset", 3}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1), Uniform({2, 5, 3}, -1, 1)},
                  .attrs = {{"offset", -1}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3, 3})}});
}

void DefineDiagEmbed(OpSet& ops) {
  auto op = ops.Define("diag_embed");
  op.Group("shape")
      .Doc("Square matrices of zeros with the last axis of x as their diagonal.")
      .Formula("y = 0; y[…, i, i + offset] = x[…, i]")
      .In("x")
      .WithAttr("offset", AttrKind::kInt, 0, kOffsetDoc)
      .Traits(RaggedTraits())
      .Infer(InferDiagEmbed)
      .Grad(GradOfPut);
  StridedPlaceKernels<PutSizes>(op, "StridedEmbed")
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}, .attrs = {{"offset", 2}}})
      .AddSample({.inputs = {Uniform({2, 1, 3}, -1, 1)}, .attrs = {{"offset", -1}}})
      .AddSample({.inputs = {RandomInts({3}, 1, 9, DType::kI32)}})
      .AddSample({.inputs = {Empty({0})}, .attrs = {{"offset", 1}}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample(
          {.inputs = {Uniform({6, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3, 1}}, .note = "ragged"});
}

void DefineDiag(OpSet& ops) {
  ops.Define("diag")
      .Group("shape")
      .Doc(
          "Of a vector the square matrix with it on the diagonal, zeros elsewhere; of a matrix its "
          "diagonal.")
      .Formula("y[i, i + offset] = x[i], or y[i] = x[i, i + offset]")
      .In("x")
      .WithAttr("offset", AttrKind::kInt, 0, kOffsetDoc)
      .Infer(InferDiag)
      .Sizes("StridedSizes", FillStrided<DiagSizes>)
      .Reference("StridedEither", RunDiagReference)
      .Fast(MoveKernel("strided", RunDiagFast))
      .TakesHalf()
      .Grad([](GradContext& c) { return Embeds(c.op()) ? GradOfPut(c) : GradOfDiagonal(c); })
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4})}})
      .AddSample({.inputs = {Uniform({3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3}, -1, 1)}, .attrs = {{"offset", -2}}})
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1)}, .attrs = {{"offset", -1}}})
      .AddSample({.inputs = {RandomInts({3, 3}, 0, 9)}, .attrs = {{"offset", 1}}})
      .AddSample({.inputs = {Empty({0, 0})}});
}

}  // namespace catamaran
