// cli/demo/traffic.h
//
// The people of the simulator, who come to a real service over several connections, look at what
// they are shown, and click, some late.
//
// The world's clock is that of its views: view n is at n / rate, and is sent when that time has
// come. While the service is slow or away, the world waits for it: a call that was not answered is
// made again, with the same id, until it is. Clicks are reported when the world has come to their
// time.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "cli/demo/log_audit.h"
#include "cli/demo/service_client.h"
#include "cli/demo/simulator.h"

namespace catamaran::cli {

struct TrafficOptions {
  int port = 0;
  std::string model;
  int connections = 4;
  double rate = 300;  // views in a real second
  int64_t first_view = 0;
  int64_t zero_time_ns = 0;  // when the world's time is 0
};

// A view and what the service said of its stories.
struct AnsweredView {
  PageView view;
  std::vector<float> probabilities;
};

// What was measured since the last time it was taken.
struct TrafficMeasures {
  std::vector<AnsweredView> views;
  std::vector<double> seconds;  // of calls that were answered the first time; sorted
  double duration = 0;          // real seconds
};

class Traffic {
 public:
  Traffic(const Simulator& world, TrafficOptions options);
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Returns when so many views have been answered. An Error if the service refused a call.
  void WaitForViews(int64_t count);
  // Calls that get no answer are not made again until Resume: nobody knocks at the door of a
  // service that is not there.
  void Hold() { held_ = true; }
  void Resume() { held_ = false; }
  // No more views; those under way are answered, and the clicks that were due are reported.
  void Stop();

  TrafficMeasures Take();
  // Clicks that the service has said it has.
  std::vector<AnswerRow> AcknowledgedClicks() const;
  int64_t repeated_calls() const { return repeated_; }

 private:
  struct Click {
    double time = 0;
    ClickReport report;
    bool operator>(const Click& other) const { return time > other.time; }
  };

  // The next view to send, at its time; false: no more.
  bool NextView(int64_t& number);
  void ShowViews();
  void ReportClicks();
  template <class Body>
  void Guarded(Body body);
  void Answered(AnsweredView answered, double seconds, bool first_time);
  // Before a call that was first made at `asked` is made again.
  void WaitToTryAgain(std::chrono::steady_clock::time_point asked) const;
  void Join();
  int64_t Stamp(double time) const;
  bool ended() const { return ended_.load(std::memory_order_relaxed); }

  const Simulator& world_;
  const TrafficOptions options_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> views_ended_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<int64_t> repeated_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_view_ = 0, answered_ = 0;
  std::chrono::steady_clock::time_point zero_;  // when view 0 would have been sent
  std::chrono::steady_clock::time_point taken_;
  TrafficMeasures measures_;
  std::priority_queue<Click, std::vector<Click>, std::greater<>> clicks_;
  std::vector<AnswerRow> acknowledged_;
  std::exception_ptr problem_;

  std::vector<std::thread> viewers_;
  std::thread reporter_;
};

// "v7": the id of a view's request.
std::string ViewId(int64_t number);

}  // namespace catamaran::cli
