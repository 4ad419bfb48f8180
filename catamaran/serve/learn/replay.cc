// serve/learn/replay.cc

#include "catamaran/serve/learn/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "catamaran/base/clock.h"
#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"
#include "catamaran/serve/learn/learner_part.h"
#include "catamaran/serve/learn/row_formats.h"
#include "catamaran/serve/learn/settings.h"

namespace catamaran {
namespace {

constexpr int64_t kRecordsBetweenProgress = 4096;

struct Rollback {
  LogOffset at = 0;  // where its record is
  LogOffset to = 0;  // what the commit had read
};

struct Range {
  LogOffset begin = 0, end = 0;
};

// What has to be known of the log before it is applied.
struct LogFacts {
  std::vector<Rollback> rollbacks;          // in their order
  std::map<std::string, std::string> info;  // of the last schema
  uint64_t program = 0;
};

LogFacts Survey(const LogReader& log, LogOffset from, LogOffset to) {
  LogFacts facts;
  LogCursor cursor = log.Scan(from);
  LogRecord record;
  while (cursor.position() < to &&
         cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type == static_cast<uint8_t>(RecordType::kRollback)) {
      RollbackRecord rollback;
      Decode(record.payload, rollback);
      facts.rollbacks.push_back({record.offset, rollback.offset});
    } else if (record.type == static_cast<uint8_t>(RecordType::kSchema)) {
      SchemaRecord schema;
      Decode(record.payload, schema);
      facts.info = schema.info;
      facts.program = schema.program;
    }
  }
  return facts;
}

// The parts of the log whose steps are in the state at `end`, the last one first. A rollback makes
// the state that of a commit, and what counted for the commit counts again: also what a rollback
// after it had skipped.
std::vector<Range> PartsThatCount(const std::vector<Rollback>& rollbacks, LogOffset end) {
  std::vector<Range> parts;
  for (auto rollback = rollbacks.rbegin(); rollback != rollbacks.rend(); ++rollback) {
    if (rollback->at >= end) continue;
    parts.push_back({rollback->at, end});
    end = rollback->to;
  }
  parts.push_back({0, end});
  return parts;
}

// Behind the record of that step.
LogOffset EndOfStep(const LogReader& log, LogOffset from, LogOffset to, int64_t number) {
  LogCursor cursor = log.Scan(from);
  LogRecord record;
  StepRecord step;
  while (cursor.position() < to &&
         cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type != static_cast<uint8_t>(RecordType::kStep)) continue;
    Decode(record.payload, step);
    if (step.number == number) return record.next;
  }
  Fail("{}: there is no step {} up to there; the last is {}", log.directory(), number, step.number);
}

LogOffset EndOf(const ReplayEnd& to, const LogReader& log, LogOffset from) {
  LogOffset end = log.end();
  if (to.offset) {
    if (*to.offset > end) Fail("{}: the log ends at offset {}", log.directory(), end);
    end = *to.offset;
  }
  if (to.commit) {
    const std::optional<LogOffset> at = OffsetOfCommit(log, *to.commit);
    if (!at) Fail("{}: the log does not know of a commit {}", log.directory(), *to.commit);
    end = std::min(end, *at);
  }
  if (to.step) end = EndOfStep(log, from, end, *to.step);
  return end;
}

int ThreadsOf(const LogFacts& facts) {
  const auto found = facts.info.find("threads");
  int threads = 1;
  if (found != facts.info.end()) {
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), threads);
  }
  return std::clamp(threads, 1, 1024);
}

}  // namespace

std::optional<LogOffset> OffsetOfCommit(const LogReader& log, uint64_t commit) {
  LogCursor cursor = log.Scan(log.begin());
  LogRecord record;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type != static_cast<uint8_t>(RecordType::kCommitNote)) continue;
    CommitNoteRecord note;
    Decode(record.payload, note);
    if (note.commit == commit) return note.offset;
  }
  return {};
}

ReplayResult Replay(const HostedModel& model, const LogReader& log, const ReplayOptions& options) {
  const int64_t began = SteadyClock().Now();
  ReplayResult result;
  LearnerPart part;
  if (!options.from_part.empty()) part = ParseLearnerPart(options.from_part, "the commit");
  LogOffset from = log.begin();
  if (!part.stream.empty()) {
    ExampleStream stream;
    stream.Load(part.stream);
    from = std::max(from, stream.position());
    if (stream.OldestNeeded() < log.begin()) {
      Fail("{}: the log begins at offset {}; the commit needs it from {} on", log.directory(),
           log.begin(), stream.OldestNeeded());
    }
  } else if (log.begin() > 0) {
    Fail("{}: the log begins at offset {}, and what was before is gone; start from a commit",
         log.directory(), log.begin());
  }
  const LogOffset to = EndOf(options.to, log, from);
  if (to < from) Fail("{}: offset {} is before the commit, at {}", log.directory(), to, from);
  const LogFacts facts = Survey(log, from, to);
  const std::vector<Range> parts = PartsThatCount(facts.rollbacks, to);
  if (parts.back().end < from && !part.stream.empty()) {
    Fail("{}: a rollback goes back behind the commit; start from an earlier one", log.directory());
  }
  result.threads = options.threads > 0 ? options.threads : ThreadsOf(facts);
  const std::string isa(IsaName(DetectIsa()));
  const auto logged_isa = facts.info.find("isa");
  if (logged_isa != facts.info.end() && logged_isa->second != isa) {
    result.notes.push_back(fmt::format(
        "the log was learned from with {}, this is {}: bits will differ", logged_isa->second, isa));
  }
  if (facts.program != 0 && facts.program != ProgramHash(*model.flat)) {
    result.notes.push_back("the log was written with another program");
  }
  ApplierOptions measures{result.threads, false, 1};
  if (options.measure) {
    const LearnSettings settings = ParseLearnSettings(model.config.learning, model.entry.labels);
    measures.progressive = settings.progressive;
    measures.drift = settings.drift;
  }
  LogApplier applier(*model.flat, model.entry, model.features, model.feed, measures,
                     [&](LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) {
                       log.Read(offset, buffer, record);
                     });
  if (!part.stream.empty()) applier.stream().Load(part.stream);
  if (options.measure) applier.drift().Load(part.drift);

  LogCursor cursor = log.Scan(from);
  result.begin = from;
  LogRecord record;
  StreamAction action;
  while (cursor.position() < to &&
         cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    applier.Apply(record, action);
    ++result.records;
    if (result.first_time_ns == 0) result.first_time_ns = record.time_ns;
    result.last_time_ns = std::max(result.last_time_ns, record.time_ns);
    if (options.progress && result.records % kRecordsBetweenProgress == 0) {
      options.progress(record.next, to);
    }
    if (action.kind != StreamAction::Kind::kStep) continue;
    const bool counts = std::any_of(parts.begin(), parts.end(), [&](const Range& range) {
      return record.offset >= range.begin && record.offset < range.end;
    });
    if (!counts) {
      ++result.skipped_steps;
    } else {
      const StepOutcome outcome = applier.Learn(action, *model.state);
      ++(outcome.refused ? result.refused_steps : result.steps);
      if (!outcome.refused) result.examples += action.step.examples;
    }
  }
  result.end = applier.stream().position();
  result.stream = applier.stream().Save();
  if (options.measure) result.drift = applier.drift().Save();
  result.seconds = static_cast<double>(SteadyClock().Now() - began) * 1e-9;
  return result;
}

std::string DifferenceOfStates(State& a, State& b) {
  if (a.step() != b.step()) return fmt::format("step {} and {}", a.step(), b.step());
  if (a.size() != b.size()) return fmt::format("{} and {} declarations", a.size(), b.size());
  const auto rows_of = [](State& state, const std::string& name) {
    std::map<std::string, std::string> rows;
    DurableTable& table = state.table(name);
    state.TakeTurn();  // rows may be moving in
    std::unique_ptr<TableCut> cut = table.Cut(/*full=*/true);
    state.GiveTurn();
    for (int c = 0; c < kRowClasses; ++c) {
      std::string& bytes = rows[std::to_string(c)];
      cut->ForEachRow(static_cast<RowClass>(c), [&](const uint32_t* row) {
        bytes.append(reinterpret_cast<const char*>(row),
                     table.layout().bytes(static_cast<RowClass>(c)));
      });
    }
    for (const auto& [extra, bytes] : cut->extras()) rows["extra " + extra] = bytes;
    state.TakeTurn();
    table.EndCut(std::move(cut), /*kept=*/false);
    state.GiveTurn();
    return rows;
  };
  std::vector<std::string> names;
  for (size_t i = 0; i < a.size(); ++i) {
    const StateInfo info = a.info(i);
    const std::string name(info.name);
    const int other = b.Find(name);
    if (other < 0 || b.info(static_cast<size_t>(other)).kind != info.kind) {
      names.push_back(name);
    } else if (info.kind == StateKind::kTable) {
      if (rows_of(a, name) != rows_of(b, name)) names.push_back(name);
    } else if (!a.GetTensor(name).Equals(b.GetTensor(name))) {
      names.push_back(name);
    }
  }
  return names.empty() ? "" : fmt::format("@{}", fmt::join(names, ", @"));
}

}  // namespace catamaran
