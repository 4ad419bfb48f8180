// A service that learns, with a table of --rows rows, is killed (SIGKILL) in the midst of its work
// and started again: seconds from the kill until it is ready and has answered a request.

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "bench/serve/learning_cases.h"
#include "bench/serve/learning_client.h"
#include "bench/serve/learning_server.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr double kWorkSeconds = 8;
constexpr int64_t kRowsARequest = 64;
constexpr auto kBetweenRequests = std::chrono::milliseconds(50);

class Restart final : public Case {
 public:
  explicit Restart(int64_t rows)
      : model_(WithRows("deepfm", rows)), server_(model_, {}), examples_(model_, kRowsARequest) {}

  Measurement Run() override {
    const int64_t learned_before = Examples();
    const int64_t sent = Work();
    const v1::StatusReply status = server_.client().Status();
    const auto steps = status.steps() - status.commit_step();
    const double begin = Now();
    server_.Kill();
    server_.Start();
    const double ready = Now() - begin;
    server_.client().Infer(requests_.front(), "after");
    const double answered = Now() - begin;
    // All that was acknowledged is there.
    const int64_t kept = Examples() - learned_before;
    if (kept < sent) Fail("{} examples were acknowledged, and {} are there", sent, kept);
    return {answered,
            {{"ready", ready},
             {"examples", static_cast<double>(sent)},
             {"steps_again", static_cast<double>(steps)}}};
  }

  std::string Note() override {
    return "the files lie on the disk of temporary files, as the killed process left them";
  }

 private:
  int64_t Examples() {
    const v1::StatusReply status = server_.client().Status();
    return status.examples() + status.waiting_examples();
  }

  // Examples come in until it has learned for a while; returns how many were acknowledged.
  int64_t Work() {
    int64_t sent = 0;
    const double end = Now() + kWorkSeconds;
    while (Now() < end) {
      examples_.Send(server_.client());
      sent += kRowsARequest;
      std::this_thread::sleep_for(kBetweenRequests);
    }
    return sent;
  }

  const BenchModel model_;
  LearningServer server_;
  ExampleRequests examples_;
  const std::vector<LoadRequest> requests_ = SingleRows(model_, 16);
};

}  // namespace

std::unique_ptr<Case> MakeRestart(int64_t rows) { return std::make_unique<Restart>(rows); }

}  // namespace catamaran::bench
