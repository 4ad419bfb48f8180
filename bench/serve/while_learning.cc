// Latency of answers at a fixed load, while the service learns as fast as it can and while it does
// not; and how much of its rate learning keeps.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/serve/learning_cases.h"
#include "bench/serve/learning_server.h"
#include "bench/serve/load.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr double kWarmSeconds = 1, kMaximumSeconds = 2, kSeconds = 6, kAloneSeconds = 4;
constexpr double kShareOfMaximum = 0.25;
constexpr int64_t kRowsARequest = 1024;
constexpr int64_t kFirstBacklog = 400'000;  // examples, for a second

class WhileLearning final : public Case {
 public:
  explicit WhileLearning(int64_t rows)
      : model_(WithRows("deepfm", rows)),
        // All that is learned from waits in the log; commits would be one more thing at work.
        server_(model_, {"commit_every=0"}),
        examples_(model_, kRowsARequest),
        load_({.wire = LoadTarget::Wire::kGrpc, .port = server_.grpc_port()},
              SingleRows(model_, 4096)) {
    server_.client().Pause();
    load_.Closed(kWarmSeconds);
    maximum_ = load_.Closed(kMaximumSeconds).Rate();
    FillUp();
    // Sizes of batches are prepared for when they first come.
    backlog_ = std::max(kFirstBacklog, static_cast<int64_t>(2 * kSeconds * Learn(1)));
  }

  Measurement Run() override {
    FillUp();
    const double alone = Learn(kAloneSeconds);
    const double rate = maximum_ * kShareOfMaximum;
    const LoadResult without = load_.Open(rate, kSeconds);
    FillUp();
    server_.client().Resume();
    const int64_t before = server_.client().Status().examples();
    const double begin = Now();
    const LoadResult with = load_.Open(rate, kSeconds);
    const double seconds = Now() - begin;
    const v1::StatusReply after = server_.client().Status();
    server_.client().Pause();
    if (after.waiting_examples() == 0) Fail("there was nothing left to learn from");
    if (with.failed + without.failed > 0) Fail("some requests failed");
    const double beside = static_cast<double>(after.examples() - before) / seconds;
    return {with.Percentile(99) / without.Percentile(99),
            {{"load", rate},
             {"p99_without", without.Percentile(99)},
             {"p99_with", with.Percentile(99)},
             {"p50_without", without.Percentile(50)},
             {"p50_with", with.Percentile(50)},
             {"learning_alone", alone},
             {"learning_beside", beside},
             {"learning_share", beside / alone}}};
  }

 private:
  // Examples wait.
  void FillUp() {
    int64_t waiting = server_.client().Status().waiting_examples();
    for (; waiting < backlog_; waiting += kRowsARequest) examples_.Send(server_.client());
    while (server_.client().Status().waiting_examples() < backlog_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  // Examples a second, with nothing else to do.
  double Learn(double seconds) {
    server_.client().Resume();
    const int64_t before = server_.client().Status().examples();
    const double begin = Now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double took = Now() - begin;
    const int64_t after = server_.client().Status().examples();
    server_.client().Pause();
    return static_cast<double>(after - before) / took;
  }

  const BenchModel model_;
  LearningServer server_;
  ExampleRequests examples_;
  LoadClient load_;
  double maximum_ = 0;
  int64_t backlog_ = kFirstBacklog;  // more than are learned from in a round
};

}  // namespace

std::unique_ptr<Case> MakeWhileLearning(int64_t rows) {
  return std::make_unique<WhileLearning>(rows);
}

}  // namespace catamaran::bench
