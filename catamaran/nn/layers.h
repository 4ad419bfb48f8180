// nn/layers.h
//
// Layers as builders: `fc1 = linear(429, 400)` yields a function and the state it owns. A layer
// is one file that adds itself to a BuilderSet.

#pragma once

#include "catamaran/ir/builder_set.h"

namespace catamaran {

void AddLayers(BuilderSet& builders);

// The parts of AddLayers.
void AddLinear(BuilderSet& builders);
void AddConv(BuilderSet& builders);
void AddMlp(BuilderSet& builders);
void AddNorm(BuilderSet& builders);
void AddDropout(BuilderSet& builders);
void AddEmbedding(BuilderSet& builders);
void AddResidual(BuilderSet& builders);
void AddAttention(BuilderSet& builders);
void AddPositions(BuilderSet& builders);
void AddTransformerBlock(BuilderSet& builders);
void AddRecurrent(BuilderSet& builders);
void AddTableFeatures(BuilderSet& builders);
void AddFactorizationMachine(BuilderSet& builders);
void AddCrossNetwork(BuilderSet& builders);
void AddDotInteraction(BuilderSet& builders);
void AddDinAttention(BuilderSet& builders);

}  // namespace catamaran
