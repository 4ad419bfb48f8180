// train/counters.cc

#include "catamaran/train/counters.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN.
double NumberOr(const Json& json, double otherwise) {
  return json.is_number() ? json.get<double>() : otherwise;
}

}  // namespace

std::string FormatCounters(const TrainCounters& c) {
  Json averages = Json::array();
  for (const RowAverages::Sum& sum : c.averages) averages.push_back({sum.sum, sum.rows});
  const Json json = {{"batches", c.batches},
                     {"rows", c.rows},
                     {"epoch", c.epoch},
                     {"refused", c.refused},
                     {"refused_in_a_row", c.refused_in_a_row},
                     {"unwritten", c.unwritten},
                     {"seconds", c.seconds},
                     {"last_validation", c.last_validation},
                     {"validation_due", c.validation_due},
                     {"finished", c.finished},
                     {"best", {c.best.value, c.best.step, c.best.worse}},
                     {"metrics_bytes", c.metrics_bytes},
                     {"logged_batches", c.logged_batches},
                     {"event_time", c.event_time},
                     {"window_end", c.window_end},
                     {"averages", averages},
                     {"settings", c.settings}};
  return json.dump();
}

TrainCounters ParseCounters(const std::string& text, const std::string& what) {
  try {
    const Json json = Json::parse(text);
    TrainCounters c;
    c.batches = json.at("batches");
    c.rows = json.at("rows");
    c.epoch = json.at("epoch");
    c.refused = json.at("refused");
    c.refused_in_a_row = json.at("refused_in_a_row");
    c.unwritten = json.value("unwritten", int64_t{0});  // older runs did not count them
    c.seconds = NumberOr(json.at("seconds"), 0);
    c.last_validation = json.at("last_validation");
    c.validation_due = json.at("validation_due");
    c.finished = json.at("finished");
    const Json& best = json.at("best");
    c.best = {NumberOr(best.at(0), NAN), best.at(1), best.at(2)};
    c.metrics_bytes = json.at("metrics_bytes");
    c.logged_batches = json.at("logged_batches");
    c.event_time = json.at("event_time");
    c.window_end = json.at("window_end");
    for (const Json& sum : json.at("averages")) {
      c.averages.push_back({NumberOr(sum.at(0), NAN), sum.at(1)});
    }
    c.settings = json.at("settings").get<RunSettings>();
    return c;
  } catch (const nlohmann::json::exception& error) {
    Fail(ErrorCode::kStorage, "{}: what the trainer has saved cannot be read: {}", what,
         error.what());
  }
}

std::string DifferenceOfSettings(const RunSettings& before, const RunSettings& now) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    if (found == now.end()) {
      add(fmt::format("{} was {}", name, value));
    } else if (found->second != value) {
      add(fmt::format("{} was {} and is {}", name, value, found->second));
    }
  }
  for (const auto& [name, value] : now) {
    if (!before.contains(name)) add(fmt::format("{} is {} now", name, value));
  }
  return text;
}

}  // namespace catamaran
