// How long after feedback was acknowledged the model that answers knows of it, while others ask.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "bench/serve/learning_cases.h"
#include "bench/serve/learning_server.h"
#include "bench/serve/load.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr double kWarmSeconds = 1, kMaximumSeconds = 2, kSeconds = 10;
constexpr double kShareOfMaximum = 0.25;
constexpr int kClickers = 4;
constexpr auto kBetweenClicks = std::chrono::milliseconds(10);  // of each

class Freshness final : public Case {
 public:
  explicit Freshness(int64_t rows)
      : model_(WithRows("deepfm", rows)),
        server_(model_, {}),
        requests_(SingleRows(model_, 4096)),
        load_({.wire = LoadTarget::Wire::kGrpc, .port = server_.grpc_port()}, requests_) {
    load_.Closed(kWarmSeconds);
    maximum_ = load_.Closed(kMaximumSeconds).Rate();
  }

  Measurement Run() override {
    const v1::StatusReply before = server_.client().Status();
    ++round_;
    std::atomic<bool> stop = false;
    std::vector<std::exception_ptr> problems(kClickers);
    std::vector<std::thread> clickers;
    for (size_t c = 0; c < static_cast<size_t>(kClickers); ++c) {
      clickers.emplace_back([&, c] {
        try {
          Click(c, stop);
        } catch (...) {
          problems[c] = std::current_exception();
        }
      });
    }
    const LoadResult load = load_.Open(maximum_ * kShareOfMaximum, kSeconds);
    stop = true;
    for (std::thread& clicker : clickers) clicker.join();
    for (const auto& problem : problems) {
      if (problem) std::rethrow_exception(problem);
    }
    const v1::StatusReply after = server_.client().Status();
    const auto clicks = after.matched_feedback() - before.matched_feedback();
    if (clicks == 0) Fail("no feedback was learned from: {}", after.problem());
    return {after.freshness_p99(),
            {{"p50", after.freshness_p50()},
             {"clicks", static_cast<double>(clicks) / kSeconds},
             {"load", load.Rate()},
             {"load_p99", load.Percentile(99)}}};
  }

 private:
  // Is shown something and clicks on it, again and again.
  void Click(size_t number, const std::atomic<bool>& stop) {
    LearningClient client(server_.grpc_port(), model_.name);
    auto due = std::chrono::steady_clock::now();
    for (size_t i = 0; !stop; ++i) {
      const std::string id = fmt::format("{}-{}-{}", round_, number, i);
      client.Infer(requests_[(number * 1000 + i) % requests_.size()], id);
      client.Feedback(id, 1);
      due += kBetweenClicks;
      std::this_thread::sleep_until(due);
    }
  }

  const BenchModel model_;
  LearningServer server_;
  const std::vector<LoadRequest> requests_;
  LoadClient load_;
  double maximum_ = 0;
  int round_ = 0;
};

}  // namespace

std::unique_ptr<Case> MakeFreshness(int64_t rows) { return std::make_unique<Freshness>(rows); }

}  // namespace catamaran::bench
