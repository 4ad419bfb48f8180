// ops/convolution/conv.h
//
// What convolutions, their gradients and transposed convolutions share in type rules, gradients
// and samples.

#pragma once

#include <fmt/format.h>

#include "catamaran/ops/convolution/conv_kernels.h"

namespace catamaran {

// Operands a and b are floats of one dtype with `rank` spatial axes each.
inline bool WantImages(InferContext& c, int rank) {
  return c.WantFloat(0) && c.WantFloat(1) && c.WantSameDType(0, 1) && c.WantRank(0, rank + 2) &&
         c.WantRank(1, rank + 2);
}

// Groups must divide the filters.
inline bool CheckGroups(InferContext& c, const Dim& filters) {
  const int64_t groups = c.op().attr("groups").AsInt();
  if (groups < 1) return c.Fail("groups must be at least 1");
  if (filters.is_constant() && filters.constant() % groups != 0) {
    return c.Fail(
        fmt::format("groups={} does not divide the {} filters", groups, filters.ToString()));
  }
  return true;
}

// The optional operand 2: one number a channel.
inline bool CheckBias(InferContext& c, const Dim& channels) {
  return !c.has(2) || (c.WantSameDType(0, 2) && c.WantRank(2, 1) &&
                       c.Unify(channels, c.type(2).dim(0), "channels of result and bias"));
}

inline OpBuilder& AddConvAttrs(OpBuilder& op) {
  return AddWindowAttrs(op.Group("convolution"))
      .WithAttr("groups", AttrKind::kInt, 1, "channels and filters fall into so many groups")
      .Cost(ConvCost);
}

// The geometry, handed on.
inline std::vector<NamedAttr> ConvAttrs(const GradContext& c) {
  std::vector<NamedAttr> attrs = WindowAttrs(c);
  attrs.push_back({"groups", c.attr("groups")});
  return attrs;
}

inline Var EmitConv(GradContext& c, int rank, Var x, Var w) {
  return c.emit().Emit(fmt::format("conv{}d", rank), {x, w}, ConvAttrs(c));
}
inline Var EmitConvGradInput(GradContext& c, int rank, Var dy, Var w, const Type& like) {
  std::vector<NamedAttr> attrs = ConvAttrs(c);
  attrs.push_back({"size", Attr::Dims(SpatialDims(like))});
  return c.emit().Emit(fmt::format("conv{}d_grad_input", rank), {dy, w}, std::move(attrs));
}
inline Var EmitConvGradWeight(GradContext& c, int rank, Var x, Var dy, const Type& like) {
  std::vector<NamedAttr> attrs = ConvAttrs(c);
  attrs.push_back({"kernel", Attr::Dims(SpatialDims(like))});
  return c.emit().Emit(fmt::format("conv{}d_grad_weight", rank), {x, dy}, std::move(attrs));
}
// The gradient at the bias: the sum over everything but the channels.
inline Var SumToChannels(GradContext& c, int rank, Var dy) {
  std::vector<Attr> axes = {Attr(0)};
  for (int i = 0; i < rank; ++i) axes.push_back(Attr(i + 2));
  return c.emit().Emit("sum", {dy}, {{"axes", Attr(axes)}});
}

// A geometry worth testing: images, filters, results.
struct ConvCase {
  Shape x, w, y;
  std::vector<NamedAttr> attrs;
};
std::vector<ConvCase> ConvCases(int rank);

inline Tensor ConvTensor(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -1, 1, seed);
}

}  // namespace catamaran
