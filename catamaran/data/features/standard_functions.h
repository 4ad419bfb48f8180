// data/features/standard_functions.h
//
// The functions that every features file may call; docs/features.md lists them. One file a group.

#pragma once

#include "catamaran/data/features/feature_function.h"

namespace catamaran {

void AddArithmetic(FeatureFunctionSet& functions);       // + - * / == < in and or log clip if …
void AddConversions(FeatureFunctionSet& functions);      // number integer text missing fill
void AddHashFunctions(FeatureFunctionSet& functions);    // hash cross
void AddListFunctions(FeatureFunctionSet& functions);    // stack concat ids nonzero first …
void AddBucketFunctions(FeatureFunctionSet& functions);  // bucket one_hot
void AddFitFunctions(FeatureFunctionSet& functions);     // normalize scale quantiles vocabulary
void AddTextFunctions(FeatureFunctionSet& functions);    // lower split tokens characters
void AddTimeFunctions(FeatureFunctionSet& functions);    // time hour weekday …

// A new set of all of them.
FeatureFunctionSet StandardFeatureFunctions();

}  // namespace catamaran
