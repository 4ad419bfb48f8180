// serve/learning_switch.h
//
// Learning of a model whose program is replaced while it goes on. All versions of the model share
// one switch: what they and the wires call goes to the learner of the newest version. While one
// learner ends and the next one begins, calls wait, in their order, and are made then, so that none
// is dropped. Impressions do not wait: the learner that has ended writes them to the log.
//
// Thread safety: all methods may be called concurrently, but Hold, Add and Go by one thread at a
// time.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "catamaran/serve/learning.h"

namespace catamaran {

class LearningSwitch : public std::enable_shared_from_this<LearningSwitch> {
 public:
  // More calls than this, or more bytes in them, are refused while they would wait.
  static constexpr size_t kMaxHeldCalls = 100'000;
  static constexpr size_t kMaxHeldBytes = size_t{256} << 20;

  // Learning as a version of the model sees it: `learner` is the one that calls go to from now on,
  // and its state is the version's. Stop ends this learner alone.
  std::shared_ptr<Learning> Add(std::shared_ptr<Learning> learner);
  // Puts `learner` in the place of the one that `version`, which Add gave, had.
  void Restore(Learning& version, std::shared_ptr<Learning> learner);
  // Calls go to the learner of `version` again, as it is.
  void Return(Learning& version);
  // The learner that calls go to has failed: nothing holds it here any more.
  void Drop();

  // Calls wait from now on, but for impressions; returns when those before have reached the
  // learner.
  void Hold();
  // Makes the calls that wait, and lets others pass again.
  void Go();

 private:
  friend class VersionLearning;
  using Call = std::function<void(Learning&)>;
  struct Watcher {
    std::recursive_mutex mutex;  // held while `changed` runs, which may unwatch
    bool gone = false;
    std::function<bool(const LearningStatus&)> changed;
  };
  struct Watched {
    std::shared_ptr<Watcher> watcher;
    uint64_t number = 0;  // the learner's; 0: it does not know of it
  };

  std::shared_ptr<Learning> current() const;
  void SetCurrent(std::shared_ptr<Learning> learner);
  // Calls it now, or when there is a learner again. False: too many wait.
  bool Pass(size_t bytes, const Call& call);
  void Connect(uint64_t watch, Learning& learner);
  uint64_t Watch(std::function<bool(const LearningStatus&)> changed);
  void Unwatch(uint64_t watch);

  mutable std::mutex mutex_;
  std::shared_ptr<Learning> current_;
  bool held_ = false;
  int passing_ = 0;                 // calls that are on their way to current_
  std::condition_variable passed_;  // when there are none
  std::deque<Call> waiting_;
  size_t waiting_bytes_ = 0;
  std::map<uint64_t, Watched> watchers_;
  uint64_t next_watch_ = 1;
};

}  // namespace catamaran
