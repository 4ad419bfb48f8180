// serve/model_metrics.h
//
// What is counted of one version of a model.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "catamaran/serve/metrics.h"

namespace catamaran {

struct ModelMetrics {
  // `metrics` outlives it.
  ModelMetrics(Metrics& metrics, const std::string& model, const std::string& version);

  std::shared_ptr<Counter> answered, refused, failed;  // requests, by how they ended
  std::shared_ptr<Counter> rows, padded_rows, lost_impressions, lenient_rows;
  std::shared_ptr<Histogram> waiting_seconds;  // of a request, before it is run
  std::shared_ptr<Histogram> seconds;          // of a request, from its arrival to its answer
  std::shared_ptr<Histogram> run_seconds;      // of a batch
  std::shared_ptr<Histogram> batch_rows;       // without padding
};

}  // namespace catamaran
