// serve/event_log.cc

#include "catamaran/serve/event_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "catamaran/base/json_text.h"
#include "catamaran/data/text/utf8.h"

namespace catamaran {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr size_t kMaxLimited = 1024;  // events of models that are remembered

// What others wrote may be anything: bytes that are not UTF-8 become question marks.
void AppendQuoted(std::string& out, std::string_view text) {
  std::string clean(text);
  for (size_t bad = FindBadUtf8(clean); bad < clean.size(); bad = FindBadUtf8(clean)) {
    clean[bad] = '?';
  }
  AppendJsonQuoted(out, clean);
}

std::string TimeText(int64_t now) {
  const auto seconds = static_cast<std::time_t>(now / kSecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds),
                     now % kSecond / 1'000'000);
}

bool IsPlainWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '=' && c != '\\';
  });
}

void AppendValue(std::string& out, const EventField::Value& value, LogFormat format) {
  std::visit(
      [&](const auto& is) {
        using T = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (format == LogFormat::kText && IsPlainWord(is)) {
            out += is;
          } else {
            AppendQuoted(out, is);
          }
        } else if constexpr (std::is_same_v<T, double>) {
          if (std::isfinite(is)) {
            fmt::format_to(std::back_inserter(out), "{:.6g}", is);
          } else {
            out += "null";
          }
        } else {
          fmt::format_to(std::back_inserter(out), "{}", is);
        }
      },
      value);
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

}  // namespace

std::string_view Name(LogLevel level) {
  static constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
  return kNames[static_cast<size_t>(level)];
}

EventLog::EventLog(LogFormat format, LogLevel least, Sink sink, const Clock& clock)
    : format_(format), least_(least), sink_(std::move(sink)), clock_(clock) {}

std::string EventLog::Line(LogLevel level, std::string_view event, std::string_view model,
                           Fields fields, int64_t left_out, int64_t now) const {
  const bool json = format_ == LogFormat::kJson;
  const std::string time = TimeText(now);
  std::string line =
      json ? fmt::format(R"({{"time":"{}","level":"{}","event":"{}")", time, Name(level), event)
           : fmt::format("{} {} {}", time, Name(level), event);
  const auto add = [&](const EventField& field) {
    line += json ? ",\"" : " ";
    line += field.name;
    line += json ? "\":" : "=";
    AppendValue(line, field.value, format_);
  };
  if (!model.empty()) add({"model", model});
  for (const EventField& field : fields) add(field);
  if (left_out > 0) add({"left_out", left_out});
  if (json) line += '}';
  return line;
}

void EventLog::Write(LogLevel level, std::string_view event, std::string_view model,
                     Fields fields) {
  if (Wants(level)) sink_(level, Line(level, event, model, fields, 0, clock_.Now()));
}

void EventLog::WriteLimited(LogLevel level, std::string_view event, std::string_view model,
                            Fields fields) {
  if (!Wants(level)) return;
  const int64_t now = clock_.Now();
  int64_t left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    if (minutes_.size() > kMaxLimited) minutes_.clear();
    Minute& minute = minutes_[{std::string(event), std::string(model)}];
    if (minute.number != now / kMinute) {
      left_out = std::max<int64_t>(0, minute.lines - kLinesAMinute);
      minute = {now / kMinute, 0};
    }
    if (++minute.lines > kLinesAMinute) return;
  }
  sink_(level, Line(level, event, model, fields, left_out, now));
}

EventLog::Sink StderrSink() {
  const auto logger = std::make_shared<spdlog::logger>(
      "catamaran", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::trace);
  logger->set_pattern("%v");
  logger->flush_on(spdlog::level::trace);
  return [logger](LogLevel level, std::string_view line) {
    logger->log(SpdlogLevel(level), "{}", line);
  };
}

EventLog& NoEventLog() {
  static EventLog none(LogFormat::kText, LogLevel::kOff, [](LogLevel, std::string_view) {});
  return none;
}

}  // namespace catamaran
