#include "catamaran/exec/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catamaran/ir/source_frames.h"

namespace catamaran {
namespace {

// How much of the time measuring may take, and what an op costs beside reading the clock.
constexpr double kOverhead = 0.02;
constexpr double kCountingFactor = 1.5;

double MeasureClock() {
  constexpr int kReads = 2000;
  uint64_t best = ~uint64_t{0};
  for (int round = 0; round < 5; ++round) {
    const uint64_t begin = Ticks();
    for (int i = 0; i < kReads; ++i) static_cast<void>(Ticks());
    best = std::min(best, Ticks() - begin);
  }
  return static_cast<double>(best) / kReads;
}

}  // namespace

Profile::Profile(ProfileOptions options) : options_(options), clock_ticks_(MeasureClock()) {}

Profile::Record& Profile::Find(const Plan& plan) {
  for (Record& record : records_) {
    if (record.totals.plan == &plan) return record;
  }
  Record& made = records_.emplace_back();
  made.totals.plan = &plan;
  made.totals.ops.resize(plan.nodes.size() + plan.state_names.size() + 1);
  return made;
}

void Profile::NameOps(Record& record) {
  Trace& trace = *options_.trace;
  const Plan& plan = *record.totals.plan;
  record.run = trace.Name(plan.function_name, "run");
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const Op& op = *plan.nodes[i].op;
    const OpOwner owner = OwnerOf(*plan.sources, op.at);
    const std::string& kernel = record.totals.kernels[i];
    record.names.push_back(trace.Name(
        kernel.empty() ? op.name() : op.name() + ": " + kernel, owner.backward ? "backward" : "op",
        plan.sources->ToString(op.at) + (owner.layer.empty() ? "" : " in " + owner.layer)));
  }
  for (const std::string& state : plan.state_names) {
    record.names.push_back(trace.Name("apply @" + state, "table"));
  }
  record.names.push_back(trace.Name("publish", "state"));
}

uint64_t Profile::Interval(const Record& record) const {
  if (options_.every > 0) return static_cast<uint64_t>(options_.every);
  const auto time = static_cast<double>(record.totals.measured_ticks);
  if (time <= 0) return 1;
  return static_cast<uint64_t>(
      std::clamp(std::ceil(record.overhead_ticks / time / kOverhead), 1.0, 10'000.0));
}

void Profile::BeginRun(const Plan& plan, int threads, FrameProfile& frame) {
  {
    const std::lock_guard lock(mutex_);
    Record& record = Find(plan);
    if (record.totals.kernels.empty()) {
      record.totals.kernels = frame.kernels;
      record.totals.threads = threads;
      if (options_.trace != nullptr) NameOps(record);
    }
    frame.measured = record.until_measured == 0;
    record.until_measured = frame.measured ? Interval(record) - 1 : record.until_measured - 1;
    frame.trace = options_.trace;
    frame.names = record.names.data();
  }
  frame.turn = 0;
  frame.begin = Ticks();
}

void Profile::EndRun(const Plan& plan, FrameProfile& frame) {
  const uint64_t end = Ticks();
  const std::lock_guard lock(mutex_);
  Record& record = Find(plan);
  FunctionTotals& totals = record.totals;
  ++totals.runs;
  totals.ticks += end - frame.begin;
  totals.turn_ticks += frame.turn;
  if (!frame.measured) return;
  ++totals.measured;
  totals.measured_ticks += end - frame.begin;
  uint64_t calls = 0;
  for (size_t i = 0; i < frame.counts.size(); ++i) {
    FrameProfile::Count& count = frame.counts[i];
    if (count.calls == 0 && count.ticks == 0) continue;
    OpTotals& op = totals.ops[i];
    op.calls += count.calls;
    op.ticks += count.ticks;
    op.waiting += count.waiting;
    if (i < frame.costs.size()) {
      op.operations += static_cast<double>(count.calls) * frame.costs[i].operations;
      op.bytes += static_cast<double>(count.calls) * frame.costs[i].bytes;
    }
    calls += count.calls;
    count = {};
  }
  record.overhead_ticks += static_cast<double>(calls) * clock_ticks_ * kCountingFactor +
                           static_cast<double>(Ticks() - end);
}

void Profile::TraceRun(const Plan& plan, uint64_t begin) {
  if (options_.trace == nullptr) return;
  const TraceName* name = nullptr;
  {
    const std::lock_guard lock(mutex_);
    name = Find(plan).run;
  }
  if (name != nullptr) options_.trace->Span(name, begin, Ticks());
}

void Profile::AddPhase(std::string_view name, bool waiting, uint64_t begin, uint64_t end) {
  if (options_.trace != nullptr) {
    options_.trace->Span(options_.trace->Name(name, waiting ? "waiting" : "phase"), begin, end);
  }
  const std::lock_guard lock(mutex_);
  auto phase = std::find_if(phases_.begin(), phases_.end(),
                            [&](const PhaseTotals& p) { return p.name == name; });
  if (phase == phases_.end()) {
    phases_.push_back({std::string(name), waiting, 0, 0});
    phase = std::prev(phases_.end());
  }
  ++phase->count;
  phase->ticks += end - begin;
}

std::vector<FunctionTotals> Profile::functions() const {
  const std::lock_guard lock(mutex_);
  std::vector<FunctionTotals> all;
  for (const Record& record : records_) all.push_back(record.totals);
  return all;
}

std::vector<PhaseTotals> Profile::phases() const {
  const std::lock_guard lock(mutex_);
  return {phases_.begin(), phases_.end()};
}

double Profile::ElapsedSeconds() const {
  return static_cast<double>(Ticks() - scale_.first_tick()) * SecondsPerTick();
}

}  // namespace catamaran
