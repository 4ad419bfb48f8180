// stream/log/log_syncer.h
//
// Makes the end of a log durable, on a thread of its own: one sync for all who wait at a time. It
// syncs through handles of its own, so that nobody who appends waits for it.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

class LogSyncer {
 public:
  // Everything before `durable` is durable. `end` says how far the log goes now.
  LogSyncer(FileSystem& fs, std::string directory, const LogOptions& options, LogOffset durable,
            std::function<LogOffset()> end);
  ~LogSyncer();

  // As those of LogOptions, from now on; who waits already is called after a sync.
  void SetPolicy(LogSync policy, std::chrono::nanoseconds interval);

  // A segment to sync from now on. Before a record of it counts in `end`. `is_new`: its name is not
  // durable yet.
  void AddSegment(LogOffset first, const std::string& path, bool is_new);

  // Runs `change` on the newest segment's file while it is not open for syncing.
  void WhileNotSyncing(FunctionRef<void()> change);

  // A record was appended; the policy may want to know.
  void Appended();

  // As those of Log. REQUIRES: the log has reached `end`.
  void WhenDurable(LogOffset end, Log::Done done);
  void WaitDurable(LogOffset end);

  LogOffset durable() const { return durable_.load(std::memory_order_acquire); }
  // The newest segment whose name and head are durable.
  LogOffset durable_segment() const;

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Why a sync failed; empty while none has.
  std::string failure() const;

  // Syncs what there is and ends. Nobody waits afterwards.
  void Stop();

  struct Counts {
    uint64_t syncs = 0;
    int64_t sync_ns = 0;
    uint64_t waiting = 0;
  };
  Counts counts() const;

 private:
  struct Segment;

  void Run();
  bool Due() const;                             // somebody waits
  bool DueSoon() const;                         // the policy wants it within the interval
  void Enqueue(LogOffset end, Log::Done done);  // with the lock
  Error Refusal(std::string_view closed) const;
  void Gather(std::unique_lock<std::mutex>& lock);
  // One sync of all that there is, without the lock.
  void SyncOnce(std::unique_lock<std::mutex>& lock);
  void CallWaiting(std::unique_lock<std::mutex>& lock);

  FileSystem& fs_;
  const std::string directory_;
  std::atomic<LogSync> policy_;
  const std::function<LogOffset()> end_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::chrono::nanoseconds interval_ = {};
  std::vector<std::shared_ptr<Segment>> segments_;  // not wholly durable; the newest is the last
  bool names_changed_ = false;
  LogOffset durable_segment_ = 0;
  LogOffset wanted_ = 0;  // somebody waits until the log is durable up to here
  std::multimap<LogOffset, Log::Done> waiting_;
  size_t last_served_ = 0;
  int64_t last_sync_ns_ = 0;
  std::string failure_;
  bool stop_ = false;
  bool stopped_ = false;
  Counts counts_;
  std::atomic<LogOffset> durable_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> appended_ = false;  // since the last sync, where the policy syncs by time
  std::thread thread_;
};

}  // namespace catamaran
