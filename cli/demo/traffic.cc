#include "cli/demo/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/start_thread.h"

namespace catamaran::cli {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kTryAgain = milliseconds(5);
constexpr auto kBetweenReports = milliseconds(10);
// Beyond this the world waits, rather than send all at once what it has missed.
constexpr auto kBehind = milliseconds(100);
constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

std::string ViewId(int64_t number) { return fmt::format("v{}", number); }

Traffic::Traffic(const Simulator& world, TrafficOptions options)
    : world_(world),
      options_(std::move(options)),
      next_view_(options_.first_view),
      zero_(steady_clock::now() - duration_cast<steady_clock::duration>(duration<double>(
                                      static_cast<double>(next_view_) / options_.rate))),
      taken_(steady_clock::now()) {
  try {
    for (int i = 0; i < options_.connections; ++i) {
      viewers_.push_back(
          StartThread("of a connection", [this] { Guarded([this] { ShowViews(); }); }));
    }
    reporter_ = StartThread("that reports clicks", [this] { Guarded([this] { ReportClicks(); }); });
  } catch (...) {
    ended_ = true;
    Join();
    throw;
  }
}

Traffic::~Traffic() {
  ended_ = true;
  Join();
}

void Traffic::Join() {
  views_ended_ = true;
  for (std::thread& viewer : viewers_) viewer.join();
  viewers_.clear();
  ended_ = true;
  if (reporter_.joinable()) reporter_.join();
}

void Traffic::Stop() {
  Join();
  const std::lock_guard lock(mutex_);
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void Traffic::WaitToTryAgain(steady_clock::time_point asked) const {
  do {
    if (steady_clock::now() - asked > kPatience) Fail("the service has not answered for a minute");
    std::this_thread::sleep_for(kTryAgain);
  } while (held_ && !ended());
}

template <class Body>
void Traffic::Guarded(Body body) {
  try {
    body();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = std::current_exception();
    ended_ = views_ended_ = true;
    changed_.notify_all();
  }
}

int64_t Traffic::Stamp(double time) const {
  return options_.zero_time_ns + static_cast<int64_t>(time * 1e9);
}

bool Traffic::NextView(int64_t& number) {
  steady_clock::time_point due;
  {
    const std::lock_guard lock(mutex_);
    number = next_view_++;
    due = zero_ + duration_cast<steady_clock::duration>(
                      duration<double>(static_cast<double>(number) / options_.rate));
    const auto late = steady_clock::now() - due;
    if (late > kBehind) zero_ += late;
  }
  while (!views_ended_ && steady_clock::now() < due) {
    std::this_thread::sleep_for(
        std::min<steady_clock::duration>(due - steady_clock::now(), milliseconds(50)));
  }
  return !views_ended_;
}

void Traffic::ShowViews() {
  ServiceClient client(options_.port, options_.model);
  FeedRequest request;
  int64_t number = 0;
  while (NextView(number)) {
    const auto asked = steady_clock::now();
    AnsweredView answered;
    answered.view = world_.View(number);
    request.id = ViewId(number);
    request.user = answered.view.user;
    request.group = answered.view.group;
    request.topics.clear();
    request.stories.clear();
    for (const Shown& shown : answered.view.shown) {
      request.topics.push_back(shown.topic);
      request.stories.push_back(shown.story);
    }
    request.time_ns = Stamp(answered.view.time);
    for (bool first_time = true;; first_time = false) {
      const auto begin = steady_clock::now();
      if (client.Infer(request, answered.probabilities)) {
        const double seconds = duration<double>(steady_clock::now() - begin).count();
        Answered(std::move(answered), seconds, first_time);
        break;
      }
      ++repeated_;
      if (ended()) return;
      WaitToTryAgain(asked);
    }
  }
}

void Traffic::Answered(AnsweredView answered, double seconds, bool first_time) {
  const std::lock_guard lock(mutex_);
  const PageView& view = answered.view;
  for (size_t row = 0; row < view.shown.size(); ++row) {
    const Shown& shown = view.shown[row];
    if (!shown.clicked) continue;
    clicks_.push({shown.click_time,
                  {ViewId(view.number), static_cast<int64_t>(row), Stamp(shown.click_time)}});
  }
  measures_.views.push_back(std::move(answered));
  if (first_time) measures_.seconds.push_back(seconds);
  ++answered_;
  changed_.notify_all();
}

void Traffic::ReportClicks() {
  ServiceClient client(options_.port, options_.model);
  std::vector<ClickReport> due;
  for (bool last = false; !last;) {
    last = ended();
    {
      const std::lock_guard lock(mutex_);
      const double now = world_.TimeOf(next_view_);
      while (!clicks_.empty() && clicks_.top().time <= now) {
        due.push_back(clicks_.top().report);
        clicks_.pop();
      }
    }
    const auto asked = steady_clock::now();
    while (!due.empty() && !client.Feedback(due)) {
      ++repeated_;
      if (last) return;
      last = ended();
      WaitToTryAgain(asked);
    }
    {
      const std::lock_guard lock(mutex_);
      for (ClickReport& click : due) acknowledged_.emplace_back(std::move(click.id), click.row);
    }
    due.clear();
    if (!last) std::this_thread::sleep_for(kBetweenReports);
  }
}

void Traffic::WaitForViews(int64_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answered_ >= count || problem_ || views_ended_; });
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

TrafficMeasures Traffic::Take() {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  TrafficMeasures taken = std::exchange(measures_, {});
  taken.duration = duration<double>(now - std::exchange(taken_, now)).count();
  std::sort(taken.seconds.begin(), taken.seconds.end());
  return taken;
}

std::vector<AnswerRow> Traffic::AcknowledgedClicks() const {
  const std::lock_guard lock(mutex_);
  return acknowledged_;
}

}  // namespace catamaran::cli
