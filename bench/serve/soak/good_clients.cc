#include "bench/serve/soak/good_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "bench/worker.h"

namespace catamaran::bench {
namespace {

constexpr size_t kRowsShown = 4, kRowsOfExamples = 8;
constexpr int kClickAfter = 10;    // requests
constexpr int kTrainEvery = 4;     // requests
constexpr int kRepeatEvery = 32;   // requests
constexpr double kPatience = 60;   // seconds
constexpr double kMostBehind = 1;  // seconds; beyond it requests are left out, not sent at once
constexpr auto kTryAgain = std::chrono::milliseconds(20);

void SleepUntil(double time) {
  const double left = time - Now();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

}  // namespace

GoodClients::GoodClients(int http_port, int grpc_port, int connections, double rate) {
  for (int c = 0; c < connections; ++c) {
    wires_.push_back(c % 2 == 0 ? GoodHttp(http_port) : GoodGrpc(grpc_port));
  }
  for (int c = 0; c < connections; ++c) {
    threads_.emplace_back(
        [this, c, every = connections / rate] { Run(c, *wires_[static_cast<size_t>(c)], every); });
  }
}

ToldGood GoodClients::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard lock(mutex_);
  return std::move(told_);
}

std::vector<double> GoodClients::TakeLatencies() {
  std::vector<double> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(latencies_);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

std::string GoodClients::RecentKey() const {
  const std::lock_guard lock(mutex_);
  return recent_key_;
}

template <class Call>
bool GoodClients::Insist(const std::string& what, Call call) {
  const double end = Now() + kPatience;
  while (true) {
    const WireAnswer answer = call();
    if (answer.kind == WireAnswer::Kind::kOk) return true;
    {
      const std::lock_guard lock(mutex_);
      if (answer.kind == WireAnswer::Kind::kRefused) {
        ++told_.refused[answer.why];
        return false;
      }
      ++(answer.reached ? told_.later : told_.unreached);
      if (Now() > end) {
        told_.given_up.push_back(what);
        return false;
      }
    }
    std::this_thread::sleep_for(kTryAgain);
  }
}

void GoodClients::Run(int number, GoodWire& wire, double every) {
  struct Shown {
    std::string id;
    std::vector<int64_t> clicked;
  };
  std::deque<Shown> shown;
  double due = Now();
  for (int i = 0; !stop_; ++i) {
    due += every;
    SleepUntil(due);
    if (Now() - due > kMostBehind) due = Now();
    const FeedRows rows =
        MakeFeedRows(static_cast<uint64_t>(number) << 32 | static_cast<uint32_t>(i), kRowsShown);
    const std::string id = fmt::format("good {} {}", number, i);
    const WireAnswer answer = wire.Infer(id, rows);
    {
      const std::lock_guard lock(mutex_);
      if (answer.kind == WireAnswer::Kind::kOk) {
        latencies_.push_back(Now() - due);
        told_.answers.push_back({id, static_cast<int64_t>(rows.size()), Now()});
      } else if (answer.kind == WireAnswer::Kind::kRefused) {
        ++told_.refused[answer.why];
      } else {
        ++(answer.reached ? told_.later : told_.unreached);
      }
    }
    if (answer.kind == WireAnswer::Kind::kOk) {
      shown.push_back({id, {}});
      for (size_t r = 0; r < rows.size(); ++r) {
        if (rows.click[r] > 0) shown.back().clicked.push_back(static_cast<int64_t>(r));
      }
    } else if (!answer.reached) {
      due = Now();  // while nobody answers there is no latency
      std::this_thread::sleep_for(kTryAgain);
    }
    if (shown.size() > kClickAfter) {
      const Shown& old = shown.front();
      for (const int64_t row : old.clicked) {
        const std::string key = fmt::format("good click {} {}", old.id, row);
        if (Insist(key, [&] { return wire.Click(old.id, row, key); })) {
          const std::lock_guard lock(mutex_);
          told_.clicks.emplace_back(old.id, row);
        }
      }
      shown.pop_front();
    }
    if (i % kTrainEvery == 0) {
      const FeedRows examples = MakeFeedRows(
          static_cast<uint64_t>(number + 100) << 32 | static_cast<uint32_t>(i), kRowsOfExamples);
      const std::string key = fmt::format("good examples {} {}", number, i);
      if (Insist(key, [&] { return wire.Train(examples, key); })) {
        {
          const std::lock_guard lock(mutex_);
          told_.examples.emplace_back(key, static_cast<int64_t>(examples.size()));
          recent_key_ = key;
        }
        // As one does whose answer was lost on its way.
        if (i % kRepeatEvery == 0 && Insist(key, [&] { return wire.Train(examples, key); })) {
          const std::lock_guard lock(mutex_);
          ++told_.repeated;
        }
      }
    }
  }
}

}  // namespace catamaran::bench
