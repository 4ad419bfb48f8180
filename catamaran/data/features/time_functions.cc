// Times and their parts. A time is a number: seconds since 1970-01-01 00:00 UTC.

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "catamaran/data/features/standard_functions.h"
#include "catamaran/data/features/time_text.h"
#include "catamaran/data/text/csv_dialect.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// "+01:00" as seconds ahead of UTC.
double ZoneOf(FeatureCall& call) {
  const std::string zone = call.Text("zone", "+00:00");
  double at_zero = 0;
  if ((zone[0] != '+' && zone[0] != '-') || !ParseTime("1970-01-01 00:00" + zone, 0, &at_zero)) {
    call.Fail(
        fmt::format("zone is {}, wanted an offset from UTC such as \"+01:00\"", QuotedText(zone)));
  }
  return -at_zero;
}

// Calls f(row, seconds) for each row; texts without an offset are in the zone.
template <class F>
void ForEachTime(const FeatureArgs& args, bool text, double zone, F f) {
  for (int64_t r = 0; r < args.rows; ++r) {
    double seconds = kMissing;
    const auto i = static_cast<size_t>(r);
    if (!text) {
      seconds = args[0].numbers[i];
    } else if (!IsMissing(args[0].texts[i], {}) && !ParseTime(args[0].texts[i], zone, &seconds)) {
      args.FailRow(r, fmt::format("found {}, wanted a time as 2022-01-31 or 2022-01-31 07:05:59",
                                  Shown(args[0].texts[i])));
    }
    f(std::fabs(seconds) < 1e15 ? seconds : kMissing);
  }
}

bool TakesText(FeatureCall& call) {
  call.NeedValues(1);
  if (call.type(0).kind == ValueKind::kText) return true;
  call.NeedNumber(0);
  if (!call.type(0).is_single()) call.Fail("wanted a single time");
  return false;
}

FeatureKernel BindTime(FeatureCall& call) {
  const double zone = ZoneOf(call);
  const bool text = TakesText(call);
  return {{ValueKind::kNumber, {}}, [=](const FeatureArgs& args, FeatureValues& out) {
            ForEachTime(args, text, zone, [&](double seconds) { out.numbers.push_back(seconds); });
          }};
}

template <class F>
void AddPart(FeatureFunctionSet& functions, const char* name, const char* about, F part) {
  functions.Add({.name = name,
                 .usage = fmt::format("{}(time, zone=\"+00:00\")", name),
                 .about = about,
                 .bind = [part](FeatureCall& call) -> FeatureKernel {
                   const double zone = ZoneOf(call);
                   const bool text = TakesText(call);
                   return {{ValueKind::kNumber, {}},
                           [=](const FeatureArgs& args, FeatureValues& out) {
                             ForEachTime(args, text, zone, [&](double seconds) {
                               out.numbers.push_back(
                                   std::isnan(seconds)
                                       ? kMissing
                                       : static_cast<double>(part(ToCalendar(seconds + zone))));
                             });
                           }};
                 }});
}

}  // namespace

void AddTimeFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "time",
                 .usage = "time(text, zone=\"+00:00\")",
                 .about = "seconds since 1970 UTC; text without an offset is in the zone, and what "
                          "is no time is an error",
                 .bind = BindTime});
  using Time = const CalendarTime&;
  AddPart(functions, "year", "of a time or of text", [](Time t) { return t.year; });
  AddPart(functions, "month", "1 to 12", [](Time t) { return t.month; });
  AddPart(functions, "day", "of the month, 1 to 31", [](Time t) { return t.day; });
  AddPart(functions, "day_of_year", "1 to 366", [](Time t) { return t.day_of_year; });
  AddPart(functions, "weekday", "0, Monday, to 6, Sunday", [](Time t) { return t.weekday; });
  AddPart(functions, "hour", "0 to 23", [](Time t) { return t.hour; });
  AddPart(functions, "minute", "0 to 59", [](Time t) { return t.minute; });
  AddPart(functions, "second", "0 to 59", [](Time t) { return t.second; });
}

}  // namespace catamaran
