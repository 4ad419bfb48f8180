#include "catamaran/nn/layers.h"

namespace catamaran {

void AddLayers(BuilderSet& builders) {
  AddLinear(builders);
  AddConv(builders);
  AddMlp(builders);
  AddNorm(builders);
  AddDropout(builders);
  AddEmbedding(builders);
}

}  // namespace catamaran
