#include "cli/train/train_display.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/table/words.h"
#include "cli/train/commands.h"

namespace catamaran::cli {
namespace {

constexpr int kBar = 20;
constexpr auto kLiveInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);

double Seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

// "1:02:03", "4:05"
std::string ClockText(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string MetricsText(const MetricValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format("  {} {}", name, MetricText(value));
  return text;
}

}  // namespace

TrainDisplay::TrainDisplay(Trainer& trainer, Style style, int64_t total_epochs, bool quiet)
    : trainer_(trainer),
      style_(style),
      epochs_(total_epochs),
      quiet_(quiet),
      live_(!quiet && IsTerminal(stderr)) {
  TrainHooks& hooks = trainer.hooks();
  hooks.after_step = [this](TrainStep& step) { ShowStep(step); };
  hooks.validating = [this](int64_t rows) { ShowValidating(rows); };
  hooks.after_validation = [this](const Validation& v) { ShowValidation(v); };
  hooks.after_window = [this](const OnlineWindow& w) { ShowWindow(w); };
  hooks.warning = [this](const std::string& text) {
    ClearLine();
    fmt::print(stderr, "warning: {}\n", text);
  };
}

void TrainDisplay::ClearLine() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

void TrainDisplay::Line(const std::string& text) {
  if (quiet_) return;
  ClearLine();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

double TrainDisplay::Part() const {
  const TrainCounters& counters = trainer_.counters();
  const TrainerOptions& options = trainer_.options();
  double part = -1;
  if (options.max_steps.value_or(0) > 0) {
    part = static_cast<double>(counters.batches) / static_cast<double>(*options.max_steps);
  }
  if (trainer_.rows_per_epoch() && epochs_ > 0) {
    const double all =
        static_cast<double>(*trainer_.rows_per_epoch()) * static_cast<double>(epochs_);
    part = std::max(part, static_cast<double>(counters.rows) / std::max(1.0, all));
  }
  return std::min(part, 1.0);
}

std::string TrainDisplay::ProgressText() {
  const TrainCounters& counters = trainer_.counters();
  const auto now = Clock::now();
  const double passed = Seconds(now - rate_at_);
  if (passed > 0) {
    const double rate = static_cast<double>(counters.rows - rate_rows_) / passed;
    rate_ = rate_ == 0 ? rate : 0.8 * rate_ + 0.2 * rate;
  }
  rate_at_ = now;
  rate_rows_ = counters.rows;
  std::string text =
      fmt::format("step {}  epoch {}", WithCommas(counters.batches), counters.epoch + 1);
  if (epochs_ > 0) text += fmt::format("/{}", epochs_);
  const double part = Part();
  if (part >= 0) {
    const int full = static_cast<int>(part * kBar);
    text += fmt::format("  [{:=<{}}{:{}}] {:3.0f} %", "", full, "", kBar - full, 100 * part);
  }
  text += fmt::format("  {} rows/s", WithCommas(static_cast<int64_t>(rate_)));
  const double done = part - start_part_;
  if (part >= 0 && done > 0.005) {
    text += fmt::format("  {} left", ClockText(Seconds(now - start_) / done * (1 - part)));
  }
  for (size_t k = 0; k < trainer_.result_names().size(); ++k) {
    const double value = trainer_.recent_average(k);
    if (value != value) continue;
    text += fmt::format("  {} {}", trainer_.result_names()[k], MetricText(value));
  }
  if (counters.refused > 0) text += fmt::format("  refused {}", counters.refused);
  if (counters.unwritten > 0) text += fmt::format("  unwritten {}", counters.unwritten);
  return text;
}

void TrainDisplay::ShowStep(const TrainStep& step) {
  if (quiet_) return;
  if (step.status.refused && trainer_.counters().refused_in_a_row == 1) {
    Line(fmt::format("step {} was refused, and nothing was learned: {}", step.number,
                     step.status.why));
  }
  const auto now = Clock::now();
  if (now < next_) return;
  if (next_ == start_ && !live_) {
    next_ = now + kPlainInterval;
    return;
  }
  next_ = now + (live_ ? std::chrono::nanoseconds(kLiveInterval)
                       : std::chrono::nanoseconds(kPlainInterval));
  if (!live_) {
    Line(ProgressText());
    return;
  }
  fmt::print(stderr, "\r{}\x1b[K", ProgressText());
  std::fflush(stderr);
  shown_ = true;
}

void TrainDisplay::ShowValidating(int64_t rows) {
  if (!live_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kLiveInterval;
  const auto total = trainer_.validation_rows();
  fmt::print(stderr, "\rvalidating  {}{} rows\x1b[K", WithCommas(rows),
             total ? " of " + WithCommas(*total) : "");
  std::fflush(stderr);
  shown_ = true;
}

void TrainDisplay::ShowValidation(const Validation& v) {
  Line(fmt::format("step {}  epoch {}  valid{}{}", WithCommas(v.step), v.epoch + 1,
                   MetricsText(v.values), v.best ? "  best so far" : ""));
  rate_at_ = Clock::now();
  rate_rows_ = trainer_.counters().rows;
}

void TrainDisplay::ShowWindow(const OnlineWindow& w) {
  Line(fmt::format("step {}  {} rows{}{}", WithCommas(w.step), WithCommas(w.rows),
                   w.event_time == 0 ? "" : "  until " + TimeText(w.event_time),
                   MetricsText(w.values)));
}

void TrainDisplay::ShowStart() {
  start_part_ = std::max(0.0, Part());
  rate_rows_ = trainer_.counters().rows;
  rate_at_ = start_ = next_ = Clock::now();
  for (const std::string& warning : trainer_.load_warnings()) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  if (quiet_) return;
  const TrainerOptions& options = trainer_.options();
  State& state = trainer_.state();
  int64_t params = 0, numbers = 0, others = 0;
  std::vector<std::string> tables;
  for (size_t i = 0; i < state.size(); ++i) {
    const StateInfo info = state.info(i);
    if (info.kind == StateKind::kTable) {
      tables.push_back(fmt::format("@{} ({} of {} numbers)", info.name,
                                   CountText(state.table(info.name).size(), "row"),
                                   info.shape.num_elements()));
    } else if (info.kind == StateKind::kParam) {
      ++params;
      numbers += info.shape.num_elements();
    } else {
      others += info.shape.num_elements();
    }
  }
  const auto rows_of = [](std::optional<int64_t> rows) {
    return rows ? ", " + CountText(*rows, "row") : std::string();
  };
  fmt::print("{}\n", style_.Bold("Training " + trainer_.program().name));
  fmt::print(
      "  data        {}{}{}\n", NameOf(options.data), rows_of(trainer_.rows_per_epoch()),
      options.data.pipeline.shuffle_window > 0
          ? fmt::format(", shuffled within {}", WithCommas(options.data.pipeline.shuffle_window))
          : ", in order");
  fmt::print("  batches     {} rows, {}\n", WithCommas(options.data.pipeline.batch_rows),
             epochs_ == 0 ? "without end" : CountText(epochs_, "epoch"));
  if (options.valid) {
    fmt::print("  validation  {}{}\n", NameOf(*options.valid), rows_of(trainer_.validation_rows()));
  }
  fmt::print("  parameters  {} in {}; {} numbers beside them (slots, counters)\n",
             WithCommas(numbers), CountText(params, "param"), WithCommas(others));
  for (const std::string& table : tables) fmt::print("  table       {}\n", table);
  size_t width = 0;
  for (const BoundArgument& a : trainer_.binding().arguments()) {
    width = std::max(width, a.ArgumentText().size());
  }
  for (const BoundArgument& a : trainer_.binding().arguments()) {
    fmt::print("  argument    {:<{}}  from {}\n", a.ArgumentText(), width,
               a.SourceText(trainer_.binding().schema()));
  }
  if (!options.out.empty()) {
    fmt::print("  kept in     {}{}\n", options.out,
               trainer_.resumed_from() > 0
                   ? fmt::format(", going on from commit {} at step {}", trainer_.resumed_from(),
                                 WithCommas(trainer_.counters().batches))
                   : "");
  }
  std::fflush(stdout);
}

void TrainDisplay::ShowEnd(const TrainSummary& summary) {
  ClearLine();
  const TrainCounters& c = summary.counters;
  const double passed = std::max(1e-9, c.seconds);
  const char* how = summary.end == TrainEnd::kDone ? "Done"
                    : summary.end == TrainEnd::kEarly
                        ? "Ended early: no better validation for a while"
                        : "Stopped";
  fmt::print("{}: {} steps, {} in {} ({} rows/s)\n", style_.Bold(how), WithCommas(c.batches),
             CountText(c.rows, "row"), ClockText(passed),
             WithCommas(static_cast<int64_t>(static_cast<double>(c.rows) / passed)));
  if (c.refused > 0) fmt::print("  refused     {} by a guard\n", CountText(c.refused, "step"));
  if (c.unwritten > 0) {
    fmt::print("  unwritten   {} of rows and parameters, since the next value is not finite\n",
               CountText(c.unwritten, "update"));
  }
  if (summary.data.bad_rows > 0) {
    fmt::print("  bad rows    {} skipped\n", WithCommas(summary.data.bad_rows));
  }
  if (summary.last_validation) {
    fmt::print("  last       {}\n", MetricsText(summary.last_validation->values));
  }
  if (!std::isnan(c.best.value) && !summary.best_metric.empty()) {
    fmt::print("  best        {} {} at step {}\n", summary.best_metric, MetricText(c.best.value),
               WithCommas(c.best.step));
  }
  std::fflush(stdout);
}

}  // namespace catamaran::cli
