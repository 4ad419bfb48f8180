// serve/learn/log_check.cc

#include "catamaran/serve/learn/log_check.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/commit/bytes_participant.h"
#include "catamaran/commit/opened_commit.h"
#include "catamaran/serve/learn/learner_part.h"
#include "catamaran/serve/model/load_model.h"
#include "catamaran/stream/join/example_stream.h"
#include "catamaran/stream/log/log_directory.h"
#include "catamaran/stream/log/log_reader.h"

namespace catamaran {
namespace {

// What a start does with commit and log, less the learning. An Error says what it refuses.
void TryToStart(const FileSystem& fs, const std::string& directory, LogCheck& check) {
  const std::string state = StateDirectoryOf(directory);
  ExampleStream stream;
  ExpectedLog expected;
  bool knows_position = true;
  if (!FindCommits(fs, state).commits.empty()) {
    const OpenedCommit opened = OpenNewestCommit(fs, state, /*verify_rows=*/false);
    check.warnings = opened.warnings;
    check.commit = opened.found.commit;
    const CommitManifest& manifest = opened.found.manifest;
    const CommitPart* part = manifest.Find(kLearnerPartName);
    knows_position = part != nullptr;
    if (part != nullptr) {
      const LearnerPart saved = ParseLearnerPart(ReadBytesPart(fs, state, *part),
                                                 JoinPath(state, part->files.at(0).name));
      stream.Load(saved.stream);
      check.read = stream.position();
      expected = {NumberIn(manifest.positions, kLogIdPosition, 16).value_or(0), check.read};
    }
  }
  const std::unique_ptr<LogReader> log = LogReader::Open(fs, LogDirectoryOf(directory));
  if (!log->damage().empty()) Fail(ErrorCode::kStorage, "{}", log->damage());
  if (!knows_position && log->end() > log->begin()) FailUnknownPosition(state, check.commit);
  CheckExpected(log->directory(), expected, log->id(), log->begin(), log->end());
  if (stream.OldestNeeded() < log->begin() && check.read > 0) {
    Fail(ErrorCode::kStorage, "{}: the log begins at offset {}; commit {} needs it from {} on",
         log->directory(), log->begin(), check.commit, stream.OldestNeeded());
  }
  // What it says is as important as that it is there: a step needs the examples that it takes.
  LogCursor cursor = log->Scan(std::max(check.read, log->begin()));
  LogRecord record;
  StreamAction action;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    stream.Apply(record, action);
  }
}

uint64_t NewestCommit(const FileSystem& fs, const std::string& directory) {
  return FindCommits(fs, StateDirectoryOf(directory)).highest;
}

}  // namespace

void FailUnknownPosition(const std::string& state_directory, uint64_t commit) {
  Fail(ErrorCode::kStorage,
       "{}: commit {} does not say how far the log was learned from, and the log is not empty; "
       "move the log away to begin a new one, or the state to learn all of the log anew",
       state_directory, commit);
}

LogCheck CheckLogOfModel(const FileSystem& fs, const std::string& directory) {
  while (true) {
    const uint64_t before = NewestCommit(fs, directory);
    LogCheck check;
    try {
      TryToStart(fs, directory, check);
      return check;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kResourceExhausted) throw;
      check.problems.push_back(error.what());
    }
    // A model that learns makes commits and drops what of the log they do not need.
    if (NewestCommit(fs, directory) == before) return check;
  }
}

}  // namespace catamaran
