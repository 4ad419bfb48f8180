// table/table_policies.h
//
// All that a home of rows needs beside the rows: the rules of records, what belongs to no key (the
// shared row, the sketch, the state of expiry, what is counted for features), and that as extras
// for whoever saves a table.
//
// Thread safety: as its parts say.

#pragma once

#include <memory>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/expiry.h"
#include "catamaran/table/feature_stats.h"
#include "catamaran/table/row_rules.h"
#include "catamaran/table/shared_row.h"
#include "catamaran/table/sketch.h"

namespace catamaran {

// An Error that says what was wrong if a step cannot be applied to a table with this
// configuration. Nothing has changed then.
void CheckTableStep(const TableConfig& config, const TableStep& step);

struct TablePolicies {
  // An Error if the configuration makes no sense.
  explicit TablePolicies(const TableConfig& config);

  const TableConfig& config() const { return rules.config(); }

  // What a key without a row reads as: config().width numbers.
  void ReadMissing(uint64_t key, float* out) const;

  // "counts", "expiry", "features" and, where the table has them, "shared" and "sketch".
  TableExtras Save() const;
  // An Error that names what is missing or does not fit. No extras at all (rows that came from
  // elsewhere) leave everything as it begins.
  void Load(const TableExtras& extras);

  const RowRules rules;
  Expiry expiry;
  FeatureStats features;
  std::unique_ptr<SharedRow> shared;    // null but for Unadmitted::kShared
  std::unique_ptr<TableSketch> sketch;  // null but for kSketch
  std::atomic<int64_t> expired{0};      // rows removed so far (waiting ones are not rows)
};

}  // namespace catamaran
