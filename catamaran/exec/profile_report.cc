#include "catamaran/exec/profile_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "catamaran/ir/source_frames.h"

namespace catamaran {
namespace {

using Key = std::pair<std::string, bool>;  // name, backward
using Rows = std::map<Key, ProfileRow>;

void Add(Rows& rows, const std::string& name, bool backward, std::string_view text,
         const ProfileRow& op) {
  ProfileRow& row = rows[{name, backward}];
  row.name = name;
  row.text = text;
  row.backward = backward;
  row.calls += op.calls;
  row.seconds += op.seconds;
  row.waiting += op.waiting;
  row.operations += op.operations;
  row.bytes += op.bytes;
  row.least_seconds += op.least_seconds;
}

std::vector<ProfileRow> Sorted(Rows rows) {
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.seconds + a.waiting > b.seconds + b.waiting;
  });
  return sorted;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The effect that a table's part of a step comes from.
const Op* EffectOn(const Plan& plan, int state) {
  for (const PlanEffect& effect : plan.effects) {
    const PlanNode& node = plan.nodes[static_cast<size_t>(effect.node)];
    if (std::find(node.states.begin(), node.states.end(), state) != node.states.end()) {
      return node.op;
    }
  }
  return nullptr;
}

struct Collector {
  const MachineLimits& limits;
  double second;       // per tick
  double clock_ticks;  // per call
  Rows ops, lines, layers;

  // An op's figures for all runs, from those that were measured.
  ProfileRow Scaled(const OpTotals& op, double scale, double time_scale) const {
    const auto calls = static_cast<double>(op.calls);
    const double ticks = std::max(0.0, static_cast<double>(op.ticks) - calls * clock_ticks);
    ProfileRow row;
    row.calls = calls * scale;
    row.seconds = ticks * second * time_scale;
    row.waiting = static_cast<double>(op.waiting) * second * time_scale;
    row.operations = op.operations * scale;
    row.bytes = op.bytes * scale;
    row.least_seconds = LeastSeconds(limits, row.operations, row.bytes);
    return row;
  }

  void AddOp(const Plan& plan, const std::string& name, const Op* op, const ProfileRow& row) {
    Add(ops, name, false, {}, row);
    if (op == nullptr) return;
    const OpOwner owner = OwnerOf(*plan.sources, op->at);
    Add(lines, plan.sources->ToString(op->at), owner.backward,
        Trimmed(plan.sources->Line(op->at.file, op->at.line)), row);
    Add(layers, owner.layer.empty() ? plan.function_name : owner.layer, owner.backward, {}, row);
  }

  ProfiledFunction AddFunction(const FunctionTotals& totals) {
    const Plan& plan = *totals.plan;
    ProfiledFunction function;
    function.name = plan.function_name;
    function.threads = totals.threads;
    function.runs = static_cast<double>(totals.runs);
    function.measured = static_cast<double>(totals.measured);
    function.seconds = static_cast<double>(totals.ticks) * second;
    function.turn_seconds = static_cast<double>(totals.turn_ticks) * second;
    if (totals.measured == 0) return function;
    const double scale = function.runs / function.measured;
    // By time, so that runs which were measured while they were slow do not make all slow.
    const double time_scale = static_cast<double>(totals.ticks) /
                              static_cast<double>(std::max<uint64_t>(totals.measured_ticks, 1));
    for (size_t i = 0; i < totals.ops.size(); ++i) {
      if (totals.ops[i].calls == 0 && totals.ops[i].ticks == 0) continue;
      const ProfileRow row = Scaled(totals.ops[i], scale, time_scale);
      function.op_seconds += row.seconds;
      function.waiting += row.waiting;
      if (i < plan.nodes.size()) {
        const Op& op = *plan.nodes[i].op;
        const std::string& kernel = totals.kernels[i];
        AddOp(plan, kernel.empty() ? op.name() : op.name() + ": " + kernel, &op, row);
      } else if (i < plan.nodes.size() + plan.state_names.size()) {
        const auto state = i - plan.nodes.size();
        AddOp(plan, "apply @" + plan.state_names[state], EffectOn(plan, static_cast<int>(state)),
              row);
      } else {
        AddOp(plan, "publish", nullptr, row);
      }
    }
    return function;
  }
};

}  // namespace

ProfileReport MakeReport(const Profile& profile, const MachineLimits& limits) {
  ProfileReport report;
  report.limits = limits;
  report.seconds = profile.ElapsedSeconds();
  Collector collector{limits, profile.SecondsPerTick(), profile.clock_ticks(), {}, {}, {}};
  for (const FunctionTotals& totals : profile.functions()) {
    const ProfiledFunction function = collector.AddFunction(totals);
    report.run_seconds += function.seconds;
    report.op_seconds += function.op_seconds;
    report.waiting_seconds += function.turn_seconds + function.waiting;
    report.functions.push_back(function);
  }
  report.phases = profile.phases();
  for (const PhaseTotals& phase : report.phases) {
    report.phase_seconds.push_back(static_cast<double>(phase.ticks) * collector.second);
    if (phase.waiting) report.waiting_seconds += report.phase_seconds.back();
  }
  report.ops = Sorted(std::move(collector.ops));
  report.lines = Sorted(std::move(collector.lines));
  report.layers = Sorted(std::move(collector.layers));
  return report;
}

}  // namespace catamaran
