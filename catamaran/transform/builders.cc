#include "catamaran/transform/builders.h"

namespace catamaran {

void AddTransforms(BuilderSet& builders) {
  AddGrad(builders);
  AddClip(builders);
  AddAccumulate(builders);
  AddSchedules(builders);
  AddPlateau(builders);
  AddOptimizers(builders);
  AddAverages(builders);
}

}  // namespace catamaran
