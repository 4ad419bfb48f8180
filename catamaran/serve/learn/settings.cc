// serve/learn/settings.cc

#include "catamaran/serve/learn/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"

namespace catamaran {
namespace {

double ParseNumber(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    Fail("{}: '{}' is not a number", what, text);
  }
  return value;
}

int64_t ParseCount(std::string_view text, std::string_view what, int64_t least = 0,
                   int64_t most = std::numeric_limits<int64_t>::max()) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    Fail("{}: '{}' is not a whole number from {} to {}", what, text, least, most);
  }
  return value;
}

bool ParseYesNo(std::string_view text, std::string_view what) {
  if (text == "yes" || text == "true" || text == "1") return true;
  if (text == "no" || text == "false" || text == "0") return false;
  Fail("{}: '{}' is neither yes nor no", what, text);
}

LogSync ParseSync(std::string_view text, std::string_view what) {
  if (text == "group") return LogSync::kGroup;
  if (text == "interval") return LogSync::kInterval;
  if (text == "never") return LogSync::kNever;
  Fail("{}: '{}' is none of group, interval, never", what, text);
}

// By name: what the text does to the settings.
using Setter = std::function<void(std::string_view text, const std::string& what)>;
using Setters = std::map<std::string, Setter, std::less<>>;

Setters SettersOf(LearnSettings& s) {
  const auto count = [](auto& to, int64_t least, int64_t most = INT64_MAX) -> Setter {
    return [&to, least, most](std::string_view text, const std::string& what) {
      to = static_cast<std::decay_t<decltype(to)>>(ParseCount(text, what, least, most));
    };
  };
  const auto duration = [](auto& to) -> Setter {
    return [&to](std::string_view text, const std::string& what) {
      to = std::decay_t<decltype(to)>(ParseDuration(text, what));
    };
  };
  const auto number = [](double& to, double least, double most) -> Setter {
    return [&to, least, most](std::string_view text, const std::string& what) {
      to = ParseNumber(text, what);
      if (to < least || to > most) Fail("{}: {} is not from {} to {}", what, text, least, most);
    };
  };
  const auto yes_no = [](bool& to) -> Setter {
    return [&to](std::string_view text, const std::string& what) { to = ParseYesNo(text, what); };
  };
  return {
      {"batch_rows", count(s.batch_rows, 1, 1 << 20)},
      {"batch_wait", duration(s.batch_ns)},
      {"commit_every", duration(s.commit_ns)},
      {"commit_steps", count(s.commit_steps, 0)},
      {"keep_commits", count(s.keep_commits, 2, 1000)},
      {"move_rows", yes_no(s.move_rows)},
      {"threads", count(s.threads, 1, 1024)},
      {"progressive", yes_no(s.progressive)},
      {"window_examples", count(s.window_examples, 1, 10'000'000)},
      {"frozen", yes_no(s.frozen)},
      {"frozen_share", number(s.frozen_share, 0.001, 1)},
      {"drift", yes_no(s.drift.on)},
      {"drift_window", count(s.drift.window, 100, 10'000'000)},
      {"drift_change", number(s.drift.change, 0, 1000)},
      {"drift_psi", number(s.drift.psi, 0.05, 1000)},
      {"drift_features", count(s.drift.max_features, 0, 1000)},
      {"event_clock", yes_no(s.event_clock)},
      {"allow_nan", yes_no(s.allow_nan)},
      {"disk_max_bytes", count(s.disk_max_bytes, 0)},
      {"tick", duration(s.tick_ns)},
      {"max_ahead", duration(s.max_ahead_ns)},
      {"hold", duration(s.join.hold_ns)},
      {"join_bytes", count(s.join.max_bytes, 1 << 16)},
      {"key_horizon", duration(s.join.key_horizon_ns)},
      {"max_keys", count(s.join.max_keys, 0)},
      {"max_waiting", count(s.join.max_waiting, 1)},
      {"waiting_bytes", count(s.waiting_bytes, 1 << 16)},
      {"sync", [&s](std::string_view text,
                    const std::string& what) { s.log.sync = ParseSync(text, what); }},
      {"sync_interval", duration(s.log.interval)},
      {"segment_bytes", count(s.log.segment_bytes, 4096)},
      {"log_max_bytes", count(s.log.max_bytes, 0)},
      {"retain_bytes", count(s.retain_bytes, 0)},
      {"retain", duration(s.retain_ns)},
  };
}

Setters SettersOf(LabelRule& rule) {
  return {
      {"event", [&](std::string_view text, const std::string&) { rule.event = text; }},
      {"window", [&](std::string_view text,
                     const std::string& what) { rule.window_ns = ParseDuration(text, what); }},
      {"negative",
       [&](std::string_view text, const std::string& what) {
         rule.negative = text != "none";
         if (rule.negative) rule.negative_value = static_cast<float>(ParseNumber(text, what));
       }},
      {"late", [&](std::string_view text,
                   const std::string& what) { rule.late_ns = ParseDuration(text, what); }},
      {"late_weight",
       [&](std::string_view text, const std::string& what) {
         rule.late_weight = static_cast<float>(ParseNumber(text, what));
         if (rule.late_weight < 0) Fail("{}: a weight is not negative", what);
       }},
      {"from_session",
       [&](std::string_view text, const std::string& what) {
         rule.from_session = ParseYesNo(text, what);
       }},
  };
}

[[noreturn]] void FailUnknown(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  const std::string near = Suggest(name, names);
  Fail("learning has no setting {}{}; there are {}", name,
       near.empty() ? "" : "; did you mean " + near + "?", fmt::join(known, ", "));
}

}  // namespace

int64_t ParseDuration(std::string_view text, std::string_view what) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e6}, {"us", 1e3}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  if (text == "0") return 0;
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double value = 0;
    const char* last = text.data() + text.size() - unit.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last) continue;
    if (value < 0 || value * ns > 9e18) break;
    return static_cast<int64_t>(value * ns);
  }
  Fail("{}: '{}' is no duration such as 250ms, 30s, 5m, 2h or 1d", what, text);
}

LearnSettings ParseLearnSettings(const std::map<std::string, std::string>& texts,
                                 const std::vector<std::string>& labels) {
  if (labels.size() > static_cast<size_t>(kMaxLabels)) {
    Fail("a model that learns while it serves has at most {} labels; found {}", kMaxLabels,
         labels.size());
  }
  LearnSettings settings;
  for (const std::string& label : labels) {
    LabelRule rule;
    rule.label = rule.event = label;
    rule.window_ns = 600'000'000'000;
    settings.join.labels.push_back(rule);
  }
  const Setters setters = SettersOf(settings);
  std::vector<std::string> known;
  for (const auto& [name, setter] : setters) known.push_back(name);
  for (const LabelRule& rule : settings.join.labels) {
    LabelRule any;
    for (const auto& [name, setter] : SettersOf(any)) known.push_back(rule.label + "." + name);
  }
  for (const auto& [name, text] : texts) {
    const std::string what = "setting " + name + " of learning";
    if (const auto setter = setters.find(name); setter != setters.end()) {
      setter->second(text, what);
      continue;
    }
    bool found = false;
    for (LabelRule& rule : settings.join.labels) {
      if (!name.starts_with(rule.label + ".")) continue;
      const Setters of_label = SettersOf(rule);
      const auto setter = of_label.find(name.substr(rule.label.size() + 1));
      if (setter == of_label.end()) continue;
      setter->second(text, what);
      found = true;
    }
    if (!found) FailUnknown(name, known);
  }
  return settings;
}

}  // namespace catamaran
