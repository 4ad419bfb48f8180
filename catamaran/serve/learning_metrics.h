// serve/learning_metrics.h
//
// What Prometheus sees of a model that learns.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/metrics.h"

namespace catamaran {

// They are there as long as what is returned. `metrics` outlives that; `learning` is held by it.
std::vector<std::shared_ptr<void>> AddLearningMetrics(Metrics& metrics, const std::string& model,
                                                      std::shared_ptr<const Learning> learning);

}  // namespace catamaran
