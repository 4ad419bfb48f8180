// cli/table/words.cc

#include "cli/table/words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>

namespace catamaran::cli {
namespace {

std::string InitText(const TableInit& init) {
  switch (init.kind) {
    case TableInit::Kind::kZeros:
      return "zeros";
    case TableInit::Kind::kConstant:
      return fmt::format("{}", init.a);
    case TableInit::Kind::kUniform:
      return fmt::format("uniform({}, {})", init.a, init.b);
    case TableInit::Kind::kNormal:
      return fmt::format("normal(std={})", init.a);
  }
  return {};
}

std::string AdmitText(const TableAdmit& admit) {
  switch (admit.kind) {
    case TableAdmit::Kind::kNone:
      return "every key";
    case TableAdmit::Kind::kCount:
      return fmt::format("from occurrence {} on{}", admit.count,
                         admit.time_to_live > 0
                             ? ", forgotten after " + DurationText(admit.time_to_live) + " unseen"
                             : "");
    case TableAdmit::Kind::kProbability:
      return fmt::format("with probability {} a step", admit.probability);
    case TableAdmit::Kind::kSketch:
      return fmt::format("from occurrence {} on, by a sketch of {}{}", admit.count,
                         BytesText(static_cast<uint64_t>(admit.sketch_bytes)),
                         admit.window > 0 ? " over " + DurationText(admit.window) : "");
  }
  return {};
}

std::string ExpireText(const TableExpire& expire) {
  std::vector<std::string> parts;
  if (expire.unseen > 0) parts.push_back("unseen for " + DurationText(expire.unseen));
  if (expire.min_score) parts.push_back(fmt::format("score below {}", *expire.min_score));
  if (expire.max_bytes > 0) {
    parts.push_back("the worst beyond " + BytesText(static_cast<uint64_t>(expire.max_bytes)));
  }
  return parts.empty() ? "never" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string ScoreText(const TableScore& score) {
  return fmt::format("{} * (shows - clicks) + {} * clicks{}", score.show_weight, score.click_weight,
                     score.half_life > 0 ? ", halved every " + DurationText(score.half_life) : "");
}

}  // namespace

std::string WithCommas(int64_t n) {
  std::string digits = std::to_string(n);
  const size_t first = n < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string CountText(int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", WithCommas(n), what, n == 1 ? "" : "s");
}

std::string BytesText(uint64_t n) {
  if (n < 1000) return fmt::format("{} bytes", n);
  double value = static_cast<double>(n);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.3g} {}", value, unit);
}

std::string TimeText(int64_t nanoseconds) {
  if (nanoseconds == 0) return "never";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(static_cast<std::time_t>(nanoseconds / kNanosecondsPerSecond)));
}

std::string DurationText(int64_t nanoseconds) {
  struct Unit {
    int64_t seconds;
    const char* name;
  };
  const int64_t seconds = nanoseconds / kNanosecondsPerSecond;
  for (const Unit unit : {Unit{86400, "day"}, {3600, "hour"}, {60, "minute"}}) {
    if (seconds >= unit.seconds && seconds % unit.seconds == 0) {
      const int64_t count = seconds / unit.seconds;
      return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
    }
  }
  return fmt::format("{} s", static_cast<double>(nanoseconds) * 1e-9);
}

std::string NumbersText(std::span<const float> numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

Json NumberJson(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

Json NumbersJson(std::span<const float> numbers) {
  Json array = Json::array();
  for (const float number : numbers) array.push_back(NumberJson(static_cast<double>(number)));
  return array;
}

std::string_view StoreName(RowStore store) {
  switch (store) {
    case RowStore::kF32:
      return "f32";
    case RowStore::kBf16:
      return "bf16";
    case RowStore::kInt8:
      return "int8";
  }
  return {};
}

std::string OptimizerText(const TableConfig& config) {
  if (!config.optimizer) return "none";
  const Optimizer& optimizer = *config.optimizer;
  const OptimizerFact& fact = optimizer.fact();
  std::string text = fmt::format("{}(lr={}", fact.name, optimizer.lr);
  for (const HyperFact& hyper : fact.hypers) {
    const double value = HyperOf(optimizer, hyper.name);
    if (value == hyper.default_value) continue;
    text += hyper.flag ? fmt::format(", {}={}", hyper.name, value != 0)
                       : fmt::format(", {}={}", hyper.name, value);
  }
  return text + ")";
}

std::vector<Setting> SettingsOf(const TableConfig& config) {
  std::vector<Setting> settings;
  settings.push_back({"begins as", InitText(config.init)});
  settings.push_back({"admits", AdmitText(config.admit)});
  settings.push_back({"else reads", std::string(UnadmittedText(config.unadmitted))});
  settings.push_back({"expires", ExpireText(config.expire)});
  settings.push_back({"score", ScoreText(config.score)});
  if (config.grow_at) settings.push_back({"grows", fmt::format("at score {}", *config.grow_at)});
  return settings;
}

std::string_view UnadmittedText(Unadmitted unadmitted) {
  switch (unadmitted) {
    case Unadmitted::kInit:
      return "its initial value";
    case Unadmitted::kZeros:
      return "zeros";
    case Unadmitted::kShared:
      return "the shared row";
  }
  return {};
}

}  // namespace catamaran::cli
