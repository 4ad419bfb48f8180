// A service that learns for long, by a clock that runs fast: the times of events. In a cycle of ten
// of their minutes every row that is not seen again expires, every key of a request is forgotten,
// the log is dropped up to where it is needed, and commits are compacted many times. Memory and
// disk must not grow from cycle to cycle.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "bench/serve/learning_cases.h"
#include "bench/serve/learning_server.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"

namespace catamaran::bench {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;
constexpr int64_t kCycle = 600 * kSecond;  // of events: as soak_cycles.ctm says
constexpr int kWarmCycles = 2, kCycles = 3;
constexpr int64_t kCommits = 30;          // of a cycle
constexpr int64_t kRows = 64;             // of a request
constexpr uint64_t kIdsACycle = 200'000;  // that are new
constexpr int64_t kMostWaiting = 8192;

int64_t ResidentBytes(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/statm", pid));
  int64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * 4096;
}

// What the directory takes on the disk. Files come and go meanwhile.
int64_t DiskBytes(const std::string& directory) {
  while (true) {
    try {
      return BytesBelow(directory);
    } catch (const std::exception&) {
    }
  }
}

class SoakCycles final : public Case {
 public:
  explicit SoakCycles(double minutes)
      : cycle_seconds_(minutes * 60 / (kWarmCycles + kCycles)),
        server_("soak", "bench/serve/soak_cycles.ctm",
                {"event_clock=yes", "label.window=1m", "key_horizon=10m", "hold=1m", "retain=10m",
                 "commit_every=0", "segment_bytes=1048576", "keep_commits=3"}) {}

  Measurement Run() override {
    // The first cycles fill everything, and say how many requests a cycle is to have.
    const double begin = Now();
    int64_t requests = 0;
    for (; Now() < begin + cycle_seconds_; ++requests) {
      Request(kCycle / 4000);
      if (requests % 100 == 99) server_.client().Commit();
    }
    requests = std::max<int64_t>(requests, 100);
    const int64_t between = kCycle / requests;
    std::vector<Sample> cycles;
    for (int c = 1; c < kWarmCycles + kCycles; ++c) {
      const Sample sample = Cycle(requests, between);
      if (c >= kWarmCycles) cycles.push_back(sample);
    }
    const v1::StatusReply status = server_.client().Status();
    if (!status.problem().empty()) Fail("{}", status.problem());
    if (status.log_begin() == 0) Fail("nothing of the log was dropped");
    const auto growth = [&](int64_t Sample::*what) {
      int64_t least = INT64_MAX, most = 0;
      for (const Sample& cycle : cycles) {
        least = std::min(least, cycle.*what);
        most = std::max(most, cycle.*what);
      }
      return static_cast<double>(most) / static_cast<double>(least) - 1;
    };
    const double memory = growth(&Sample::memory), disk = growth(&Sample::disk);
    return {std::max(memory, disk) * 100,
            {{"memory", memory * 100},
             {"disk", disk * 100},
             {"memory_bytes", static_cast<double>(cycles.back().memory)},
             {"disk_bytes", static_cast<double>(cycles.back().disk)},
             {"examples", static_cast<double>(requests * kRows * (kWarmCycles + kCycles))},
             {"commits", static_cast<double>(status.commit())}}};
  }

 private:
  struct Sample {
    int64_t memory = 0, disk = 0;  // means over the cycle
  };

  static int64_t Mean(const std::vector<int64_t>& values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0}) /
           static_cast<int64_t>(values.size());
  }

  // With commits at the same times of its clock, however fast this machine makes them.
  Sample Cycle(int64_t requests, int64_t between) {
    std::vector<int64_t> memory, disk;
    for (int64_t r = 0; r < requests; ++r) {
      Request(between);
      if (r * kCommits / requests == (r + 1) * kCommits / requests) continue;
      server_.client().Commit();
      memory.push_back(ResidentBytes(server_.process().pid()));
      disk.push_back(DiskBytes(server_.data()));
    }
    const Sample sample{Mean(memory), Mean(disk)};
    const v1::StatusReply status = server_.client().Status();
    fmt::print(stderr, "a cycle: {} bytes of memory, {} on disk, the log begins at {} of {}\n",
               sample.memory, sample.disk, status.log_begin(), status.log_end());
    return sample;
  }

  // Examples, and sometimes an answer with its click. Ids are new ones and those of the last while.
  void Request(int64_t between) {
    time_ += between;
    const auto first = static_cast<uint64_t>(static_cast<double>(time_) /
                                             static_cast<double>(kCycle) * kIdsACycle);
    std::vector<uint64_t> ids(static_cast<size_t>(kRows) * 8);
    std::vector<float> labels(static_cast<size_t>(kRows));
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = first + Mix64(sent_ * 4096 + i) % (kIdsACycle / 4);
    }
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(ids[8 * i] & 1);
    const auto tensor = [&](int64_t rows) {
      return LoadTensor{
          "ids",
          "UINT64",
          {rows, 8},
          std::string(reinterpret_cast<const char*>(ids.data()), static_cast<size_t>(rows) * 64)};
    };
    LearningClient& client = server_.client();
    client.Train({tensor(kRows)}, labels, kStart + time_, fmt::format("request {}", sent_));
    if (sent_ % 4 == 0) {
      const std::string id = fmt::format("shown {}", sent_);
      client.Infer({"soak", {tensor(2)}, ""}, id, kStart + time_);
      client.Feedback(id, 1, kStart + time_);
    }
    if (++sent_ % 64 != 0) return;
    while (client.Status().waiting_examples() > kMostWaiting) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const double cycle_seconds_;
  LearningServer server_;
  int64_t time_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace

std::unique_ptr<Case> MakeSoakCycles(double minutes) {
  return std::make_unique<SoakCycles>(minutes);
}

}  // namespace catamaran::bench
