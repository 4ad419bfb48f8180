// kill_learner DIRECTORY FROM: a model that learns (learn_test_util.h) from examples, impressions
// and feedback number FROM and on, with commits and a rollback now and then, until it is killed.
// Writes a line for each that was acknowledged: "example 7", "feedback 7".

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "catamaran/serve/learn/kill_test_util.h"

namespace catamaran {
namespace {

// In one piece, so that a line is whole or not there.
void Say(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

void Run(const std::string& directory, uint64_t from) {
  Learner learner(test::LoadKilled(directory));
  std::atomic<int> in_flight = 0;
  const auto answered = [&](const std::string& line) {
    return [&in_flight, line](const Status& status, const auto&) {
      if (status.ok()) Say(line + "\n");
      --in_flight;
    };
  };
  for (uint64_t i = from;; ++i) {
    while (in_flight > 40) std::this_thread::sleep_for(std::chrono::microseconds(100));
    ++in_flight;
    learner.Train(test::KilledExample(i), answered("example " + std::to_string(i)));
    if (i % 3 == 0) {
      const InferRequest request = test::KilledImpression(i);
      const Status logged =
          learner.LogImpression(request, testing::ResponseOf(request, {0.5F, 0.25F}));
      if (!logged.ok()) throw Error(logged.message);
    }
    if (i % 3 == 1 && i > 4) {
      ++in_flight;
      learner.Feedback({"shop", {test::KilledFeedback(i - 4)}},
                       answered("feedback " + std::to_string(i - 4)));
    }
    if ((i == from + 30 && from % 3 == 0) || i % 301 == 300) {
      // Waited for, so that some kills fall into it and most work comes after one.
      const auto commits = learner.Commits();
      testing::RollbackNow(learner, commits.at(commits.size() > 1 ? 1 : 0).first);
    }
  }
}

}  // namespace
}  // namespace catamaran

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    catamaran::Run(argv[1], std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
