#include "catamaran/data/pipeline/batch_rule.h"

#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/schema.h"

namespace catamaran {

BatchRule BatchRuleOf(const PipelineOptions& options, const Schema& schema) {
  const auto at_least = [](std::string_view what, int64_t value, int64_t least) {
    if (value < least) Fail("pipeline: {} is {}; the least is {}", what, value, least);
  };
  at_least("threads", options.threads, 0);
  at_least("batch_tokens", options.batch_tokens, 0);
  at_least("shuffle_window", options.shuffle_window, 0);
  at_least("epochs", options.epochs, 0);
  BatchRule rule{.rows = options.batch_tokens > 0 ? 0 : options.batch_rows,
                 .tokens = options.batch_tokens,
                 .bucket = options.bucket_by_length,
                 .drop_last = options.drop_last,
                 .shuffle_window = options.shuffle_window,
                 .seed = options.seed};
  if (rule.tokens == 0) at_least("batch_rows", rule.rows, 1);
  // A row of a window is named by 32 bits.
  if (rule.shuffle_window > UINT32_MAX) {
    Fail("pipeline: a shuffle window of {} rows; the most is {}", rule.shuffle_window, UINT32_MAX);
  }
  if (rule.tokens > 0 || rule.bucket) {
    if (options.token_column.empty()) {
      Fail("pipeline: {} needs the name of a column, token_column",
           rule.bucket ? "bucket_by_length" : "batch_tokens");
    }
    rule.length_column = schema.Index(options.token_column, "pipeline: token_column");
    const Column& column = schema[rule.length_column];
    if (!column.has_offsets()) {
      Fail(
          "pipeline: token_column '{}' is {}: all rows have one length; wanted ids, weighted_ids "
          "or "
          "string",
          column.name, column.KindText());
    }
  }
  if (rule.bucket && rule.shuffle_window == 0) {
    Fail("pipeline: bucket_by_length works within a shuffle window, which is 0");
  }
  if (rule.bucket && rule.tokens == 0) {
    // So that only the last window of an epoch has a batch that is not full.
    rule.shuffle_window = (rule.shuffle_window + rule.rows - 1) / rule.rows * rule.rows;
  }
  return rule;
}

}  // namespace catamaran
