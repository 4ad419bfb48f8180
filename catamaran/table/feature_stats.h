// table/feature_stats.h
//
// What is counted for each feature that shares a table.
//
// Thread safety: Info at any time; the others are the writer's.

#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/table/row_rules.h"
#include "catamaran/table/table.h"

namespace catamaran {

class FeatureStats {
 public:
  // `rules` must outlive this.
  explicit FeatureStats(const RowRules& rules);

  // Adds what a step shows: its observations, or its pushes if it has none. In batch order on the
  // caller's thread, so that sums are the same whatever the shards.
  void Count(const TableStep& step);

  // `rows`: of each feature, as RecordFeature counts them; [0] is those of none.
  std::vector<FeatureInfo> Info(std::span<const int64_t> rows) const;

  std::string Save() const;
  // The saved features must be the first of those declared: rows know theirs by number.
  void Load(std::string_view bytes);

 private:
  struct Sums {
    int64_t occurrences = 0;
    double shows = 0;
    double clicks = 0;
  };

  const RowRules& rules_;
  const std::vector<std::string>& names_;
  mutable std::mutex mutex_;
  std::vector<Sums> sums_;  // by feature, from 1
};

}  // namespace catamaran
