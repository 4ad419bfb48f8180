#include "bench/serve/soak/ledger.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "bench/serve/soak/hostile_clients.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/stream/join/example_stream.h"
#include "catamaran/stream/log/log_reader.h"

namespace catamaran::bench {
namespace {

using Row = std::pair<std::string, int64_t>;  // of an answer's id, or of an example's key

struct Learned {
  int clicked = 0, silent = 0;  // with the label 1, with another
  int refused = 0;              // in steps that a guard refused
};

// Where rows stand that can be learned from.
struct Source {
  std::string name;  // id or key
  bool is_impression = false;
  bool hostile = false;
};

bool IsHostile(const LoggedRows& logged, const ExampleStream& stream) {
  const Schema& columns = stream.FindSchema(logged.schema).columns;
  const int user = columns.Index("user", "the log of the soak");
  RowBlock rows;
  DecodeRows(logged, columns, rows);
  const Buffer<int64_t>& users = rows[user].ints;
  if (users.size() != static_cast<size_t>(logged.rows)) Fail("the log has rows without a user");
  for (size_t r = 0; r < users.size(); ++r) {
    if (static_cast<uint64_t>(users[r]) >= kHostileUser) return true;
  }
  return false;
}

std::set<int64_t> RefusedSteps(const LogReader& reader) {
  std::set<int64_t> refused;
  LogCursor cursor = reader.Scan(reader.begin());
  LogRecord record;
  while (cursor.Next(record, {}) == LogCursor::Result::kRecord) {
    if (record.type != static_cast<uint8_t>(RecordType::kRefusal)) continue;
    RefusalRecord refusal;
    Decode(record.payload, refusal);
    refused.insert(refusal.step);
  }
  return refused;
}

// What was learned, by what it was learned from.
class Audit {
 public:
  explicit Audit(const LogReader& reader) : refused_(RefusedSteps(reader)) {
    LogCursor cursor = reader.Scan(reader.begin());
    LogRecord record;
    StreamAction action;
    while (cursor.Next(record, {}) == LogCursor::Result::kRecord) {
      Note(record);
      stream_.Apply(record, action);
      if (action.kind == StreamAction::Kind::kStep) Take(action);
    }
  }

  const Learned* Find(const Row& row) const {
    const auto found = learned_.find(row);
    return found == learned_.end() ? nullptr : &found->second;
  }
  bool HasImpression(const std::string& id) const { return impressions_.contains(id); }
  bool HasFeedback(const Row& row) const { return feedback_.contains(row); }
  const std::map<Row, Learned>& learned() const { return learned_; }
  const ExampleStream& stream() const { return stream_; }
  int64_t hostile() const { return hostile_; }

 private:
  // Schemas are applied before rows of theirs.
  void Note(const LogRecord& record) {
    if (record.type == static_cast<uint8_t>(RecordType::kImpression)) {
      ImpressionRecord impression;
      Decode(record.payload, impression);
      impressions_.insert(impression.id);
      sources_[record.offset] = {impression.id, true, IsHostile(impression.rows, stream_)};
    } else if (record.type == static_cast<uint8_t>(RecordType::kExample)) {
      ExampleRecord example;
      Decode(record.payload, example);
      sources_[record.offset] = {example.idempotency_key, false, IsHostile(example.rows, stream_)};
    } else if (record.type == static_cast<uint8_t>(RecordType::kFeedback)) {
      FeedbackRecord feedback;
      Decode(record.payload, feedback);
      for (const auto& item : feedback.items) feedback_.emplace(item.id, item.row);
    }
  }

  void Take(const StreamAction& action) {
    const bool refused = refused_.contains(action.step.number);
    for (const JoinedExample& example : action.examples) {
      const Source& source = sources_.at(example.features);
      hostile_ += source.hostile || !source.name.starts_with("good ");
      Learned& learned = learned_[{source.name, example.row}];
      if (refused) {
        ++learned.refused;
      } else {
        ++(source.is_impression && example.labels.at(0) > 0 ? learned.clicked : learned.silent);
      }
    }
  }

  const std::set<int64_t> refused_;
  ExampleStream stream_;
  std::unordered_map<LogOffset, Source> sources_;
  std::unordered_set<std::string> impressions_;
  std::set<Row> feedback_;
  std::map<Row, Learned> learned_;
  int64_t hostile_ = 0;
};

}  // namespace

SoakLedger MakeLedger(const std::string& log, const ToldGood& told, const NoRoom& no_room) {
  const auto reader = LogReader::Open(PosixFileSystem(), log);
  const Audit audit(*reader);
  SoakLedger ledger;
  ledger.steps = audit.stream().counts().steps;
  ledger.taken = audit.stream().counts().examples;
  ledger.hostile = audit.hostile();
  for (const auto& [row, learned] : audit.learned()) {
    ledger.twice += learned.clicked > 1 || learned.silent > 1;
  }
  for (const auto& [key, rows] : told.examples) {
    for (int64_t r = 0; r < rows; ++r) {
      ++ledger.examples;
      const Learned* learned = audit.Find({key, r});
      if (learned == nullptr) {
        ++ledger.lost;
      } else {
        ++(learned->silent > 0 ? ledger.examples_learned : ledger.examples_refused);
      }
    }
  }
  std::set<std::string> lost_answers;  // while there was no room
  for (const ToldGood::Answer& answer : told.answers) {
    ledger.shown += answer.rows;
    if (!audit.HasImpression(answer.id) && no_room.Has(answer.at)) {
      lost_answers.insert(answer.id);
      ledger.shown_lost += answer.rows;
      continue;
    }
    for (int64_t r = 0; r < answer.rows; ++r) {
      ++(audit.Find({answer.id, r}) != nullptr ? ledger.shown_learned : ledger.lost);
    }
  }
  for (const auto& [id, row] : told.clicks) {
    ++ledger.clicks;
    const Learned* learned = audit.Find({id, row});
    if (learned != nullptr && learned->clicked > 0) {
      ++ledger.clicks_learned;
    } else if (learned != nullptr && learned->refused > 0) {
      ++ledger.clicks_refused;
    } else if (lost_answers.contains(id) && audit.HasFeedback({id, row})) {
      ++ledger.clicks_unjoined;
    } else {
      ++ledger.lost;
    }
  }
  return ledger;
}

}  // namespace catamaran::bench
