// cli/demo/commands.h
//
// catamaran demo, and catamaran demo training.

#pragma once

#include <cstdint>

#include "cli/session.h"

namespace catamaran::cli {

struct FeedDemoOptions {
  double seconds = 50;  // of traffic
  double rate = 300;    // views a second
  int connections = 4;
  double history = 60;  // minutes of the world that the first model has learned from
  uint64_t seed = 1;
  bool keep = false;  // goes on until Ctrl-C
};

// Serves the feed's program to simulated people, kills the service and looks what became of it.
// kWrong if anything that was acknowledged is lost or was learned twice.
ExitCode RunFeedDemo(Session& session, const FeedDemoOptions& options);

void AddTrainingDemo(CLI::App& demo, Session& session);

}  // namespace catamaran::cli
