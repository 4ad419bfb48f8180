#include "catamaran/nn/layers.h"

namespace catamaran {

void AddLayers(BuilderSet& builders) {
  AddLinear(builders);
  AddConv(builders);
  AddMlp(builders);
  AddNorm(builders);
  AddDropout(builders);
  AddEmbedding(builders);
  AddResidual(builders);
  AddAttention(builders);
  AddPositions(builders);
  AddTransformerBlock(builders);
  AddRecurrent(builders);
  AddTableFeatures(builders);
  AddFactorizationMachine(builders);
  AddCrossNetwork(builders);
  AddDotInteraction(builders);
  AddDinAttention(builders);
}

}  // namespace catamaran
