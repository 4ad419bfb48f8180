// serve/learn/replay.h
//
// Rebuilds the state of a model from its log: program, log and the state that it began with give it
// bit for bit, on a machine of the same instruction set and with as many training threads as the
// log says. With another program the same examples are learned from by that one, as far as they
// fit.
//
// What rollbacks have skipped is not learned from here either; no commit is needed for that.
//
// Thread safety: plain functions; the log may be in use meanwhile.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "catamaran/serve/hosted_model.h"
#include "catamaran/serve/learn/log_applier.h"
#include "catamaran/stream/log/log_reader.h"

namespace catamaran {

// Where a replay ends; the earliest that is given counts, and the end of the log in any case.
struct ReplayEnd {
  std::optional<int64_t> step;     // behind the Step record with this number
  std::optional<uint64_t> commit;  // where the log stood at this commit
  std::optional<LogOffset> offset;
};

struct ReplayOptions {
  ReplayEnd to;
  int threads = 0;  // 0: as the log says
  // Bytes of the part of a commit that the state comes from (learner_part.h); empty: the state is
  // that of the log's beginning.
  std::string from_part;
  bool measure = false;  // also predicts, as the settings of the model's config say: see `drift`
  std::function<void(LogOffset at, LogOffset end)> progress;  // now and then
};

struct ReplayResult {
  LogOffset begin = 0, end = 0;  // of what was applied
  int64_t records = 0;
  int64_t steps = 0, examples = 0;  // learned from, here
  int64_t refused_steps = 0;
  int64_t skipped_steps = 0;                    // by rollbacks
  int64_t first_time_ns = 0, last_time_ns = 0;  // of records that have one
  double seconds = 0;
  int threads = 1;
  std::string stream;              // ExampleStream::Save at the end
  std::string drift;               // DriftMonitor::Save at the end, if it measured
  std::vector<std::string> notes;  // what differs from when the log was written
};

// Applies the log to model.state. An Error if the log has no such place, does not reach back far
// enough, or is damaged.
ReplayResult Replay(const HostedModel& model, const LogReader& log, const ReplayOptions& options);

// Where the log stood at a commit, as the log says; nothing if it does not.
std::optional<LogOffset> OffsetOfCommit(const LogReader& log, uint64_t commit);

// Empty if both hold the same bits; else what differs. Neither is being saved.
std::string DifferenceOfStates(State& a, State& b);

}  // namespace catamaran
