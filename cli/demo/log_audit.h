// cli/demo/log_audit.h
//
// What a service learned from, by its own log and nothing else: which clicks were learned from, and
// how often. The log is read beside the service that writes it.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/file.h"

namespace catamaran::cli {

// A row of an answer: the request's id, and which one.
using AnswerRow = std::pair<std::string, int64_t>;

struct LogAudit {
  int64_t acknowledged = 0;  // clicks that the service said it had
  int64_t learned = 0;       // of those: taken by a step
  int64_t lost = 0;          // of those: not in the log
  int64_t twice = 0;         // rows of which the same was learned more than once
  // All that steps took.
  int64_t steps = 0, examples = 0;
};

// `directory`: of the log. An Error if it cannot be read.
LogAudit AuditLog(const FileSystem& fs, const std::string& directory,
                  const std::vector<AnswerRow>& acknowledged);

}  // namespace catamaran::cli
