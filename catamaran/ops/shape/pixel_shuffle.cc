// ops/shape/pixel_shuffle.cc
//
// pixel_shuffle(x, factor): channels become pixels of a larger image; pixel_unshuffle: the other
// way round. Images are NCHW.

#include <fmt/format.h>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {
namespace {

using reference::StridedSizes;

// Factor, checked, and the dimensions of x.
bool Image(InferContext& c, int64_t* factor, std::vector<Dim>* dims) {
  if (!c.WantMinRank(0, 3)) return false;
  const Type& x = c.type(0);
  *factor = c.op().attr("factor").AsInt();
  if (*factor < 1) return c.Fail(fmt::format("the factor is {}", *factor));
  *dims = DimsOf(x);
  return WantBehindRagged(c, x, x.rank() - 3);
}

void InferShuffle(InferContext& c) {
  int64_t factor = 0;
  std::vector<Dim> dims;
  if (!Image(c, &factor, &dims)) return;
  const size_t n = dims.size();
  const Dim square = factor * factor, channels = dims[n - 3] / square;
  if (!c.Unify(dims[n - 3], channels * square, "the channels and a multiple of the factor squared"))
    return;
  dims[n - 3] = channels;
  dims[n - 2] = dims[n - 2] * Dim(factor);
  dims[n - 1] = dims[n - 1] * Dim(factor);
  c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis()));
}

void InferUnshuffle(InferContext& c) {
  int64_t factor = 0;
  std::vector<Dim> dims;
  if (!Image(c, &factor, &dims)) return;
  const size_t n = dims.size();
  dims[n - 3] = dims[n - 3] * Dim(factor * factor);
  for (size_t axis : {n - 2, n - 1}) {
    const Dim smaller = dims[axis] / Dim(factor);
    if (!c.Unify(dims[axis], smaller * Dim(factor), "the image and a multiple of the factor")) {
      return;
    }
    dims[axis] = smaller;
  }
  c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis()));
}

// `small` is [o, f, f, h, w] in memory, the large image [o, h, f, w, f].
struct Steps {
  int64_t outer, f, h, w;
};

Steps StepsOf(const Op& op, const Shape& small) {
  const int64_t f = op.attr("factor").AsInt();
  const int rank = small.rank();
  return {Product(small, 0, rank - 2) / (f * f), f, small[rank - 2], small[rank - 1]};
}

StridedSizes Make(std::initializer_list<int64_t> dims, std::initializer_list<int64_t> strides,
                  int64_t whole) {
  StridedSizes s{};
  s.rank = static_cast<int64_t>(dims.size());
  std::copy(dims.begin(), dims.end(), s.dims);
  std::copy(strides.begin(), strides.end(), s.strides);
  s.whole = whole;
  return s;
}

StridedSizes ShuffleSizes(const Op& op, const Shape& x, const Shape&) {
  const auto [outer, f, h, w] = StepsOf(op, x);
  return Make({outer, h, f, w, f}, {f * f * h * w, w, f * h * w, 1, h * w}, x.num_elements());
}

StridedSizes UnshuffleSizes(const Op& op, const Shape& x, const Shape& y) {
  const auto [outer, f, h, w] = StepsOf(op, y);
  return Make({outer, f, f, h, w}, {f * f * h * w, f * w, 1, f * f * w, f}, x.num_elements());
}

// The gradient of each is the other.
GradFn GradBy(const char* other) {
  return [other](GradContext& c) {
    c.SetGrad(0, c.emit().Emit(other, {c.grad()}, {{"factor", c.attr("factor")}}));
  };
}

}  // namespace

void DefinePixelShuffle(OpSet& ops) {
  auto op = ops.Define("pixel_shuffle");
  op.Group("shape")
      .Doc(
          "Images […, C f², H, W] as larger ones […, C, H f, W f]: f² channels that follow each "
          "other become an f by f square of pixels.")
      .Formula("y[…, c, h f + i, w f + j] = x[…, c f² + i f + j, h, w]")
      .In("x")
      .RequiredAttr("factor", AttrKind::kInt, "f")
      .Traits(RaggedTraits())
      .Infer(InferShuffle)
      .Grad(GradBy("pixel_unshuffle"));
  StridedCopyKernels<ShuffleSizes>(op)
      .AddSample(
          {.inputs = {Floats({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, .attrs = {{"factor", 2}}})
      .AddSample({.inputs = {Uniform({2, 18, 3, 2}, -1, 1)}, .attrs = {{"factor", 3}}})
      .AddSample({.inputs = {RandomInts({2, 3, 2}, 0, 9)}, .attrs = {{"factor", 1}}})
      .AddSample({.inputs = {Empty({0, 4, 3, 2})}, .attrs = {{"factor", 2}}});
}

void DefinePixelUnshuffle(OpSet& ops) {
  auto op = ops.Define("pixel_unshuffle");
  op.Group("shape")
      .Doc("Images […, C, H f, W f] as smaller ones with more channels, […, C f², H, W].")
      .Formula("y[…, c f² + i f + j, h, w] = x[…, c, h f + i, w f + j]")
      .In("x")
      .RequiredAttr("factor", AttrKind::kInt, "f")
      .Traits(RaggedTraits())
      .Infer(InferUnshuffle)
      .Grad(GradBy("pixel_shuffle"));
  StridedCopyKernels<UnshuffleSizes>(op)
      .AddSample(
          {.inputs = {Floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, .attrs = {{"factor", 2}}})
      .AddSample({.inputs = {Uniform({2, 2, 9, 6}, -1, 1)}, .attrs = {{"factor", 3}}})
      .AddSample({.inputs = {RandomInts({2, 3, 2}, 0, 9)}, .attrs = {{"factor", 1}}})
      .AddSample({.inputs = {Empty({0, 1, 4, 2})}, .attrs = {{"factor", 2}}});
}

}  // namespace catamaran
