// serve/learn/settings.h
//
// How a model learns while it serves: the settings of ModelConfig::learning, by name, as text.
// docs/learning.md has the table of names.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/learn/drift_monitor.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"

namespace catamaran {

struct LearnSettings {
  JoinSettings join;  // one label for each label of the program

  int64_t batch_rows = 64;             // examples in a full batch
  int64_t batch_ns = 20'000'000;       // an example waits no longer than this for a full one
  int64_t commit_ns = 30'000'000'000;  // between two commits; 0: only when asked
  int64_t commit_steps = 0;            // not 0: also after that many steps
  int keep_commits = 5;
  // Saved rows come into memory after a start, behind everything else; otherwise when they are
  // written.
  bool move_rows = true;
  int threads = 1;          // that train
  bool progressive = true;  // examples that come without a prediction are predicted before they are
                            // learned from
  int64_t window_examples = 10'000;  // of progressive validation
  DriftSettings drift;
  bool frozen = false;  // a copy of the state that learning begins with is measured beside it,
  double frozen_share = 0.1;  // on that share of steps
  // The clock of the join is that of events alone: windows end when later events say so. Otherwise
  // time goes on by itself, and events may not be later than `max_ahead_ns` from now.
  bool event_clock = false;
  int64_t tick_ns = 1'000'000'000;
  int64_t max_ahead_ns = 60'000'000'000;

  // Memory of feedback and examples that wait to be learned from; beyond it calls are refused.
  int64_t waiting_bytes = int64_t{256} << 20;

  bool allow_nan = false;  // examples may have features that are no numbers

  LogOptions log;
  uint64_t disk_max_bytes = 0;                 // of the log and the commits together; 0: any number
  uint64_t retain_bytes = uint64_t{16} << 30;  // of the log, beyond what is needed; 0: all
  int64_t retain_ns = 0;                       // 0: however old
};

// An Error that names the setting, with a suggestion, if one is unknown or makes no sense. `labels`
// are those of the program.
LearnSettings ParseLearnSettings(const std::map<std::string, std::string>& texts,
                                 const std::vector<std::string>& labels);

// "250ms", "30s", "5m", "2h", "1d", "0"; an Error that begins with `what` for anything else.
int64_t ParseDuration(std::string_view text, std::string_view what);

}  // namespace catamaran
