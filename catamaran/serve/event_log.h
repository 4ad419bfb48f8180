// serve/event_log.h
//
// What the service tells those who run it: one line an event, as JSON or as text, with the time,
// how grave it is, what happened, the model that it happened to, and fields. docs/serving.md lists
// the events.
//
//   log.Write(LogLevel::kInfo, "commit", "ctr", {{"commit", 7}, {"step", 4000}});
//
//   {"time":"2026-03-01T12:00:00.250Z","level":"info","event":"commit","model":"ctr","commit":7,"step":4000}
//   2026-03-01T12:00:00.250Z info commit model=ctr commit=7 step=4000
//
// What callers can bring about as often as they like is written by WriteLimited: so many lines a
// minute of an event of a model, and then how many were left out.
//
// Thread safety: all methods may be called concurrently. A line is written as a whole.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "catamaran/base/clock.h"

namespace catamaran {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };
// "debug", "info", "warning", "error", "off".
std::string_view Name(LogLevel level);
enum class LogFormat : uint8_t { kText, kJson };

struct EventField {
  using Value = std::variant<std::string, int64_t, double, bool>;

  template <class T>
  EventField(std::string_view field, const T& is) : name(field) {
    if constexpr (std::is_same_v<T, bool>) {
      value = is;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<int64_t>(is);
    } else if constexpr (std::is_floating_point_v<T>) {
      value = double{is};
    } else {
      value = std::string(is);
    }
  }

  std::string_view name;
  Value value;
};

class EventLog {
 public:
  using Sink = std::function<void(LogLevel level, std::string_view line)>;
  using Fields = std::initializer_list<EventField>;

  // Events below `least` are left out. `clock` is one of the real time, and outlives it.
  EventLog(LogFormat format, LogLevel least, Sink sink, const Clock& clock = RealClock());

  bool Wants(LogLevel level) const { return level >= least_ && level != LogLevel::kOff; }

  // An empty model: it happened to none.
  void Write(LogLevel level, std::string_view event, std::string_view model, Fields fields);
  void WriteLimited(LogLevel level, std::string_view event, std::string_view model, Fields fields);

  static constexpr int kLinesAMinute = 10;

 private:
  struct Minute {
    int64_t number = -1;
    int64_t lines = 0;
  };
  std::string Line(LogLevel level, std::string_view event, std::string_view model, Fields fields,
                   int64_t left_out, int64_t now) const;

  const LogFormat format_;
  const LogLevel least_;
  const Sink sink_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Minute, std::less<>> minutes_;  // event, model
};

// Lines of stderr, unbuffered.
EventLog::Sink StderrSink();
// For who has none.
EventLog& NoEventLog();

}  // namespace catamaran
