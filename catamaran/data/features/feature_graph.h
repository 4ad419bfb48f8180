// data/features/feature_graph.h
//
// What a features file becomes when it is bound: the values to compute, each after those that it is
// made of, and which of them are outputs.
//
// Thread safety: immutable once made, but for memory that calls of Apply use in turn.

#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/data/features/feature_function.h"
#include "catamaran/data/row_transform.h"

namespace catamaran {

struct FeatureNode {
  std::string column;    // of the data; empty: it is computed
  Column input;          // what the column is
  FeatureKernel kernel;  // where it is computed
  std::vector<int> args;
  ValueType type;
  std::string text;   // the expression, in one way for all ways to write it
  std::string field;  // the column, or the expression that makes it of some
  std::string place;  // "adult.features:3: output 'age'"
  bool used = false;  // others are made of it; a column that is only passed on is not converted
  bool ready = true;  // false: it, or what it is made of, is not fitted
  std::shared_ptr<FeatureFitter> fitter;  // of one that is not fitted, where all else is ready
};

struct FeatureOutput {
  std::string name;
  int node = 0;
};

class FeatureGraph : public RowTransform {
 public:
  // `keep` lives as long as this.
  FeatureGraph(std::vector<FeatureNode> nodes, const std::vector<FeatureOutput>& outputs,
               uint64_t hash, std::string path, std::shared_ptr<const void> keep);
  ~FeatureGraph() override;

  const Schema& schema() const override { return schema_; }
  std::vector<std::string> inputs() const override;
  uint64_t hash() const override { return hash_; }
  void Apply(const RowBlock& in, RowBlock& out) const override { ApplyAndCount(in, out, {}); }
  std::vector<std::string> ranged() const override;
  // Counts nothing where `outside` is empty.
  void ApplyAndCount(const RowBlock& in, RowBlock& out, std::span<int64_t> outside) const override;

  // Gives the rows to every fitter.
  void Fit(const RowBlock& in) const;

  const std::vector<FeatureNode>& nodes() const { return nodes_; }

 private:
  struct Scratch;
  void Compute(const RowBlock& in, Scratch& scratch) const;
  void CountOutside(int64_t rows, Scratch& scratch, std::span<int64_t> outside) const;
  std::unique_ptr<Scratch> TakeScratch() const;
  void GiveScratch(std::unique_ptr<Scratch> scratch) const;

  const std::shared_ptr<const void> keep_;
  const std::vector<FeatureNode> nodes_;
  std::vector<FeatureOutput> outputs_;
  // By feature, the nodes that know its range.
  std::vector<std::pair<std::string, std::vector<size_t>>> ranged_;
  Schema schema_;
  const uint64_t hash_;
  const std::string path_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> free_;  // under mutex_
};

}  // namespace catamaran
