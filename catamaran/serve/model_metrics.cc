// serve/model_metrics.cc

#include "catamaran/serve/model_metrics.h"

namespace catamaran {

ModelMetrics::ModelMetrics(Metrics& metrics, const std::string& model, const std::string& version) {
  const Metrics::Labels labels = {{"model", model}, {"version", version}};
  const auto requests = [&](const std::string& result) {
    Metrics::Labels with_result = labels;
    with_result.emplace_back("result", result);
    return metrics.AddCounter("catamaran_model_requests_total",
                              "Requests for predictions, by how they ended.", with_result);
  };
  answered = requests("answered");
  refused = requests("refused");
  failed = requests("failed");
  rows = metrics.AddCounter("catamaran_model_rows_total", "Rows that were computed.", labels);
  padded_rows = metrics.AddCounter("catamaran_model_padded_rows_total",
                                   "Rows that were computed to fill up batches.", labels);
  lost_impressions = metrics.AddCounter(
      "catamaran_model_lost_impressions_total",
      "Answers that the log did not take, so that nothing is learned from them.", labels);
  lenient_rows = metrics.AddCounter(
      "catamaran_model_lenient_rows_total",
      "JSON rows with missing or unknown columns that a model which is served leniently took.",
      labels);
  waiting_seconds = metrics.AddHistogram("catamaran_model_waiting_seconds",
                                         "How long requests wait until they are run.", labels);
  seconds = metrics.AddHistogram("catamaran_model_seconds",
                                 "From the arrival of a request to its answer.", labels);
  run_seconds =
      metrics.AddHistogram("catamaran_model_run_seconds", "How long a batch is computed.", labels);
  batch_rows = metrics.AddHistogram("catamaran_model_batch_rows",
                                    "Rows of a batch, without padding.", labels, CountBounds());
}

}  // namespace catamaran
