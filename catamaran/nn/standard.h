// nn/standard.h
//
// The vocabulary that a program has unless its user says otherwise: all ops of ops/, all
// transforms, all layers. Each call makes a new set; nothing is shared between callers.

#pragma once

#include <memory>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {

std::shared_ptr<OpSet> StandardOps();
std::shared_ptr<BuilderSet> StandardBuilders();

}  // namespace catamaran
