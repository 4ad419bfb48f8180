// exec/profile.h
//
// A Profile collects where the time of runs goes, op by op. Runs are given it in
// RunOptions::profile, functions and States as one likes; whoever does something between runs that
// should show beside them (waits for data, commits, validates) says so with a ProfilePhase. What it
// means is made of it by exec/profile_report.h.
//
// It stays out of the way: without one a run asks once whether there is one. With one, the clock is
// read once an op, and where ops are so short that this would take more than 2 % of the time, the
// ops of only some runs are measured; those stand for the others, which are counted and timed
// as a whole.
//
// Thread safety: all methods may be called concurrently. It outlives the runs that it is given to;
// Executables that were profiled stay until the last look at it.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/ticks.h"
#include "catamaran/base/trace.h"
#include "catamaran/exec/plan.h"

namespace catamaran {

struct ProfileOptions {
  int every = 0;           // the ops of every nth run are measured; 0: of as many as stay below 2 %
  Trace* trace = nullptr;  // where runs, measured ops and phases are written too; outlives it
};

// What was measured of one op of a function. Times are in Ticks.
struct OpTotals {
  uint64_t calls = 0;
  uint64_t ticks = 0;
  uint64_t waiting = 0;  // between the kernel's return and its completion, where that comes later
  double operations = 0;
  double bytes = 0;
};

// What was measured of one function.
struct FunctionTotals {
  const Plan* plan = nullptr;
  int threads = 1;          // of its Executable's pool
  uint64_t runs = 0;        // all
  uint64_t ticks = 0;       // of all, from start to end
  uint64_t turn_ticks = 0;  // of all: waiting for the turn to write
  uint64_t measured = 0;    // runs whose ops were measured
  uint64_t measured_ticks = 0;
  // Of measured runs: by node, then one a state (a table's part of a step), then the publication.
  std::vector<OpTotals> ops;
  std::vector<std::string> kernels;  // by node; empty: none
};

// What happens between runs.
struct PhaseTotals {
  std::string name;
  bool waiting = false;
  uint64_t count = 0;
  uint64_t ticks = 0;
};

// What a frame counts during a run, and what it keeps for the next.
struct FrameProfile {
  struct Count {
    uint64_t ticks = 0, calls = 0, waiting = 0;
  };
  std::vector<Count> counts;         // as FunctionTotals::ops
  std::vector<OpCost> costs;         // by node, of one call
  std::vector<std::string> kernels;  // by node; empty: none
  uint64_t begin = 0;                // of the run
  uint64_t turn = 0;                 // waiting for it
  bool measured = false;
  Trace* trace = nullptr;
  const TraceName* const* names = nullptr;  // as `counts`

  // Something that began at `from` is done now; returns now.
  uint64_t Done(size_t index, uint64_t from) {
    const uint64_t now = Ticks();
    counts[index].ticks += now - from;
    ++counts[index].calls;
    if (trace != nullptr) trace->Span(names[index], from, now);
    return now;
  }
  // The same of a part of it, which is no call of its own.
  uint64_t DonePart(size_t index, uint64_t from) {
    const uint64_t now = Ticks();
    counts[index].ticks += now - from;
    if (trace != nullptr) trace->Span(names[index], from, now);
    return now;
  }
};

class Profile {
 public:
  explicit Profile(ProfileOptions options = {});
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  Trace* trace() const { return options_.trace; }

  // --- For whoever looks. Copies, as it is now.
  std::vector<FunctionTotals> functions() const;
  std::vector<PhaseTotals> phases() const;
  // Since it was made.
  double ElapsedSeconds() const;
  double SecondsPerTick() const { return scale_.NanosecondsPerTick() * 1e-9; }
  // What reading the clock adds to the time of an op.
  double clock_ticks() const { return clock_ticks_; }

  // --- For the executor and ProfilePhase.
  // Decides whether the ops of this run are measured.
  void BeginRun(const Plan& plan, int threads, FrameProfile& frame);
  // Adds what the frame has counted and makes it zero.
  void EndRun(const Plan& plan, FrameProfile& frame);
  // Writes the run to the trace, on the thread that waited for it.
  void TraceRun(const Plan& plan, uint64_t begin);
  void AddPhase(std::string_view name, bool waiting, uint64_t begin, uint64_t end);

 private:
  struct Record {
    FunctionTotals totals;
    std::vector<const TraceName*> names;  // as totals.ops
    const TraceName* run = nullptr;
    uint64_t until_measured = 0;
    double overhead_ticks = 0;  // of measured runs
  };
  Record& Find(const Plan& plan);
  void NameOps(Record& record);
  uint64_t Interval(const Record& record) const;

  const ProfileOptions options_;
  const TickScale scale_;
  double clock_ticks_ = 0;
  mutable std::mutex mutex_;
  std::deque<Record> records_;
  std::deque<PhaseTotals> phases_;
};

// Something between runs, from here to the end of the block; nothing when the profile is null.
class ProfilePhase {
 public:
  // `waiting`: nothing is computed meanwhile ("data").
  ProfilePhase(Profile* profile, std::string_view name, bool waiting = false)
      : profile_(profile),
        name_(name),
        waiting_(waiting),
        begin_(profile != nullptr ? Ticks() : 0) {}
  ~ProfilePhase() {
    if (profile_ != nullptr) profile_->AddPhase(name_, waiting_, begin_, Ticks());
  }
  ProfilePhase(const ProfilePhase&) = delete;
  ProfilePhase& operator=(const ProfilePhase&) = delete;

 private:
  Profile* const profile_;
  const std::string_view name_;
  const bool waiting_;
  const uint64_t begin_;
};

}  // namespace catamaran
