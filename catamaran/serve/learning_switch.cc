#include "catamaran/serve/learning_switch.h"

#include <utility>
#include <vector>

namespace catamaran {
namespace {

const Status kTooManyWait = {StatusCode::kResourceExhausted,
                             "another version of the model begins to learn; too many calls wait"};

size_t BytesOf(const std::vector<NamedTensor>& inputs, const std::vector<std::string>& rows) {
  size_t bytes = 256;
  for (const NamedTensor& input : inputs) bytes += input.tensor.num_bytes();
  for (const std::string& row : rows) bytes += row.size();
  return bytes;
}

}  // namespace

// One version's view.
class VersionLearning final : public Learning {
 public:
  VersionLearning(std::shared_ptr<LearningSwitch> shared, std::shared_ptr<Learning> own)
      : shared_(std::move(shared)), own_(std::move(own)) {}

  std::shared_ptr<State> state() const override { return own()->state(); }

  void Train(TrainRequest request, Callback<TrainReply> done) override {
    const size_t bytes = BytesOf(request.inputs, request.rows);
    Pass<TrainReply>(bytes, done, [request = std::move(request), done](Learning& to) {
      to.Train(request, done);
    });
  }
  void Feedback(FeedbackRequest request, Callback<FeedbackReply> done) override {
    size_t bytes = 256;
    for (const FeedbackItem& item : request.items) {
      bytes += 256 + item.id.size() + item.event.size() + item.idempotency_key.size();
    }
    Pass<FeedbackReply>(bytes, done, [request = std::move(request), done](Learning& to) {
      to.Feedback(request, done);
    });
  }
  void Commit(Callback<CommitReply> done) override {
    Pass<CommitReply>(256, done, [done](Learning& to) { to.Commit(done); });
  }
  void Pause(Callback<LearningStatus> done) override {
    Pass<LearningStatus>(256, done, [done](Learning& to) { to.Pause(done); });
  }
  void Resume(Callback<LearningStatus> done) override {
    Pass<LearningStatus>(256, done, [done](Learning& to) { to.Resume(done); });
  }
  void Rollback(uint64_t commit, Callback<RollbackReply> done) override {
    Pass<RollbackReply>(256, done, [commit, done](Learning& to) { to.Rollback(commit, done); });
  }
  std::vector<std::pair<uint64_t, int64_t>> Commits() const override { return newest()->Commits(); }
  LearningStatus status() const override { return newest()->status(); }
  uint64_t Watch(std::function<bool(const LearningStatus&)> changed) override {
    return shared_->Watch(std::move(changed));
  }
  void Unwatch(uint64_t watch) override { shared_->Unwatch(watch); }

  Status CheckEventTime(int64_t event_time_ns) const override {
    return newest()->CheckEventTime(event_time_ns);
  }
  Status LogImpression(const InferRequest& request, const InferResponse& response) override {
    return newest()->LogImpression(request, response);
  }

  void Stop() override { own()->Stop(); }
  std::shared_ptr<Log> HandOver() override { return own()->HandOver(); }

  void SetOwn(std::shared_ptr<Learning> learner) {
    const std::lock_guard lock(mutex_);
    own_ = std::move(learner);
  }

  std::shared_ptr<Learning> own() const {
    const std::lock_guard lock(mutex_);
    return own_;
  }

 private:
  std::shared_ptr<Learning> newest() const {
    auto current = shared_->current();
    return current != nullptr ? current : own();
  }
  template <class Reply>
  void Pass(size_t bytes, const Callback<Reply>& done, LearningSwitch::Call call) {
    if (!shared_->Pass(bytes, call)) done(kTooManyWait, {});
  }

  const std::shared_ptr<LearningSwitch> shared_;
  mutable std::mutex mutex_;
  std::shared_ptr<Learning> own_;
};

std::shared_ptr<Learning> LearningSwitch::Add(std::shared_ptr<Learning> learner) {
  auto version = std::make_shared<VersionLearning>(shared_from_this(), learner);
  SetCurrent(std::move(learner));
  return version;
}

void LearningSwitch::Restore(Learning& version, std::shared_ptr<Learning> learner) {
  static_cast<VersionLearning&>(version).SetOwn(learner);
  SetCurrent(std::move(learner));
}

void LearningSwitch::Return(Learning& version) {
  SetCurrent(static_cast<VersionLearning&>(version).own());
}

void LearningSwitch::Drop() { SetCurrent(nullptr); }

std::shared_ptr<Learning> LearningSwitch::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void LearningSwitch::SetCurrent(std::shared_ptr<Learning> learner) {
  const std::lock_guard lock(mutex_);
  current_ = std::move(learner);
}

void LearningSwitch::Hold() {
  std::shared_ptr<Learning> learner;
  std::vector<uint64_t> numbers;
  {
    std::unique_lock lock(mutex_);
    held_ = true;
    // A call that is on its way to the learner would come too late, and be refused.
    passed_.wait(lock, [&] { return passing_ == 0; });
    learner = current_;
    for (auto& [watch, watched] : watchers_) numbers.push_back(std::exchange(watched.number, 0));
  }
  // Without the lock: who is being called may be about to unwatch.
  for (const uint64_t number : numbers) {
    if (learner && number != 0) learner->Unwatch(number);
  }
}

void LearningSwitch::Go() {
  while (true) {
    std::deque<Call> calls;
    std::shared_ptr<Learning> learner;
    {
      const std::lock_guard lock(mutex_);
      learner = current_;
      calls.swap(waiting_);
      waiting_bytes_ = 0;
      if (calls.empty()) held_ = false;
    }
    if (calls.empty()) break;
    for (const Call& call : calls) call(*learner);
  }
  std::vector<uint64_t> silent;
  std::shared_ptr<Learning> learner;
  {
    const std::lock_guard lock(mutex_);
    learner = current_;
    for (const auto& [watch, watched] : watchers_) {
      if (watched.number == 0) silent.push_back(watch);
    }
  }
  for (const uint64_t watch : silent) Connect(watch, *learner);
}

bool LearningSwitch::Pass(size_t bytes, const Call& call) {
  std::shared_ptr<Learning> learner;
  {
    const std::lock_guard lock(mutex_);
    if (held_) {
      if (waiting_.size() >= kMaxHeldCalls || waiting_bytes_ + bytes > kMaxHeldBytes) return false;
      waiting_.push_back(call);
      waiting_bytes_ += bytes;
      return true;
    }
    learner = current_;
    if (learner == nullptr) return false;
    ++passing_;
  }
  struct Passed {
    LearningSwitch& to;
    ~Passed() {
      const std::lock_guard lock(to.mutex_);
      if (--to.passing_ == 0) to.passed_.notify_all();
    }
  } const passed{*this};
  call(*learner);
  return true;
}

void LearningSwitch::Connect(uint64_t watch, Learning& learner) {
  std::shared_ptr<Watcher> watcher;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watchers_.find(watch);
    if (found == watchers_.end()) return;
    watcher = found->second.watcher;
  }
  const uint64_t number = learner.Watch([watcher](const LearningStatus& status) {
    const std::lock_guard lock(watcher->mutex);
    if (!watcher->gone && !watcher->changed(status)) watcher->gone = true;
    return !watcher->gone;
  });
  const std::lock_guard lock(mutex_);
  if (const auto found = watchers_.find(watch); found != watchers_.end()) {
    found->second.number = number;
  }
}

uint64_t LearningSwitch::Watch(std::function<bool(const LearningStatus&)> changed) {
  auto watcher = std::make_shared<Watcher>();
  watcher->changed = std::move(changed);
  std::shared_ptr<Learning> learner;
  uint64_t watch = 0;
  {
    const std::lock_guard lock(mutex_);
    watch = next_watch_++;
    watchers_[watch].watcher = std::move(watcher);
    if (!held_) learner = current_;
  }
  if (learner) Connect(watch, *learner);
  return watch;
}

void LearningSwitch::Unwatch(uint64_t watch) {
  std::shared_ptr<Learning> learner;
  Watched watched;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watchers_.find(watch);
    if (found == watchers_.end()) return;
    watched = std::move(found->second);
    watchers_.erase(found);
    learner = current_;
  }
  {
    const std::lock_guard lock(watched.watcher->mutex);
    watched.watcher->gone = true;
  }
  if (learner && watched.number != 0) learner->Unwatch(watched.number);
}

}  // namespace catamaran
