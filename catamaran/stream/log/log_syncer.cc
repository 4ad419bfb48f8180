#include "catamaran/stream/log/log_syncer.h"

#include <algorithm>
#include <optional>

#include "catamaran/base/clock.h"
#include "catamaran/base/start_thread.h"

namespace catamaran {

struct LogSyncer::Segment {
  Segment(LogOffset first_offset, std::string file_path)
      : first(first_offset), path(std::move(file_path)) {}

  void Sync(FileSystem& fs) {
    std::lock_guard lock(mutex);
    if (file == nullptr) file = fs.OpenAppend(path);
    file->Sync();
  }

  const LogOffset first;
  const std::string path;
  std::mutex mutex;  // held during a sync; guards `file`
  std::unique_ptr<WritableFile> file;
};

LogSyncer::LogSyncer(FileSystem& fs, std::string directory, const LogOptions& options,
                     LogOffset durable, std::function<LogOffset()> end)
    : fs_(fs),
      directory_(std::move(directory)),
      policy_(options.sync),
      end_(std::move(end)),
      durable_(durable) {
  SetPolicy(options.sync, options.interval);
  thread_ = StartThread("that syncs the log " + directory_, [this] { Run(); });
}

LogSyncer::~LogSyncer() { Stop(); }

void LogSyncer::SetPolicy(LogSync policy, std::chrono::nanoseconds interval) {
  const std::lock_guard lock(mutex_);
  policy_ = policy;
  interval_ = std::max<std::chrono::nanoseconds>(interval, std::chrono::milliseconds(1));
  wake_.notify_one();
}

void LogSyncer::AddSegment(LogOffset first, const std::string& path, bool is_new) {
  auto segment = std::make_shared<Segment>(first, path);
  std::lock_guard lock(mutex_);
  segments_.push_back(std::move(segment));
  if (is_new) {
    names_changed_ = true;
  } else {
    durable_segment_ = first;
  }
}

void LogSyncer::WhileNotSyncing(FunctionRef<void()> change) {
  std::shared_ptr<Segment> newest;
  {
    std::lock_guard lock(mutex_);
    newest = segments_.back();
  }
  std::lock_guard lock(newest->mutex);
  newest->file = nullptr;  // the next sync opens it again
  change();
}

void LogSyncer::Appended() {
  if (policy_ != LogSync::kInterval || appended_.exchange(true)) return;
  std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void LogSyncer::WhenDurable(LogOffset end, Log::Done done) {
  std::unique_lock lock(mutex_);
  if (failure_.empty() && (policy_ != LogSync::kGroup || end <= durable())) {
    lock.unlock();
    done(nullptr);
    return;
  }
  if (failure_.empty() && !stopped_) {
    Enqueue(end, std::move(done));
    return;
  }
  const Error error = Refusal("the log is closed");
  lock.unlock();
  done(&error);
}

// What whoever waits for records is told that will not be synced. A closed log may be opened again.
Error LogSyncer::Refusal(std::string_view closed) const {
  if (!failure_.empty()) return Error(failure_, ErrorCode::kStorage);
  return Error(fmt::format("{}: {}", directory_, closed), ErrorCode::kUnavailable);
}

void LogSyncer::WaitDurable(LogOffset end) {
  // It is one of those who wait, like a callback.
  struct {
    std::mutex mutex;
    std::condition_variable called;
    bool done = false;
    std::optional<Error> failure;
  } answer;
  {
    std::lock_guard lock(mutex_);
    if (end <= durable()) return;
    if (!failure_.empty() || stopped_) throw Refusal("the log is closed");
    Enqueue(end, [&answer](const Error* error) {
      std::lock_guard answer_lock(answer.mutex);
      answer.done = true;
      if (error != nullptr) answer.failure = *error;
      answer.called.notify_one();
    });
  }
  std::unique_lock lock(answer.mutex);
  answer.called.wait(lock, [&] { return answer.done; });
  if (answer.failure) throw *answer.failure;
}

void LogSyncer::Enqueue(LogOffset end, Log::Done done) {
  wanted_ = std::max(wanted_, end);
  waiting_.emplace(end, std::move(done));
  wake_.notify_one();
}

LogOffset LogSyncer::durable_segment() const {
  std::lock_guard lock(mutex_);
  return durable_segment_;
}

std::string LogSyncer::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

LogSyncer::Counts LogSyncer::counts() const {
  std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.waiting = waiting_.size();
  return counts;
}

void LogSyncer::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool LogSyncer::Due() const { return wanted_ > durable() && failure_.empty(); }

bool LogSyncer::DueSoon() const {
  return policy_ == LogSync::kInterval && appended_.load() && failure_.empty();
}

void LogSyncer::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (Due()) {
      Gather(lock);
      SyncOnce(lock);
    } else if (DueSoon()) {
      if (!wake_.wait_for(lock, interval_, [&] { return stop_ || Due(); })) SyncOnce(lock);
    } else {
      wake_.wait(lock, [&] { return stop_ || Due() || DueSoon(); });
    }
  }
  if (failure_.empty() && end_() > durable()) SyncOnce(lock);
  stopped_ = true;
  CallWaiting(lock);
}

// Callers that wait for each of their records come back together just after a sync: one that begins
// with the first of them makes the others wait for the next. So it waits for as many as the last
// one served, for a small part of the time that a sync takes.
void LogSyncer::Gather(std::unique_lock<std::mutex>& lock) {
  if (last_served_ > 1) {
    const auto most = std::chrono::nanoseconds(last_sync_ns_ / 8);
    wake_.wait_for(lock, most, [&] { return stop_ || waiting_.size() >= last_served_; });
  }
  last_served_ = waiting_.size();
}

void LogSyncer::SyncOnce(std::unique_lock<std::mutex>& lock) {
  appended_.store(false);
  const LogOffset target = end_();
  const std::vector<std::shared_ptr<Segment>> segments = segments_;
  const bool names = std::exchange(names_changed_, false);
  lock.unlock();
  std::string failure;
  const int64_t begin = SteadyClock().Now();
  try {
    for (const auto& segment : segments) segment->Sync(fs_);
    if (names) fs_.SyncDirectory(directory_);
  } catch (const std::exception& error) {
    failure = fmt::format(
        "{}: {}; nothing is known of the records from {} on, and the log takes no more until it is "
        "opened anew",
        directory_, DescribeError(error), durable());
  }
  const int64_t took = SteadyClock().Now() - begin;
  lock.lock();
  ++counts_.syncs;
  counts_.sync_ns += took;
  last_sync_ns_ = took;
  if (!failure.empty()) {
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  } else {
    durable_.store(target, std::memory_order_release);
    durable_segment_ = segments.back()->first;
    // All but the newest have been written to their ends.
    std::erase_if(segments_,
                  [&](const auto& segment) { return segment->first < durable_segment_; });
  }
  CallWaiting(lock);
}

void LogSyncer::CallWaiting(std::unique_lock<std::mutex>& lock) {
  const bool fail = !failure_.empty() || stopped_;
  auto last = fail ? waiting_.end() : waiting_.upper_bound(durable());
  std::multimap<LogOffset, Log::Done> ready;
  while (waiting_.begin() != last) ready.insert(waiting_.extract(waiting_.begin()));
  const LogOffset durable_now = durable();
  const Error error = Refusal("the log was closed");
  lock.unlock();
  for (auto& [end, done] : ready) done(end <= durable_now ? nullptr : &error);
  ready.clear();
  lock.lock();
}

}  // namespace catamaran
