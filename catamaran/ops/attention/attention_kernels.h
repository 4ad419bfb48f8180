// ops/attention/attention_kernels.h
//
// The fast kernels of attention and of its gradient, in tiles: no more of the scores than one tile
// exists at a time.

#pragma once

#include "catamaran/ir/op_set.h"

namespace catamaran {

void AddAttentionKernels(OpBuilder& op);
void AddAttentionGradKernels(OpBuilder& op);
void AddAttentionMaskGradKernels(OpBuilder& op);

OpCost AttentionCost(const KernelQuery& query);
OpCost AttentionGradCost(const KernelQuery& query);

}  // namespace catamaran
