#include "catamaran/serve/wire/gateway.h"

#include <utility>
#include <vector>

#include "catamaran/base/start_thread.h"

namespace catamaran {
namespace {

constexpr size_t kMaxTasks = 64;
constexpr std::chrono::milliseconds kTick(100);

}  // namespace

CallMetrics::CallMetrics(Metrics& metrics, const std::string& protocol, const std::string& call) {
  for (int i = 0; i < kCodes; ++i) {
    codes_[i] = metrics.AddCounter(
        "catamaran_requests_total", "Calls that were answered.",
        {{"protocol", protocol}, {"call", call}, {"code", Name(static_cast<StatusCode>(i))}});
  }
  seconds_ =
      metrics.AddHistogram("catamaran_request_seconds", "From a call that is read to its answer.",
                           {{"protocol", protocol}, {"call", call}});
}

void CallMetrics::Count(StatusCode code, TimePoint began) const {
  codes_[static_cast<int>(code)]->Add();
  seconds_->Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

Gateway::Gateway(Server& server, Metrics& metrics, const Tokens& tokens,
                 const GatewayOptions& options)
    : server_(server),
      metrics_(metrics),
      tokens_(tokens),
      options_(options),
      large_(metrics, options.large_threads) {
  worker_ = StartThread("of tasks that take long", [this] { Work(); });
  try {
    ticker_ = StartThread("of watches", [this] { Tick(); });
  } catch (...) {
    Stop();
    throw;
  }
}

Gateway::~Gateway() { Stop(); }

void Gateway::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  worker_.join();
  if (ticker_.joinable()) ticker_.join();
}

ServerMetadata Gateway::Metadata() const {
  ServerMetadata metadata = server_.Metadata();
  for (const char* extension : {"binary_tensor_data", "model_repository", "parameters"}) {
    metadata.extensions.emplace_back(extension);
  }
  return metadata;
}

bool Gateway::Later(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || tasks_.size() >= kMaxTasks) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  return true;
}

std::shared_ptr<void> Gateway::EveryTick(std::function<void()> tick) {
  auto ticked = std::make_shared<Ticked>();
  ticked->tick = std::move(tick);
  {
    const std::lock_guard lock(mutex_);
    ticked_.push_back(ticked);
  }
  changed_.notify_all();
  return std::shared_ptr<void>(ticked.get(), [ticked, ticker = ticker_.get_id()](void*) {
    ticked->gone = true;
    if (std::this_thread::get_id() == ticker) return;
    const std::lock_guard wait(ticked->running);
  });
}

void Gateway::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task();
    } catch (const std::exception&) {
      // Tasks answer for what goes wrong in them; this one had no memory left to do that.
    }
    lock.lock();
  }
}

void Gateway::Tick() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (ticked_.empty()) {
      changed_.wait(lock, [this] { return stop_ || !ticked_.empty(); });
    } else {
      changed_.wait_for(lock, kTick, [this] { return stop_; });
    }
    std::erase_if(ticked_, [](const auto& weak) { return weak.expired(); });
    const std::vector<std::weak_ptr<Ticked>> now(ticked_.begin(), ticked_.end());
    lock.unlock();
    for (const auto& weak : now) {
      const std::shared_ptr<Ticked> ticked = weak.lock();
      if (ticked == nullptr) continue;
      const std::lock_guard running(ticked->running);
      if (ticked->gone) continue;
      try {
        ticked->tick();
      } catch (const std::exception&) {
        // No memory for it now; it comes again.
      }
    }
    lock.lock();
  }
}

}  // namespace catamaran
