#include "catamaran/train/metric_observers.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/exec/executable.h"

namespace catamaran {
namespace {

bool TakesNumbersAlone(const Executable& function) {
  for (size_t i = 0; i < function.num_inputs(); ++i) {
    const Type& type = function.input_type(i);
    if (!type.is_scalar() || type.dtype() != DType::kF32) return false;
  }
  return function.num_inputs() > 0;
}

}  // namespace

MetricObservers::MetricObservers(const Program& flat, const CompileOptions& options) {
  for (const Function* f : flat.Functions()) {
    if (!f->name.ends_with(".observe")) continue;
    auto function = Compile(flat, f->name, options);
    if (function->commits() && TakesNumbersAlone(*function)) {
      functions_.push_back(std::move(function));
    }
  }
}

std::string MetricObservers::name() const {
  return functions_.empty() ? "" : functions_[0]->name();
}

void MetricObservers::Observe(State& state, const MetricValues& values, int64_t event_time) const {
  for (const auto& function : functions_) {
    std::vector<Tensor> arguments;
    for (size_t i = 0; i < function->num_inputs(); ++i) {
      const std::string& metric = function->input_name(i);
      const double* value = FindMetric(values, metric);
      if (value == nullptr) {
        std::vector<std::string> names;
        for (const auto& [name, unused] : values) names.push_back(name);
        Fail("{} waits for the metric {}; a validation gives {}", function->name(), metric,
             fmt::join(names, ", "));
      }
      arguments.push_back(Tensor::From<float>({}, {static_cast<float>(*value)}));
    }
    const std::vector<FeedValue> feeds(arguments.begin(), arguments.end());
    RunOptions run;
    run.event_time = event_time;
    function->Run(state, feeds, run);
  }
}

}  // namespace catamaran
