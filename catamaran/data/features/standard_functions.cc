#include "catamaran/data/features/standard_functions.h"

namespace catamaran {

FeatureFunctionSet StandardFeatureFunctions() {
  FeatureFunctionSet functions;
  AddArithmetic(functions);
  AddConversions(functions);
  AddHashFunctions(functions);
  AddListFunctions(functions);
  AddBucketFunctions(functions);
  AddFitFunctions(functions);
  AddTextFunctions(functions);
  AddTimeFunctions(functions);
  return functions;
}

}  // namespace catamaran
