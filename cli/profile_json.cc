#include <nlohmann/json.hpp>

#include "cli/profile.h"

namespace catamaran::cli {
namespace {

nlohmann::json Rows(const std::vector<ProfileRow>& rows, bool with_pass, bool with_text) {
  auto list = nlohmann::json::array();
  for (const ProfileRow& row : rows) {
    nlohmann::json item = {{"name", row.name},
                           {"calls", row.calls},
                           {"seconds", row.seconds},
                           {"waiting_seconds", row.waiting},
                           {"operations", row.operations},
                           {"bytes", row.bytes},
                           {"least_seconds", row.least_seconds}};
    if (with_pass) item["backward"] = row.backward;
    if (with_text) item["text"] = row.text;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

nlohmann::json ProfileJson(const ProfileReport& report) {
  auto functions = nlohmann::json::array();
  for (const ProfiledFunction& f : report.functions) {
    functions.push_back({{"name", f.name},
                         {"threads", f.threads},
                         {"runs", f.runs},
                         {"measured_runs", f.measured},
                         {"seconds", f.seconds},
                         {"op_seconds", f.op_seconds},
                         {"waiting_seconds", f.waiting},
                         {"turn_seconds", f.turn_seconds}});
  }
  auto phases = nlohmann::json::array();
  for (size_t i = 0; i < report.phases.size(); ++i) {
    phases.push_back({{"name", report.phases[i].name},
                      {"waiting", report.phases[i].waiting},
                      {"count", report.phases[i].count},
                      {"seconds", report.phase_seconds[i]}});
  }
  return {{"seconds", report.seconds},
          {"op_seconds", report.op_seconds},
          {"waiting_seconds", report.waiting_seconds},
          {"limits",
           {{"threads", report.limits.threads},
            {"operations_per_second", report.limits.flops},
            {"bytes_per_second", report.limits.bytes_second}}},
          {"functions", std::move(functions)},
          {"phases", std::move(phases)},
          {"ops", Rows(report.ops, false, false)},
          {"lines", Rows(report.lines, true, true)},
          {"layers", Rows(report.layers, true, false)}};
}

}  // namespace catamaran::cli
