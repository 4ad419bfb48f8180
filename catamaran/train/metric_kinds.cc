// Which metrics there are, and which suit a program.

#include <algorithm>

#include "catamaran/ir/flatten.h"
#include "catamaran/train/metrics.h"

namespace catamaran {
namespace {

struct KindFacts {
  MetricKind kind;
  std::string_view name;
};
constexpr KindFacts kKinds[] = {
    {MetricKind::kAuc, "auc"},           {MetricKind::kLogLoss, "log_loss"},
    {MetricKind::kAccuracy, "accuracy"}, {MetricKind::kRmse, "rmse"},
    {MetricKind::kMae, "mae"},
};

constexpr std::string_view kHigher[] = {"auc", "accuracy", "precision", "recall",
                                        "f1",  "map",      "ndcg"};
constexpr std::string_view kLower[] = {"loss", "log_loss", "rmse",      "mae",
                                       "mse",  "error",    "perplexity"};

// The op that makes result `r` of `f`, behind what only changes its shape or type.
const Op* MakerOf(const Function& f, int r) {
  const Op* end = f.body().terminator();
  if (end == nullptr || r >= end->num_operands()) return nullptr;
  const Op* op = end->operand(r)->def();
  while (op != nullptr && (op->Is("reshape") || op->Is("cast") || op->Is("squeeze"))) {
    op = op->operand(0)->def();
  }
  return op;
}

bool IsClasses(const Type& prediction, const Type& label) {
  return IsFloat(prediction.dtype()) && IsInteger(label.dtype()) &&
         prediction.rank() == label.rank() + 1;
}

bool SameRank(const Type& prediction, const Type& label) {
  return IsFloat(prediction.dtype()) && prediction.rank() == label.rank();
}

}  // namespace

const double* FindMetric(const MetricValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view MetricName(MetricKind kind) {
  for (const KindFacts& facts : kKinds) {
    if (facts.kind == kind) return facts.name;
  }
  return "?";
}

std::optional<MetricKind> ParseMetric(std::string_view name) {
  for (const KindFacts& facts : kKinds) {
    if (facts.name == name) return facts.kind;
  }
  return {};
}

std::vector<std::string_view> MetricNames() {
  std::vector<std::string_view> names;
  for (const KindFacts& facts : kKinds) names.push_back(facts.name);
  return names;
}

std::optional<bool> HigherIsBetter(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot != name.npos) name.remove_prefix(dot + 1);
  const auto is = [&](std::string_view known) {
    return name == known || name.ends_with("_" + std::string(known));
  };
  if (std::any_of(std::begin(kHigher), std::end(kHigher), is)) return true;
  if (std::any_of(std::begin(kLower), std::end(kLower), is)) return false;
  return {};
}

std::vector<MetricKind> DefaultMetrics(const Program& flat, const Function& infer, int result,
                                       const Type& label) {
  const std::unique_ptr<Function> inlined = InlineCalls(flat, infer);
  const Op* end = inlined->body().terminator();
  const Type& prediction = end->operand(result)->type;
  if (!prediction.is_tensor() || !label.is_tensor()) return {};
  if (MetricProblem(MetricKind::kRmse, prediction, label).empty()) {
    const Op* maker = MakerOf(*inlined, result);
    if (maker != nullptr && maker->Is("sigmoid")) {
      return {MetricKind::kAuc, MetricKind::kLogLoss, MetricKind::kAccuracy};
    }
    return {MetricKind::kRmse};
  }
  if (IsClasses(prediction, label)) return {MetricKind::kAccuracy};
  return {};
}

std::string MetricProblem(MetricKind kind, const Type& prediction, const Type& label) {
  if (!prediction.is_tensor() || !label.is_tensor()) return "prediction or label is no tensor";
  if (kind == MetricKind::kAccuracy && IsClasses(prediction, label)) return {};
  if (SameRank(prediction, label)) return {};
  return "the prediction is " + prediction.ToString() + " and the label " + label.ToString() +
         (kind == MetricKind::kAccuracy
              ? "; wanted f32[B] and f32[B], or f32[B, C] and whole numbers [B]"
              : "; wanted two of the same shape");
}

}  // namespace catamaran
