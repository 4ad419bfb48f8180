#include "catamaran/serve/wire/http/rest_overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <vector>

#include "catamaran/base/memory_sampler.h"
#include "catamaran/serve/wire/http/rest_learning.h"
#include "catamaran/serve/wire/http/routes.h"
#include "catamaran/serve/wire/json_text.h"
#include "catamaran/serve/wire/model_loading.h"

namespace catamaran {
namespace {

constexpr std::chrono::milliseconds kLookEvery(1000);

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void AppendNumber(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
  } else {
    // Six digits are more than a chart shows.
    fmt::format_to(std::back_inserter(out), "{:.6g}", value);
  }
}

// The members of one object; made with the brace that opens it, and Close writes the other.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  void Close() { out_ += '}'; }

  std::string& Name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    fmt::format_to(std::back_inserter(out_), "\"{}\":", name);
    return out_;
  }
  template <class T>
  void Add(std::string_view name, const T& value) {
    Name(name);
    if constexpr (std::is_floating_point_v<T>) {
      AppendNumber(out_, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    } else {
      AppendJsonMessage(out_, value);
    }
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendTables(std::string& out, const std::vector<TableDetails>& tables) {
  out += '[';
  for (size_t i = 0; i < tables.size(); ++i) {
    if (i > 0) out += ',';
    const TableDetails& table = tables[i];
    Members members(out);
    members.Add("name", table.name);
    members.Add("width", table.width);
    members.Add("rows", table.info.rows);
    members.Add("waiting", table.info.waiting);
    members.Add("bytes", table.info.bytes);
    members.Add("bytes_on_disk", table.info.bytes_on_disk);
    members.Add("expired", table.info.expired);
    members.Close();
  }
  out += ']';
}

void AppendLines(std::string& out, const std::vector<LineTime>& lines) {
  out += '[';
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ',';
    Members members(out);
    members.Add("line", lines[i].line);
    members.Add("seconds", lines[i].seconds);
    members.Close();
  }
  out += ']';
}

void AppendLately(std::string& out, const ModelHistory& history) {
  const HistoryPoint lately = history.Lately();
  Members members(out);
  for (size_t i = 0; i < kHistoryFields; ++i) {
    members.Add(Name(static_cast<HistoryField>(i)), lately.values[i]);
  }
  members.Add("p90", history.LatelyLatency(0.9));
  members.Add("p999", history.LatelyLatency(0.999));
  members.Close();
}

void AppendHistory(std::string& out, const ModelHistory& history, bool minutes, int64_t since_ms) {
  const std::deque<HistoryPoint>& points = minutes ? history.minutes() : history.seconds();
  const auto from = std::find_if(points.begin(), points.end(),
                                 [&](const HistoryPoint& p) { return p.time_ms > since_ms; });
  const auto list = [&](Members& members, std::string_view name, const auto& append) {
    members.Name(name) += '[';
    for (auto point = from; point != points.end(); ++point) {
      if (point != from) out += ',';
      append(*point);
    }
    out += ']';
  };
  Members members(out);
  members.Add("distance_ms", minutes ? 60'000 : 1000);
  list(members, "time_ms", [&](const HistoryPoint& point) {
    fmt::format_to(std::back_inserter(out), "{}", point.time_ms);
  });
  for (size_t i = 0; i < kHistoryFields; ++i) {
    list(members, Name(static_cast<HistoryField>(i)),
         [&](const HistoryPoint& point) { AppendNumber(out, point.values[i]); });
  }
  members.Close();
}

}  // namespace

Overview::Overview(Gateway& gateway) : gateway_(gateway) {
  tick_ = gateway.EveryTick([this] {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = std::max(next_look_ + kLookEvery, now);
    Look(NowMs());
  });
}

void Overview::Look(int64_t now_ms) {
  std::vector<ModelMoment> moments;
  for (ModelStatus& model : gateway_.server().List()) {
    if (model.state != ModelState::kReady) continue;
    ModelMoment moment;
    moment.time_ms = now_ms;
    const Status found =
        gateway_.server().GetModelDetails(model.name, model.version, moment.details);
    if (!found.ok()) continue;  // it has just gone
    if (const auto learning = model.learns ? gateway_.server().FindLearning(model.name) : nullptr) {
      moment.learning = learning->status();
    }
    moment.status = std::move(model);
    moments.push_back(std::move(moment));
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(models_, [&](const auto& one) {
    return std::none_of(moments.begin(), moments.end(), [&](const ModelMoment& moment) {
      return moment.status.name == one.first.first && moment.status.version == one.first.second;
    });
  });
  for (const ModelMoment& moment : moments) {
    models_[{moment.status.name, moment.status.version}].Add(moment);
  }
}

std::string Overview::Write(std::string_view target) const {
  const bool minutes = QueryNumber(target, "minutes").value_or(0) != 0;
  const int64_t since_ms = QueryNumber(target, "since").value_or(0);
  const Server& server = gateway_.server();
  const ServerMetadata metadata = gateway_.Metadata();
  std::string out;
  Members all(out);
  Members about(all.Name("server"));
  about.Add("name", metadata.name);
  about.Add("version", metadata.version);
  about.Add("ready", server.Ready());
  about.Add("uptime_seconds",
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
  about.Add("memory_bytes", ResidentBytes());
  about.Add("time_ms", NowMs());
  about.Close();
  all.Name("models") += '[';
  bool first = true;
  for (const ModelStatus& model : server.List()) {
    if (!first) out += ',';
    first = false;
    Members members(out);
    members.Add("name", model.name);
    members.Add("version", model.version);
    members.Add("state", std::string_view(Name(model.state)));
    members.Add("reason", model.reason);
    members.Add("current", model.current);
    members.Add("learns", model.learns);
    members.Add("step", model.step);
    members.Add("requests", model.requests);
    members.Add("refused", model.refused);
    members.Add("failed", model.failed);
    members.Add("waiting_requests", model.waiting_requests);
    members.Add("lost_impressions", model.lost_impressions);
    members.Add("lenient_rows", model.lenient_rows);
    members.Name("learning");
    if (const auto learning = model.learns ? server.FindLearning(model.name) : nullptr) {
      out += WriteReply(learning->status(), learning->Commits());
    } else {
      out += "null";
    }
    const std::lock_guard lock(mutex_);
    const auto seen = models_.find({model.name, model.version});
    if (seen != models_.end()) {
      const ModelHistory& history = seen->second;
      members.Add("parameter_bytes", history.newest().details.parameter_bytes);
      AppendTables(members.Name("tables"), history.newest().details.tables);
      members.Add("measured_runs", history.newest().details.measured_runs);
      AppendLines(members.Name("lines"), history.newest().details.lines);
      AppendFeatures(members.Name("features"), history.newest().details.features);
      AppendLately(members.Name("lately"), history);
      AppendHistory(members.Name("history"), history, minutes, since_ms);
    }
    members.Close();
  }
  out += ']';
  all.Close();
  return out;
}

}  // namespace catamaran
