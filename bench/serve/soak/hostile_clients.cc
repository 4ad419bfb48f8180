#include "bench/serve/soak/hostile_clients.h"

#include <chrono>

#include "bench/serve/soak/attacks.h"

namespace catamaran::bench {
namespace {

constexpr auto kBetweenAttacks = std::chrono::milliseconds(50);
constexpr int kSlowConnections = 64;
constexpr int kSlowSteps = 10;  // between two lines: half a second

}  // namespace

HostileClients::HostileClients(int http_port, int grpc_port, int threads,
                               std::function<std::string()> recent_key)
    : http_port_(http_port), grpc_port_(grpc_port), recent_key_(std::move(recent_key)) {
  for (int t = 0; t < threads; ++t) {
    threads_.emplace_back([this, t, threads] {
      Attacker attacker(http_port_, grpc_port_, recent_key_);
      const auto& kinds = Attacker::Kinds();
      for (uint64_t i = 0; !stop_; ++i) {
        const uint64_t number = i * static_cast<uint64_t>(threads) + static_cast<uint64_t>(t);
        const Attacker::Kind& kind = kinds[i % kinds.size()];
        const AttackResult result = (attacker.*kind.attack)(number);
        {
          const std::lock_guard lock(mutex_);
          ++report_.attacks;
          auto& answers = report_.answers[kind.name];
          if (result.statuses.empty()) ++answers[0];
          for (const int status : result.statuses) ++answers[status];
          if (!result.wrong.empty()) ++report_.wrong[result.wrong];
        }
        std::this_thread::sleep_for(kBetweenAttacks);
      }
    });
  }
  threads_.emplace_back([this] { HoldSlowConnections(); });
}

void HostileClients::HoldSlowConnections() {
  SlowConnections slow(http_port_, kSlowConnections);
  for (int i = 0; !stop_; ++i) {
    if (i % kSlowSteps == 0) slow.Step();
    std::this_thread::sleep_for(kBetweenAttacks);
  }
  const std::lock_guard lock(mutex_);
  report_.answers["slow connections, closed"][0] = slow.closed();
  if (slow.answered() > 0) report_.wrong["200 to a request that has not ended"] = slow.answered();
}

HostileReport HostileClients::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace catamaran::bench
