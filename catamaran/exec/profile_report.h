// exec/profile_report.h
//
// What a Profile says to people: where the time went by op, by the user's line and by layer, beside
// what the machine could do. Runs whose ops were not measured are represented by those that were,
// and what reading the clock took is taken off.

#pragma once

#include <string>
#include <vector>

#include "catamaran/exec/machine_limits.h"
#include "catamaran/exec/profile.h"

namespace catamaran {

struct ProfileRow {
  std::string name;       // "matmul: onednn", "models/ctr.ctm:14", "net.fc1"
  std::string text;       // of a line: what stands there
  bool backward = false;  // computes gradients of what stands there; not of ops
  double calls = 0;
  double seconds = 0;  // computing
  double waiting = 0;  // seconds, of ops that complete later
  double operations = 0;
  double bytes = 0;
  // The least time that the machine needs for it, by the limits; the row takes `seconds`.
  double least_seconds = 0;
};

struct ProfiledFunction {
  std::string name;
  int threads = 1;
  double runs = 0, measured = 0;
  double seconds = 0;       // of all runs
  double op_seconds = 0;    // computing, of all threads together
  double waiting = 0;       // for ops that complete later
  double turn_seconds = 0;  // waiting for the turn to write
};

struct ProfileReport {
  MachineLimits limits;
  double seconds = 0;  // since the profile was made
  std::vector<ProfiledFunction> functions;
  std::vector<PhaseTotals> phases;    // ticks
  std::vector<double> phase_seconds;  // of `phases`
  // The longest first.
  std::vector<ProfileRow> ops, lines, layers;

  double run_seconds = 0;      // in runs of functions
  double op_seconds = 0;       // in their ops
  double waiting_seconds = 0;  // for data, for the turn to write, for ops that complete later
};

ProfileReport MakeReport(const Profile& profile, const MachineLimits& limits);

}  // namespace catamaran
