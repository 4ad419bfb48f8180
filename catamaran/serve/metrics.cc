#include "catamaran/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

bool IsName(std::string_view name, bool colons) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  });
}

// `quotes`: of a label's value, where a quotation mark needs a backslash too.
std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string LabelText(const Metrics::Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (!IsName(name, false) || name == "le") Fail("'{}' cannot name a label of a metric", name);
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, Escaped(value, true));
  }
  return text;
}

void AppendNumber(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else if (value == std::floor(value) && std::abs(value) < 1e15) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void AppendSample(std::string& out, std::string_view name, std::string_view labels, double value) {
  out += name;
  if (!labels.empty()) fmt::format_to(std::back_inserter(out), "{{{}}}", labels);
  out += ' ';
  AppendNumber(out, value);
  out += '\n';
}

void AppendHistogram(std::string& out, const std::string& name, const std::string& labels,
                     const Histogram& histogram) {
  uint64_t below = 0;
  const std::string_view comma = labels.empty() ? "" : ",";
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    below += histogram.count(i);
    std::string bound;
    AppendNumber(bound, i < histogram.bounds().size() ? histogram.bounds()[i] : INFINITY);
    AppendSample(out, name + "_bucket", fmt::format("{}{}le=\"{}\"", labels, comma, bound),
                 static_cast<double>(below));
  }
  AppendSample(out, name + "_sum", labels, histogram.sum());
  AppendSample(out, name + "_count", labels, static_cast<double>(below));
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {
  if (!std::is_sorted(bounds_.begin(), bounds_.end(), std::less_equal<>())) {
    Fail("the bounds of a histogram must rise");
  }
}

void Histogram::Observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<size_t>(bucket - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::span<const double> LatencyBounds() {
  static constexpr double kBounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                       0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
  return kBounds;
}

std::span<const double> CountBounds() {
  static constexpr double kBounds[] = {1,   2,    4,    8,    16,   32,    64,    128,  256,
                                       512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
  return kBounds;
}

Metrics::Series& Metrics::Find(const std::string& name, const std::string& help,
                               const Labels& labels, Kind kind) {
  if (!IsName(name, true)) Fail("'{}' cannot name a metric", name);
  Family& family = families_.try_emplace(name, Family{kind, help, {}}).first->second;
  if (family.kind != kind) Fail("metric {} is of another kind already", name);
  return family.series[LabelText(labels)];
}

namespace {

// The one that is held, or a new one.
template <class T, class... Args>
std::shared_ptr<T> Held(std::weak_ptr<T>& weak, const Args&... args) {
  std::shared_ptr<T> held = weak.lock();
  if (held == nullptr) weak = held = std::make_shared<T>(args...);
  return held;
}

}  // namespace

std::shared_ptr<Counter> Metrics::AddCounter(const std::string& name, const std::string& help,
                                             const Labels& labels) {
  const std::lock_guard lock(mutex_);
  return Held(Find(name, help, labels, Kind::kCounter).counter);
}

std::shared_ptr<Gauge> Metrics::AddGauge(const std::string& name, const std::string& help,
                                         const Labels& labels) {
  const std::lock_guard lock(mutex_);
  return Held(Find(name, help, labels, Kind::kGauge).gauge);
}

std::shared_ptr<Histogram> Metrics::AddHistogram(const std::string& name, const std::string& help,
                                                 const Labels& labels,
                                                 std::span<const double> bounds) {
  const std::lock_guard lock(mutex_);
  return Held(Find(name, help, labels, Kind::kHistogram).histogram, bounds);
}

std::shared_ptr<void> Metrics::AddGaugeFunction(const std::string& name, const std::string& help,
                                                const Labels& labels,
                                                std::function<double()> value) {
  return AddFunction(Kind::kGauge, name, help, labels, std::move(value));
}

std::shared_ptr<void> Metrics::AddCounterFunction(const std::string& name, const std::string& help,
                                                  const Labels& labels,
                                                  std::function<double()> value) {
  return AddFunction(Kind::kCounter, name, help, labels, std::move(value));
}

std::shared_ptr<void> Metrics::AddFunction(Kind kind, const std::string& name,
                                           const std::string& help, const Labels& labels,
                                           std::function<double()> value) {
  auto function = std::make_shared<Function>();
  function->value = std::move(value);
  const std::lock_guard lock(mutex_);
  Find(name, help, labels, kind).function = function;
  // Text may hold the function for a moment longer than its owner does.
  return std::shared_ptr<void>(function.get(), [function](void*) {
    const std::lock_guard call(function->mutex);
    function->value = nullptr;
  });
}

std::string Metrics::Text() const {
  std::string out;
  const std::lock_guard lock(mutex_);
  for (auto family = families_.begin(); family != families_.end();) {
    const auto& [name, facts] = *family;
    auto& series = family->second.series;
    std::string samples;
    for (auto it = series.begin(); it != series.end();) {
      const auto& [labels, one] = *it;
      if (const auto counter = one.counter.lock()) {
        AppendSample(samples, name, labels, static_cast<double>(counter->value()));
      } else if (const auto gauge = one.gauge.lock()) {
        AppendSample(samples, name, labels, gauge->value());
      } else if (const auto histogram = one.histogram.lock()) {
        AppendHistogram(samples, name, labels, *histogram);
      } else if (const auto function = one.function.lock()) {
        std::optional<double> value;
        {
          const std::lock_guard call(function->mutex);
          if (function->value) value = function->value();
        }
        if (value) AppendSample(samples, name, labels, *value);
      } else {
        it = series.erase(it);
        continue;
      }
      ++it;
    }
    if (series.empty()) {
      family = families_.erase(family);
      continue;
    }
    constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
    fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n", name,
                   Escaped(facts.help, false), kKinds[static_cast<int>(facts.kind)]);
    out += samples;
    ++family;
  }
  return out;
}

}  // namespace catamaran
