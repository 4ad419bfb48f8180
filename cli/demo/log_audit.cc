#include "cli/demo/log_audit.h"

#include <map>
#include <set>
#include <unordered_map>

#include "catamaran/stream/join/example_stream.h"
#include "catamaran/stream/log/log_reader.h"

namespace catamaran::cli {

LogAudit AuditLog(const FileSystem& fs, const std::string& directory,
                  const std::vector<AnswerRow>& acknowledged) {
  const auto reader = LogReader::Open(fs, directory);
  ExampleStream stream;
  std::unordered_map<LogOffset, std::string> ids;  // of impressions, by where they stand
  std::set<AnswerRow> reported;                    // in the log
  std::map<AnswerRow, int> clicks, others;         // how often learned
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  StreamAction action;
  while (cursor.Next(record, {}) == LogCursor::Result::kRecord) {
    if (record.type == static_cast<uint8_t>(RecordType::kImpression)) {
      ImpressionRecord impression;
      Decode(record.payload, impression);
      ids.emplace(record.offset, impression.id);
    } else if (record.type == static_cast<uint8_t>(RecordType::kFeedback)) {
      FeedbackRecord feedback;
      Decode(record.payload, feedback);
      for (const auto& item : feedback.items) reported.emplace(item.id, item.row);
    }
    stream.Apply(record, action);
    if (action.kind != StreamAction::Kind::kStep) continue;
    for (const JoinedExample& example : action.examples) {
      auto& counts = example.labels.at(0) > 0 ? clicks : others;
      ++counts[{ids[example.features], example.row}];
    }
  }
  LogAudit audit;
  audit.steps = stream.counts().steps;
  audit.examples = stream.counts().examples;
  audit.acknowledged = static_cast<int64_t>(acknowledged.size());
  for (const AnswerRow& row : acknowledged) {
    audit.learned += clicks.contains(row);
    audit.lost += !reported.contains(row);
  }
  for (const auto* counts : {&clicks, &others}) {
    for (const auto& [row, count] : *counts) audit.twice += count > 1;
  }
  return audit;
}

}  // namespace catamaran::cli
