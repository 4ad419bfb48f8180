// ops/convolution/conv_direct.h
//
// Kernels for f32 images with few channels and windows that slide by one (conv_direct_simd.h): the
// first layers of networks, and all of small ones.

#pragma once

#include "catamaran/ops/convolution/conv_kernels.h"

namespace catamaran {

Kernel DirectForwardKernel();  // (x, w, bias) -> y
Kernel DirectDataKernel();     // (dy, w, bias) -> dx
Kernel DirectWeightKernel();   // (x, dy) -> dw

}  // namespace catamaran
