#include "catamaran/table/table_policies.h"

#include <algorithm>

#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

const TableConfig& Checked(const TableConfig& config) {
  CheckTableConfig(config);
  return config;
}

}  // namespace

void CheckTableStep(const TableConfig& config, const TableStep& step) {
  if (!step.pushes.empty() && !config.optimizer) {
    Fail("table: a gradient was pushed, but the table declares no optimizer");
  }
  const auto check_feature = [&](int feature) {
    if (feature < 0 || feature > static_cast<int>(config.features.size())) {
      Fail("table: there is no feature {}; the table declares {}", feature, config.features.size());
    }
  };
  for (const TablePush& push : step.pushes) {
    if (push.rows->dtype != DType::kF32 || push.rows->width != config.width) {
      Fail("table: a push of rows {}[{}] to a table of f32[{}]", Name(push.rows->dtype),
           push.rows->width, config.width);
    }
    for (const RowsSegment& segment : push.rows->segments) check_feature(segment.feature);
  }
  for (const TableObservation& o : step.observations) check_feature(o.feature);
}

TablePolicies::TablePolicies(const TableConfig& config)
    : rules(Checked(config)), expiry(rules), features(rules) {
  if (config.unadmitted == Unadmitted::kShared) shared = std::make_unique<SharedRow>(config);
  if (config.admit.kind == TableAdmit::Kind::kSketch) {
    sketch = std::make_unique<TableSketch>(config);
  }
}

void TablePolicies::ReadMissing(uint64_t key, float* out) const {
  switch (config().unadmitted) {
    case Unadmitted::kInit:
      return rules.ReadInitial(key, out);
    case Unadmitted::kZeros:
      std::fill_n(out, config().width, 0.0f);
      return;
    case Unadmitted::kShared:
      return shared->Read(out);
  }
}

TableExtras TablePolicies::Save() const {
  TableExtras extras;
  StateWriter counts;
  counts.Put(expired.load());
  extras["counts"] = counts.Take();
  extras["expiry"] = expiry.Save();
  extras["features"] = features.Save();
  if (shared) extras["shared"] = shared->Save();
  if (sketch) extras["sketch"] = sketch->Save();
  return extras;
}

void TablePolicies::Load(const TableExtras& extras) {
  if (extras.empty()) return;
  const auto get = [&](const char* name) -> const std::string& {
    const auto it = extras.find(name);
    if (it == extras.end()) Fail(ErrorCode::kStorage, "table: the saved state has no {}", name);
    return it->second;
  };
  StateReader counts("counts", get("counts"));
  expired = counts.Get<int64_t>();
  counts.End();
  expiry.Load(get("expiry"));
  features.Load(get("features"));
  if (shared) shared->Load(get("shared"));
  if (sketch) sketch->Load(get("sketch"));
}

}  // namespace catamaran
