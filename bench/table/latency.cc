// Look-ups of 2,000 keys, a thousand a second, while another thread trains on the same table of
// --rows rows, commits are written one after another, and rows expire. Cases are distributions of
// keys.
//
// A round: training alone for a while, for its rate; then all of it together. One hundredth of the
// rows are put in as long unseen before each round; training does not touch them, so that a pass of
// expiry is over when all of them are gone.

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/table/keys.h"
#include "bench/table/live_table.h"
#include "bench/table/serve.h"
#include "bench/table/tables.h"
#include "catamaran/base/background.h"

namespace catamaran::bench {
namespace {

constexpr size_t kLookup = 2000;
constexpr size_t kPush = 2000;
constexpr auto kPace = std::chrono::microseconds(1000);  // between look-ups
constexpr double kAloneSeconds = 2;
constexpr double kTogetherSeconds = 10;
constexpr double kLongestSeconds = 40;  // when commits or expiry take longer
constexpr int64_t kCommits = 2;
constexpr const char* kSettings = "  expire = unseen(hours=64)\n";
constexpr int64_t kUnseen = 64 * 3600 * kNanosecondsPerSecond;
constexpr int64_t kBetweenSweeps = kUnseen / 64;

double Percentile(std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

class Latency final : public Case {
 public:
  Latency(const std::string& distribution, uint64_t rows)
      : old_rows_(rows / 100), live_rows_(rows - old_rows_), live_(kSettings) {
    const auto keys = [&](size_t count, uint64_t seed) {
      std::vector<uint64_t> all = MakeRanks(distribution, live_rows_, count, seed);
      for (uint64_t& key : all) key = KeyOf(key);
      return all;
    };
    lookups_ = keys(kLookup * 2000, 11);
    pushes_ = keys(kPush * 2000, 12);
    FillTable(live_.table(), 0, live_rows_);
    live_.BeginCommits(directory_.path() + "/state");
    live_.commits().Commit();
    pusher_ = std::make_unique<Pusher>(live_.table(), kPush);
    Train(kAloneSeconds, nullptr);
  }

  Measurement Run() override {
    PutOldRows();
    const double alone = Train(kAloneSeconds, nullptr);
    // A sweep becomes due, and so do the rows that were put.
    pusher_->set_event_time(pusher_->event_time() + kBetweenSweeps * 5 / 4);

    std::atomic<bool> stop = false;
    std::atomic<int64_t> commits = 0;
    std::string failed;
    const int64_t expired_before = live_.table().Info().expired;
    double together = 0, expiry_seconds = 0, commit_seconds = 0;
    const double begin = Now();
    // As the learner of a server: below those who answer.
    std::thread trainer([&] {
      GiveWay();
      together = Train(1e9, &stop);
    });
    std::thread saver([&] {
      try {
        while (!stop) {
          const double start = Now();
          live_.commits().StartCommit();
          live_.commits().Wait();
          commit_seconds = std::max(commit_seconds, Now() - start);
          ++commits;
          for (int i = 0; i < 50 && !stop; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        }
      } catch (const std::exception& error) {
        failed = error.what();
      }
    });
    std::vector<double> times;
    const auto enough = [&] {
      const double elapsed = Now() - begin;
      const bool all_gone =
          live_.table().Info().expired - expired_before >= static_cast<int64_t>(old_rows_);
      if (all_gone && expiry_seconds == 0) expiry_seconds = elapsed;
      return elapsed > kLongestSeconds ||
             (elapsed > kTogetherSeconds && all_gone && commits >= kCommits);
    };
    Read(enough, times);
    stop = true;
    trainer.join();
    saver.join();
    if (!failed.empty()) throw std::runtime_error("a commit failed: " + failed);

    std::sort(times.begin(), times.end());
    const double p99 = Percentile(times, 0.99);
    return {p99,
            {{"median", Percentile(times, 0.5)},
             {"p99", p99},
             {"p999", Percentile(times, 0.999)},
             {"longest", times.back()},
             {"lookups", static_cast<double>(times.size())},
             {"train_alone", alone * 1e-6},
             {"train_together", together * 1e-6},
             {"train_share", together / alone},
             {"commits", static_cast<double>(commits.load())},
             {"commit_seconds", commit_seconds},
             {"expiry_passes", expiry_seconds > 0 ? 1.0 : 0.0},
             {"expiry_seconds", expiry_seconds}}};
  }

  std::string Note() override {
    return fmt::format("rows in pages of {}, commits go to the disk of temporary files",
                       live_.table().Info().pages);
  }

 private:
  // Returns keys a second.
  double Train(double seconds, const std::atomic<bool>* stop) {
    const double begin = Now();
    double keys = 0, now = begin;
    while (now - begin < seconds && (stop == nullptr || !*stop)) {
      const size_t batches = pushes_.size() / kPush;
      const uint64_t* batch = pushes_.data() + next_push_++ % batches * kPush;
      live_.Step(pusher_->event_time(), [&] { pusher_->Push(batch); });
      Breathe();
      keys += static_cast<double>(kPush);
      now = Now();
    }
    return keys / (now - begin);
  }

  // Looks up at a steady pace until `enough` says so, asked now and then.
  template <class Enough>
  void Read(Enough enough, std::vector<double>& times) {
    prctl(PR_SET_TIMERSLACK, 1);
    std::vector<float> out(kLookup * 16);
    const size_t batches = lookups_.size() / kLookup;
    auto next = std::chrono::steady_clock::now();
    for (size_t i = 0;; ++i) {
      if (i % 100 == 99 && enough()) return;
      std::this_thread::sleep_until(next += kPace);
      const double begin = Now();
      PullNow(live_.table(), {lookups_.data() + i % batches * kLookup, kLookup}, out);
      times.push_back(Now() - begin);
    }
  }

  void PutOldRows() {
    const int64_t seen = pusher_->event_time() - kUnseen + kBetweenSweeps / 2;
    live_.Step(pusher_->event_time(),
               [&] { FillTable(live_.table(), live_rows_, live_rows_ + old_rows_, seen); });
  }

  const uint64_t old_rows_, live_rows_;
  const ScratchDirectory directory_;
  LiveTable live_;
  std::vector<uint64_t> lookups_, pushes_;
  std::unique_ptr<Pusher> pusher_;
  size_t next_push_ = 0;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  return ServeRows(argc, argv, [](const std::string& name, uint64_t rows) {
    return std::make_unique<Latency>(name, rows);
  });
}
