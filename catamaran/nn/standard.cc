#include "catamaran/nn/standard.h"

#include "catamaran/nn/layers.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/transform/builders.h"

namespace catamaran {

std::shared_ptr<OpSet> StandardOps() {
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  return ops;
}

std::shared_ptr<BuilderSet> StandardBuilders() {
  auto builders = std::make_shared<BuilderSet>();
  AddTransforms(*builders);
  AddLayers(*builders);
  return builders;
}

}  // namespace catamaran
