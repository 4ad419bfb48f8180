#include "catamaran/transform/builders.h"

namespace catamaran {

void AddTransforms(BuilderSet& builders) {
  AddGrad(builders);
  AddClip(builders);
  AddOptimizers(builders);
}

}  // namespace catamaran
