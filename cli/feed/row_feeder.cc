#include "cli/feed/row_feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/suggest.h"
#include "cli/data/row_text.h"
#include "cli/session.h"

namespace catamaran::cli {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause(10), kLongestPause(500);

// The service is not there, has too much to do, or is starting or ending.
bool MayCallAgain(const HttpAnswer& answer) {
  return answer.status == 0 || answer.status == 429 || answer.status == 503;
}

}  // namespace

RowFeeder::RowFeeder(HttpConnection& connection, FeederOptions options)
    : connection_(connection), options_(std::move(options)) {}

void RowFeeder::Add(const RowBlock& block) {
  const Schema& schema = block.schema();
  if (columns_.empty()) FindColumns(schema);
  const int time = options_.time_column.empty() ? -1 : schema.Find(options_.time_column);
  for (int64_t r = 0; r < block.rows(); ++r) {
    // A request has one time.
    const int64_t time_ns =
        time < 0 ? 0 : block[time].ints[static_cast<size_t>(r)] * options_.time_unit_ns;
    if (waiting_ == options_.request_rows || (waiting_ > 0 && time_ns != time_ns_)) Send();
    time_ns_ = time_ns;
    Json row = Json::object();
    for (const int c : columns_) row[schema[c].name] = ValueJson(schema[c], block[c], r);
    if (waiting_ > 0) body_ += ',';
    body_ += row.dump(-1, ' ', false, Json::error_handler_t::replace);
    ++waiting_;
  }
}

void RowFeeder::FindColumns(const Schema& schema) {
  // A service that does not say what the model knows gets all of them.
  const std::string path = fmt::format("/v2/models/{}", options_.model);
  const auto last = Steady::now() + options_.patience;
  HttpAnswer answer = connection_.Get(path);
  for (auto pause = kFirstPause; MayCallAgain(answer) && Steady::now() < last;
       pause = std::min(pause * 2, kLongestPause)) {
    std::this_thread::sleep_for(pause);
    answer = connection_.Get(path);
  }
  Json model = Json::object();
  if (answer.status == 200) model = Json::parse(answer.body, nullptr, false);
  if (!model.is_object()) model = Json::object();
  const auto known = model.find("known_columns");
  std::vector<std::string_view> unknown;
  for (int c = 0; c < schema.size(); ++c) {
    const bool sent = known == model.end() || known->empty() ||
                      std::ranges::count(*known, Json(schema[c].name)) > 0;
    if (sent) {
      columns_.push_back(c);
    } else {
      unknown.push_back(schema[c].name);
    }
  }
  if (columns_.empty()) {
    Fail("{} knows none of the columns of the data, {}; it knows {}", options_.model,
         fmt::join(unknown, ", "), known->dump());
  }
  if (known == model.end()) return;
  for (const Json& name : *known) {
    if (!name.is_string() || schema.Find(name.get<std::string>()) >= 0) continue;
    const std::string near = Suggest(name.get<std::string>(), unknown);
    if (near.empty()) continue;
    lacking_ += fmt::format("; the data has no column '{}': did you mean it by '{}'?",
                            name.get<std::string>(), near);
  }
}

void RowFeeder::KeepPace(int64_t time_ns) const {
  double due = options_.rate > 0 ? static_cast<double>(sent_) / options_.rate : 0;
  if (options_.speed > 0 && timed_) {
    due = std::max(due, static_cast<double>(time_ns - first_time_ns_) * 1e-9 / options_.speed);
  }
  std::this_thread::sleep_until(
      begin_ + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(due)));
}

void RowFeeder::Send() {
  if (!options_.time_column.empty() && !timed_) {
    first_time_ns_ = time_ns_;
    timed_ = true;
  }
  KeepPace(time_ns_);
  const std::string key = fmt::format("feed {} {} {:016x}", options_.key, sent_, HashString(body_));
  std::string body = fmt::format(R"({{"idempotency_key":{},)", Json(key).dump());
  if (timed_) body += fmt::format(R"("event_time_ns":{},)", time_ns_);
  body += fmt::format(R"("rows":[{}]}})", body_);
  const Json reply = Call(fmt::format("/v1/models/{}/train", options_.model), body);
  log_offset_ = reply.value("log_offset", uint64_t{0});
  sent_ += waiting_;
  body_.clear();
  waiting_ = 0;
}

Json RowFeeder::Call(const std::string& path, const std::string& body) {
  const auto last = Steady::now() + options_.patience;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    const HttpAnswer answer = body.empty() ? connection_.Get(path) : connection_.Post(path, body);
    if (answer.status == 200) {
      Json parsed = Json::parse(answer.body, nullptr, false);
      if (!parsed.is_object()) Fail("{}: the service's answer is no JSON object", path);
      return parsed;
    }
    if (!MayCallAgain(answer) || Steady::now() > last) Refused(answer);
    ++repeated_;
    std::this_thread::sleep_for(pause);
  }
}

void RowFeeder::Refused(const HttpAnswer& answer) const {
  const std::string before = fmt::format("{} rows were taken before", sent_);
  if (answer.status == 0) {
    throw CommandError(kEnvironment, fmt::format("{}; {}", answer.problem, before));
  }
  const Json parsed = Json::parse(answer.body, nullptr, false);
  const std::string message = parsed.is_object() ? parsed.value("error", answer.body) : answer.body;
  if (MayCallAgain(answer)) {
    throw CommandError(kEnvironment,
                       fmt::format("the service takes no rows: {}; {}", message, before));
  }
  if (waiting_ == 0) Fail("the service answers {}: {}", answer.status, message);
  Fail("the service refuses rows {} to {}, none of which is learned from: {}{}", sent_,
       sent_ + waiting_ - 1, message, lacking_);
}

Json RowFeeder::Finish() {
  if (waiting_ > 0) Send();
  const std::string path = fmt::format("/v1/models/{}/learning", options_.model);
  const auto last = Steady::now() + options_.patience;
  while (true) {
    Json status = Call(path, "");
    const bool done = status.value("log_consumed", uint64_t{0}) >= log_offset_ &&
                      status.value("waiting_examples", int64_t{0}) == 0;
    if (done || status.value("paused", false) || !status.value("running", true) ||
        Steady::now() > last) {
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace catamaran::cli
