// exec/executable.h
//
// An Executable is one function, compiled: immutable, shared by any number of threads and
// States. Run binds the arguments' dimensions (a ShapeInstance per binding, in a bounded cache),
// takes a pooled frame and runs it; in the steady state it looks up no string and allocates
// nothing besides results that the caller did not bring memory for.
//
// A function without a commit region runs on a pinned version of the State, concurrently with
// everything else. One with a commit region holds the State's turn to write from start to end.
//
// Errors: a wrong argument is thrown by the call itself; what goes wrong inside names the user's
// line and op ("models/x.ctm:7: div: …") and, where the op came out of builders or calls, the way
// to it.

#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/thread_pool.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/plan.h"
#include "catamaran/exec/state.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

class Frame;
class Profile;
class ShapeInstance;

// One argument, borrowed until the run completes. A ragged one also has offsets: one more than
// there are sequences, from 0 to the number of values; they may be left out where another
// argument with the same ragged dimension has them.
struct FeedValue {
  TensorView tensor;
  const int64_t* offsets = nullptr;
  int64_t num_offsets = 0;

  FeedValue() = default;
  FeedValue(const Tensor& values) : tensor(values.view()) {}  // NOLINT
  FeedValue(const Tensor& values, const Tensor& with_offsets)
      : tensor(values.view()),
        offsets(with_offsets.data<int64_t>().data()),
        num_offsets(with_offsets.num_elements()) {}
};

// Where one result goes. Without data it is not fetched.
//
// Where a kernel decides the size of a result (`unique`), the buffer must hold the largest that it
// can be, which `shape` says before the run; what it was in the end goes to `final_shape`.
struct FetchBuffer {
  void* data = nullptr;
  size_t capacity = 0;           // bytes
  Shape shape;                   // set when the run begins
  Shape* final_shape = nullptr;  // set when it ends; outlives the run
  int64_t* offsets = nullptr;    // of a ragged result: one more than it has sequences
};

// Set from any thread to end a run early. It takes effect between two ops before the commit
// region, or not at all.
class CancelToken {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

struct RunOptions {
  int64_t event_time = 0;               // nanoseconds since 1970; the only clock that tables see
  int64_t deadline = 0;                 // by the State's clock; 0: none
  const CancelToken* cancel = nullptr;  // outlives the run
  Profile* profile = nullptr;           // where its time is counted; null: nowhere
  // Its thread may be one that gives way (base/background.h): it is asked for between ops.
  bool breathes = false;
};

struct RunStatus {
  bool committed = false;  // the commit region was applied
  bool refused = false;    // a guard, or a gradient that is not finite: nothing has changed
  int64_t step = 0;        // committed steps of the state that was read, or after the commit
  // Rows and parameters of which the step left something as it was, because the next value would
  // not have been finite.
  int64_t unwritten = 0;
  std::string why;  // of a refusal: what refused the step, with the line; else empty
};

struct RunResult : RunStatus {
  std::vector<Tensor> outputs;
  // By output: of a ragged result its offsets, else an empty tensor.
  std::vector<Tensor> offsets;
};

// Called once, from the thread that ran the last op. `error` is null when all went well.
struct RunDone {
  void (*call)(void* context, const RunStatus& status, std::exception_ptr error) = nullptr;
  void* context = nullptr;
};

class Executable {
 public:
  Executable(std::unique_ptr<const Plan> plan, const CompileOptions& options);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const std::string& name() const { return plan_->function_name; }
  bool commits() const { return plan_->commits; }
  size_t num_inputs() const { return plan_->inputs.size(); }
  size_t num_outputs() const { return plan_->outputs.size(); }
  const std::string& input_name(size_t i) const { return plan_->inputs.at(i).name; }
  const Type& input_type(size_t i) const { return plan_->inputs.at(i).type; }
  const std::string& output_name(size_t i) const { return plan_->outputs.at(i).name; }
  const Type& output_type(size_t i) const { return plan_->outputs.at(i).type; }
  // Throws an Error, with a suggestion, when there is none of that name.
  size_t input_index(std::string_view input) const;
  size_t output_index(std::string_view output) const;

  // Runs and waits. `feeds` by the index of the argument; `fetches` by that of the result, or
  // empty.
  RunStatus Run(State& state, std::span<const FeedValue> feeds, std::span<FetchBuffer> fetches,
                const RunOptions& options = {}) const;
  // The same with new tensors for all results.
  RunResult Run(State& state, std::span<const FeedValue> feeds,
                const RunOptions& options = {}) const;
  // Without arguments.
  RunResult Run(State& state) const { return Run(state, std::span<const FeedValue>()); }
  // By name. The offsets of a ragged argument `x` are fed as `x.offsets`.
  RunResult Run(State& state, const std::map<std::string, Tensor>& feeds,
                const RunOptions& options = {}) const;

  // Starts a run and returns, maybe after it is done. Feeds, fetch buffers (not the span), the
  // State and this Executable must stay until `done` has returned. A run that waits for its turn
  // to write waits here.
  void RunAsync(State& state, std::span<const FeedValue> feeds, std::span<FetchBuffer> fetches,
                const RunOptions& options, RunDone done) const;

  // For tests and tools.
  const Plan& plan() const { return *plan_; }
  const CompileOptions& options() const { return options_; }
  size_t num_shape_instances() const;
  // Bytes of the arena for the shapes of `feeds`.
  size_t ArenaBytes(std::span<const FeedValue> feeds) const;
  // Which kernel runs each op for these shapes: "matmul: onednn".
  std::vector<std::string> KernelChoices(std::span<const FeedValue> feeds) const;

 private:
  struct Binding;
  struct Waiter;
  std::shared_ptr<ShapeInstance> FindInstance(const Binding& binding) const;
  void BindFeeds(std::span<const FeedValue> feeds, Binding& binding) const;
  Frame* Prepare(std::span<const FeedValue> feeds) const;
  RunStatus RunFrame(Frame* frame, State& state, const RunOptions& options) const;
  [[noreturn]] void FailInput(size_t i, const std::string& problem) const;

  const CompileOptions options_;
  const std::unique_ptr<const Plan> plan_;
  mutable ThreadPool pool_;

  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<ShapeInstance>> instances_;
  mutable uint64_t tick_ = 0;
};

}  // namespace catamaran
