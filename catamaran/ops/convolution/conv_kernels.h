// ops/convolution/conv_kernels.h
//
// The kernels of convolutions, for all ranks: direct ones for images with few channels
// (conv_direct.h), oneDNN's, and matrix products over unfolded images (im2col), which also serve
// f64 and builds without oneDNN.

#pragma once

#include "catamaran/ops/convolution/conv_reference.h"
#include "catamaran/ops/convolution/window.h"

namespace catamaran {

// Adds the kernels and the reference to an op with the operands (x, w, bias), (dy, w, bias) and
// (x, dy). Their sizes are ConvSizes.
OpBuilder& AddConvKernels(OpBuilder& op);
OpBuilder& AddConvTransposeKernels(OpBuilder& op);
OpBuilder& AddConvGradInputKernels(OpBuilder& op);
OpBuilder& AddConvGradWeightKernels(OpBuilder& op);

// Fills ConvSizes from the shapes of images, filters and results.
void FillConvSizes(const KernelQuery& q, const Shape& x, const Shape& w, const Shape& y,
                   Words& words);

// Two operations for each product.
OpCost ConvCost(const KernelQuery& q);

}  // namespace catamaran
