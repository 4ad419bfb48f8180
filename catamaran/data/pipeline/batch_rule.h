// data/pipeline/batch_rule.h
//
// What a user wants of batches (PipelineOptions), checked and in the form in which windows use it.

#pragma once

#include <cstdint>

namespace catamaran {

class Schema;
struct PipelineOptions;

// How windows are arranged and cut into batches.
struct BatchRule {
  int64_t rows = 0;    // 0: by tokens
  int64_t tokens = 0;  // 0: by rows
  int length_column = -1;
  bool bucket = false;
  bool drop_last = false;
  int64_t shuffle_window = 0;
  uint64_t seed = 0;
};

// An Error that names the option that makes no sense, also with rows of that schema.
BatchRule BatchRuleOf(const PipelineOptions& options, const Schema& schema);

}  // namespace catamaran
