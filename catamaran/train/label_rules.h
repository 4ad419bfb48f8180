// train/label_rules.h
//
// Which values a program can learn from as labels: what its losses say that they take
// (LabelRange, ir/op_set.h), found by following each label argument of the function that trains
// through ops that only reshape or cast it. A label that no loss takes directly is any number whose
// square is finite. Weights are finite and not negative.
//
// Thread safety: immutable.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/ir/program.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

class LabelRules {
 public:
  // Of the labels, and the weight, that `entry.train` takes.
  LabelRules(const Program& flat, const EntryPoints& entry);

  // Why that argument cannot be learned from as this value, as "found 2, wanted a number from 0 to
  // 1 (binary_cross_entropy, ctr.ctm:14)"; "" if it can, or is no label.
  std::string Problem(std::string_view argument, double value) const;

  // A check of blocks of rows with that schema, before they are fed to `entry.train`: an Error,
  // "row 3: column 'click': …", for the first row with a label that is none. Null if there is
  // nothing to check.
  std::function<void(const RowBlock&)> Check(const Program& flat, const EntryPoints& entry,
                                             const Schema& schema, const FeedOptions& feed) const;

 private:
  struct Rule {
    std::string argument;
    double low, high;
    bool classes = false;         // whole numbers only
    std::optional<int64_t> also;  // a class beside those
    std::string by;               // the op that says so, and its line
  };
  const Rule* Find(std::string_view argument) const;
  static bool Fits(const Rule& rule, double value);
  static std::string Describe(const Rule& rule, double value);

  std::vector<Rule> rules_;
};

}  // namespace catamaran
