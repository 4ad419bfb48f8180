// serve/metrics.h
//
// What the service counts, for Prometheus: counters, gauges and histograms by name and labels, and
// the text that is scraped. Names begin with catamaran_, are in base units (seconds, bytes) and end
// as Prometheus has it: catamaran_requests_total, catamaran_request_seconds.
//
// A series is in the text as long as someone holds it: a model that is unloaded takes its own
// along. Asking for a name with the same labels again gives the same series, while it is held.
//
// Thread safety: all methods may be called concurrently. Counting takes no lock; making a series
// and Text do.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catamaran {

class Counter {
 public:
  void Add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  // Upper bounds of the buckets, rising; one more, without a bound, is behind them.
  explicit Histogram(std::span<const double> bounds);

  void Observe(double value);

  std::span<const double> bounds() const { return bounds_; }
  // Of bucket i alone. REQUIRES: i <= bounds().size().
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

// From a tenth of a millisecond to ten seconds: how long requests take.
std::span<const double> LatencyBounds();
// Powers of two from 1 to 65536: how many there are of something.
std::span<const double> CountBounds();

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // An Error if the name or a label's name is none, or if the name is in use for something else.
  std::shared_ptr<Counter> AddCounter(const std::string& name, const std::string& help,
                                      const Labels& labels = {});
  std::shared_ptr<Gauge> AddGauge(const std::string& name, const std::string& help,
                                  const Labels& labels = {});
  std::shared_ptr<Histogram> AddHistogram(const std::string& name, const std::string& help,
                                          const Labels& labels = {},
                                          std::span<const double> bounds = LatencyBounds());

  // A gauge or a counter that is asked for its value when the text is made. `value` is not called
  // any more once the returned object is gone; it must not call this Metrics.
  std::shared_ptr<void> AddGaugeFunction(const std::string& name, const std::string& help,
                                         const Labels& labels, std::function<double()> value);
  std::shared_ptr<void> AddCounterFunction(const std::string& name, const std::string& help,
                                           const Labels& labels, std::function<double()> value);

  // Everything, in Prometheus' text format (version 0.0.4), by name.
  std::string Text() const;

 private:
  enum class Kind : uint8_t { kCounter, kGauge, kHistogram };
  struct Function {
    std::mutex mutex;  // held while it is called, so that it is not once its owner is gone
    std::function<double()> value;
  };
  struct Series {
    std::weak_ptr<Counter> counter;
    std::weak_ptr<Gauge> gauge;
    std::weak_ptr<Histogram> histogram;
    std::weak_ptr<Function> function;
  };
  struct Family {
    Kind kind;
    std::string help;
    std::map<std::string, Series> series;  // by labels, as they are printed
  };

  Series& Find(const std::string& name, const std::string& help, const Labels& labels, Kind kind);
  std::shared_ptr<void> AddFunction(Kind kind, const std::string& name, const std::string& help,
                                    const Labels& labels, std::function<double()> value);

  mutable std::mutex mutex_;
  mutable std::map<std::string, Family> families_;
};

}  // namespace catamaran
