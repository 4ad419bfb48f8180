#include "catamaran/data/features/fit.h"

#include "catamaran/base/error.h"
#include "catamaran/data/features/feature_binder.h"

namespace catamaran {

Features FitFeatures(const Features& features,
                     const std::function<std::unique_ptr<RowReader>()>& open) {
  FittedValues values;
  for (;;) {
    const auto reader = open();
    const Features fitted = features.WithFitted(values, reader->schema());
    const auto graph = BindFeatures(fitted, reader->schema(), {}, Unfitted::kAllow);
    bool waits = false;
    for (const FeatureNode& node : graph->nodes()) waits = waits || node.fitter != nullptr;
    if (!waits) return fitted;
    int64_t rows = 0;
    RowBlock block;
    while (reader->Read(4096, block)) {
      graph->Fit(block);
      rows += block.rows();
    }
    if (rows == 0) Fail("{}: there is no row to fit to", features.syntax().source->path);
    for (const FeatureNode& node : graph->nodes()) {
      if (node.fitter) values[node.text] = node.fitter->Finish();
    }
  }
}

}  // namespace catamaran
