// exec/state.h
//
// A State holds the values of a program's declarations: params and vars as tensors, tables as
// tables, the count of committed steps and the seed. It is made from a flat Program and a seed;
// one Executable serves many States.
//
// Trains are serial: a run with a commit region holds the State's turn to write from its start
// to its end and works in place on a private head. Pure functions read published versions: they
// pin the newest one, without a lock, and see one version of all params and vars. The head is
// copied when it is published; a State that nobody reads is never copied. Tables are not
// versioned, and optimizer slots (declared with `slot = true`) never are.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/clock.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/exec/table_factory.h"
#include "catamaran/exec/versions.h"
#include "catamaran/ir/program.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

// When a committed step becomes visible to readers.
struct PublishPolicy {
  int64_t every_steps = 1;
  int64_t every_nanoseconds = 0;  // not 0: also no more often than this
};

struct StateOptions {
  PublishPolicy publish;
  int max_versions = 8;
  const Clock* clock = &SteadyClock();  // for the policy and for deadlines; outlives the State
  TableOptions tables;
  // Seeds of tables by path, where they are not a function of the State's: a table that was saved
  // keeps its own.
  std::map<std::string, uint64_t, std::less<>> table_seeds;
};

// One declaration of a State, as it is now.
struct StateInfo {
  StateKind kind = StateKind::kParam;
  std::string_view name;
  DType dtype = DType::kF32;
  Shape shape;             // of a table: of one row
  bool versioned = false;  // pure functions see published versions of it
  Location at;
};

class State {
 public:
  // Initialises everything. Throws an Error at the declaration's line when an initialiser or a
  // setting makes no sense.
  static std::unique_ptr<State> Create(const Program& flat, uint64_t seed,
                                       const StateOptions& options = {});
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  uint64_t seed() const { return seed_; }
  // Committed steps. While a train runs: before it.
  int64_t step() const { return step_.load(std::memory_order_acquire); }
  // The event time of the newest committed step; 0 before the first.
  int64_t event_time() const { return event_time_.load(std::memory_order_acquire); }

  // --- Inspection. These wait for the turn to write, and see the trainer's head.
  size_t size() const { return entries_.size(); }
  StateInfo info(size_t i) const;
  // An index, or -1.
  int Find(std::string_view path) const;
  // A copy. Throws an Error, with a suggestion, when there is no param or var of that name.
  Tensor GetTensor(std::string_view path) const;
  // Copies `value` in; readers see it at once. An Error if the type differs.
  void SetTensor(std::string_view path, const Tensor& value);
  // Params and vars in the order of their declaration; the tensor is a view of the head, good
  // during the call.
  void ForEach(FunctionRef<void(const StateInfo&, const Tensor&)> visit) const;
  void SetStep(int64_t step);
  void SetStep(int64_t step, int64_t event_time);
  // REQUIRES: `path` is a table's.
  DurableTable& table(std::string_view path) const;

  // --- For readers.
  class Pinned {
   public:
    Pinned() = default;
    Pinned(Pinned&& other) noexcept;
    Pinned& operator=(Pinned&& other) noexcept;
    ~Pinned() { Release(); }
    const Version& operator*() const { return *version_; }
    const Version* operator->() const { return version_; }
    explicit operator bool() const { return version_ != nullptr; }
    void Release();

   private:
    friend class State;
    VersionPool* pool_ = nullptr;
    const Version* version_ = nullptr;
  };
  // The newest version, held until it is released. The first reader of a State waits for the
  // turn to write, once; throws an Error if that does not come before `deadline` (by the
  // State's clock; 0: none).
  Pinned Pin(int64_t deadline = 0);
  // Publishes the head now, whatever the policy says. False when all versions are in use.
  bool Publish();
  uint64_t publications() const { return versions_.publications(); }
  uint64_t skipped_publications() const { return versions_.skipped(); }
  uint64_t bytes_copied() const { return versions_.bytes_copied(); }
  const Clock& clock() const { return *clock_; }

  // --- For the executor.
  // Takes the turn to write; throws an Error when it does not come before `deadline`. Turns come
  // in the order in which they were asked for, so that whoever needs one between two steps (a
  // commit) gets it while training goes on. It may be given back on another thread.
  void TakeTurn(int64_t deadline = 0) const;
  void GiveTurn() const;
  // The rest REQUIRES: the caller has the turn.
  TensorView head(size_t i) { return entries_[i].head.view(); }
  Table* table_at(size_t i) { return entries_[i].table.get(); }
  void MarkChanged(size_t i) { entries_[i].changed = true; }
  // One more committed step: advances the count and publishes as the policy says. What cannot be
  // published for want of memory is skipped, and counted.
  void FinishStep(int64_t event_time = 0) noexcept;
  // A step was applied in part: from now on CheckWhole throws, so nothing can be trained or saved.
  void Break(const std::string& why) noexcept;
  // An internal Error that says why the state is not what whole steps made of it, if it is not.
  void CheckWhole() const;

  // --- For whoever saves. The tables of a State know what has changed since they were saved, so
  // there is one saver at a time: it holds this. An Error if there is one.
  class Saver {
   public:
    explicit Saver(State& state);
    ~Saver() { state_->has_saver_.store(false, std::memory_order_release); }
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;

   private:
    State* const state_;
  };

  // Equal for programs with equal declarations (kinds, names, types, order).
  uint64_t fingerprint() const { return fingerprint_; }
  static uint64_t Fingerprint(const Program& flat);

 private:
  struct Entry {
    StateKind kind = StateKind::kParam;
    std::string name;
    bool versioned = false;
    bool changed = false;  // since the last publication
    Location at;
    Tensor head;  // of a table: empty
    Shape shape;
    std::unique_ptr<DurableTable> table;
  };
  class Turn;

  State(uint64_t seed, const StateOptions& options);
  const Entry& FindDense(std::string_view path) const;
  bool PublishWithTurn();
  StateInfo InfoOf(const Entry& entry) const;

  const uint64_t seed_;
  const PublishPolicy policy_;
  const Clock* const clock_;
  uint64_t fingerprint_ = 0;
  std::atomic<int64_t> step_ = 0;
  std::atomic<int64_t> event_time_ = 0;
  std::atomic<bool> has_saver_ = false;
  std::atomic<bool> broken_ = false;  // `broken_why_` says why; both by the holder of the turn
  std::string broken_why_;
  std::unique_ptr<ScratchDirectory> scratch_;  // of tables with rows on disk
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;

  VersionPool versions_;
  std::vector<Publishable> publishable_;
  int64_t published_step_ = 0;
  int64_t published_at_ = 0;

  // Somebody who waits for the turn; lies on the waiter's stack.
  struct Waiter {
    std::condition_variable came;
    bool has_turn = false;
    Waiter* next = nullptr;  // who came after it
  };
  mutable std::mutex turn_mutex_;
  mutable Waiter* first_waiter_ = nullptr;
  mutable bool turn_taken_ = false;
};

// Whether pure functions see published versions of it: params and vars that are not an
// optimizer's slots.
bool IsVersioned(const StateDecl& decl);

}  // namespace catamaran
