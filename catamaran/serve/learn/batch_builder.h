// serve/learn/batch_builder.h
//
// From labelled examples, whose features are in the log, to the arguments of `train`. Rows of
// several schemas (raw ones and tensors; those of an earlier program) may be in one batch: each
// schema's rows go their own way, and stand behind one another in the order of schemas.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/row_transform.h"
#include "catamaran/stream/join/example_stream.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

// Reads a record of the log, as Log::Read does.
using ReadRecord = std::function<void(LogOffset, std::vector<std::byte>&, LogRecord&)>;

class BatchBuilder {
 public:
  // `flat` outlives it.
  BatchBuilder(const Program& flat, const EntryPoints& entry,
               const std::optional<Features>& features, const FeedOptions& feed);

  // Reads the features of the examples. What goes wrong here is the log's: it cannot be read, or is
  // damaged.
  void Read(const std::vector<JoinedExample>& examples, const ExampleStream& stream,
            const ReadRecord& read);

  // What was read, by the arguments of `train`; good until the next call. What goes wrong here is
  // the data's, and would go wrong again: a row that cannot be transformed or fed. Empty if there
  // is no row that can be learned from.
  std::span<const FeedValue> Feed();

  // An Error if rows of this schema could not be learned from, or, unless `allow_nan`, one of their
  // arguments is no finite number. In place of a batch.
  void Check(const SchemaRecord& schema, const LoggedRows& rows, std::span<const float> labels,
             std::span<const float> weights, bool allow_nan = true);

  // By row of the batch, in its order.
  struct Row {
    float prediction = 0;  // that was served; NaN: none
    float label = 0;       // the first one
    float weight = 1;
  };
  const std::vector<Row>& rows() const { return rows_; }
  // Examples of the batch that this program cannot learn from: of other labels or columns.
  int64_t unusable() const { return unusable_; }

 private:
  struct Group {
    std::string problem;  // why its rows cannot be learned from
    std::shared_ptr<const RowTransform> transform;
    Schema with_labels;
    std::unique_ptr<FeedBinding> binding;
    std::unique_ptr<Feeder> feeder;
    RowBlock raw, transformed, batch;
    std::vector<const JoinedExample*> examples;
    std::vector<float> predictions;
  };
  struct Decoded {
    uint64_t schema = 0;
    RowBlock rows;
    std::vector<float> predictions;
  };
  Group& GroupOf(const SchemaRecord& schema);
  void Bind(const SchemaRecord& schema, Group& group);
  const Decoded& Decode(LogOffset offset, const ExampleStream& stream, const ReadRecord& read);
  std::span<const FeedValue> FeedGroup(Group& group);
  void CheckFinite(std::span<const FeedValue> feeds) const;
  void Append(size_t argument, const FeedValue& value);

  const Program& flat_;
  const EntryPoints entry_;
  const std::optional<Features> features_;
  const FeedOptions feed_;
  const Function& train_;
  bool has_weight_ = false;

  std::map<uint64_t, Group> groups_;  // by schema id
  std::unordered_map<LogOffset, Decoded> decoded_;
  std::vector<Row> rows_;
  int64_t unusable_ = 0;
  std::vector<std::byte> buffer_;
  // Of batches with several schemas.
  struct Joined {
    std::vector<std::byte> values;
    std::vector<int64_t> offsets;
    TensorView view;
  };
  std::vector<Joined> joined_;
  std::vector<FeedValue> feeds_;
};

}  // namespace catamaran
