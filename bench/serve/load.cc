#include "bench/serve/load.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

using Clock = std::chrono::steady_clock;
using TimePoint = Transport::TimePoint;

constexpr auto kPatience = std::chrono::seconds(60);

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
double ToSeconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// What one thread saw.
struct Share {
  TimePoint last;  // answer
  uint64_t failed = 0;
  std::vector<double> latencies;

  void Note(const Transport::Done& done, TimePoint since) {
    last = Clock::now();
    if (done.ok) {
      latencies.push_back(ToSeconds(last - since));
    } else {
      ++failed;
    }
  }
};

void Await(Transport& transport, Transport::Done& done) {
  if (!transport.Next(done, Clock::now() + kPatience)) Fail("no answer in a minute");
}

// Which request is next: all in turn, each thread from elsewhere.
class Turn {
 public:
  Turn(size_t thread, size_t threads, size_t requests)
      : next_(thread * requests / threads), requests_(requests) {}
  size_t operator()() { return next_++ % requests_; }

 private:
  size_t next_;
  const size_t requests_;
};

Share RunClosed(Transport& transport, Turn turn, TimePoint end) {
  Share share;
  std::vector<TimePoint> sent(static_cast<size_t>(transport.connections()));
  int under_way = 0;
  const auto send = [&](int connection) {
    sent[static_cast<size_t>(connection)] = Clock::now();
    transport.Send(connection, turn());
    ++under_way;
  };
  for (int c = 0; c < transport.connections(); ++c) send(c);
  while (under_way > 0) {
    Transport::Done done;
    Await(transport, done);
    --under_way;
    share.Note(done, sent[static_cast<size_t>(done.connection)]);
    if (!done.ok) transport.Values(done.connection);  // says why
    if (share.last < end) send(done.connection);
  }
  return share;
}

// Requests that are due, and connections to send them on. One thread lets them become due, another
// one waits for answers; whoever has both a request and a connection sends, under the lock.
class OpenLoop {
 public:
  OpenLoop(Transport& transport, Turn turn)
      : transport_(transport), turn_(turn), since_(static_cast<size_t>(transport.connections())) {
    for (int c = 0; c < transport.connections(); ++c) free_.push_back(c);
  }

  Share Run(TimePoint begin, Clock::duration every, int64_t count) {
    std::exception_ptr problem;
    std::thread answers([&] {
      try {
        Receive(count);
      } catch (...) {
        problem = std::current_exception();
      }
    });
    for (int64_t i = 0; i < count; ++i) {
      const TimePoint due = begin + every * i;
      std::this_thread::sleep_until(due);
      const std::lock_guard lock(mutex_);
      due_.push_back(due);
      SendDue();
    }
    answers.join();
    if (problem) std::rethrow_exception(problem);
    return std::move(share_);
  }

 private:
  void SendDue() {
    while (!due_.empty() && !free_.empty()) {
      const int connection = free_.back();
      free_.pop_back();
      since_[static_cast<size_t>(connection)] = due_.front();
      due_.pop_front();
      transport_.Send(connection, turn_());
    }
  }

  void Receive(int64_t count) {
    share_.latencies.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      Transport::Done done;
      Await(transport_, done);
      const std::lock_guard lock(mutex_);
      share_.Note(done, since_[static_cast<size_t>(done.connection)]);
      free_.push_back(done.connection);
      SendDue();
    }
  }

  Transport& transport_;
  Turn turn_;
  std::mutex mutex_;
  std::vector<TimePoint> since_;
  std::vector<int> free_;
  std::deque<TimePoint> due_;
  Share share_;
};

// Runs `work(i)` on a thread for each i and puts together what they saw.
template <class Work>
LoadResult Together(size_t threads, TimePoint begin, const Work& work) {
  std::vector<Share> shares(threads);
  std::vector<std::exception_ptr> problems(threads);
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      try {
        shares[i] = work(i);
      } catch (...) {
        problems[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
  LoadResult result;
  TimePoint last = begin;
  for (const Share& share : shares) {
    last = std::max(last, share.last);
    result.failed += share.failed;
    result.latencies.insert(result.latencies.end(), share.latencies.begin(), share.latencies.end());
  }
  std::sort(result.latencies.begin(), result.latencies.end());
  result.answered = result.latencies.size();
  result.seconds = ToSeconds(last - begin);
  return result;
}

}  // namespace

double LoadResult::PerRequest() const { return seconds / static_cast<double>(answered); }
double LoadResult::Rate() const { return static_cast<double>(answered) / seconds; }
double LoadResult::Percentile(double percent) const {
  const auto rank = std::ceil(percent / 100 * static_cast<double>(latencies.size()));
  return latencies.at(static_cast<size_t>(std::max(1.0, rank)) - 1);
}

LoadClient::LoadClient(const LoadTarget& target, const std::vector<LoadRequest>& requests)
    : requests_(requests) {
  const int threads = std::clamp(target.threads, 1, target.connections);
  for (int i = 0; i < threads; ++i) {
    const int share = target.connections / threads + (i < target.connections % threads ? 1 : 0);
    transports_.push_back(target.wire == LoadTarget::Wire::kGrpc
                              ? ConnectGrpc(target.port, share, requests)
                              : ConnectHttp(target.port, share, requests));
  }
}

LoadClient::~LoadClient() = default;

LoadResult LoadClient::Closed(double seconds) {
  const TimePoint begin = Clock::now();
  const size_t threads = transports_.size();
  return Together(threads, begin, [&](size_t i) {
    return RunClosed(*transports_[i], Turn(i, threads, requests_.size()), begin + Seconds(seconds));
  });
}

LoadResult LoadClient::Open(double rate, double seconds) {
  const size_t threads = transports_.size();
  const TimePoint begin = Clock::now();
  const auto every = Seconds(static_cast<double>(threads) / rate);
  const auto count =
      std::max<int64_t>(1, std::llround(rate * seconds / static_cast<double>(threads)));
  return Together(threads, begin, [&](size_t i) {
    OpenLoop loop(*transports_[i], Turn(i, threads, requests_.size()));
    // Threads take turns too.
    return loop.Run(begin + every * static_cast<int64_t>(i) / static_cast<int64_t>(threads), every,
                    count);
  });
}

std::vector<double> LoadClient::Ask(size_t request) {
  Transport& transport = *transports_.front();
  transport.Send(0, request);
  Transport::Done done;
  Await(transport, done);
  return transport.Values(0);
}

}  // namespace catamaran::bench
