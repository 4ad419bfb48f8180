// exec/frame.h
//
// A Frame is one run of a function: the memory of its values, the contexts of its kernels with
// all pointers resolved, and where it stands. It is explicit, not on the C++ stack: a kernel that
// completes later leaves the frame as it is, and whoever completes it carries on from there.
// Frames are pooled by their ShapeInstance; a warm run allocates nothing.
//
// Thread safety: one run at a time. Inside a run, the interpreter and the ready-ops schedule see
// to it that each piece is touched by one thread at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "catamaran/base/memory.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/object_values.h"
#include "catamaran/exec/plan.h"
#include "catamaran/exec/profile.h"
#include "catamaran/exec/shape_instance.h"
#include "catamaran/exec/state.h"
#include "catamaran/exec/step_effects.h"
#include "catamaran/ir/kernel.h"

namespace catamaran {

class Frame;
struct Strand;

struct ExecContext : KernelContext {
  Frame* frame = nullptr;
  Strand* strand = nullptr;
  int node = -1;
  KernelFn kernel = nullptr;  // of a node that decides a size: what its step runs
};

// What the inner loop of the interpreter walks over.
struct Step {
  KernelFn run = nullptr;
  ExecContext* context = nullptr;
};

// Beside kDone and kPending: the step opens a block.
inline constexpr KernelStatus kControl = static_cast<KernelStatus>(2);

// A block that is being run.
struct Activation {
  const Step* next = nullptr;
  const Step* end = nullptr;
  int node = -1;  // the control node that opened it; -1 for the first
  int which = 0;  // which of the node's blocks
  int64_t counter = 0, limit = 0;
};

// A chain of activations that runs serially: the whole body in program order, one top-level node
// in the ready-ops schedule.
struct Strand {
  enum Waiting : int { kRunning, kSuspended, kCompleted };
  Frame* frame = nullptr;
  int top = -1;  // the top-level node, or -1 for the whole body
  std::vector<Activation> stack;
  int depth = 0;
  std::atomic<int> waiting = kRunning;
  const Op* pending = nullptr;  // the op that completes later
  int pending_node = -1;        // its node, and since when, while it is measured
  uint64_t pending_since = 0;
  std::exception_ptr completion_error;  // what it failed with
  std::exception_ptr error;             // why the strand ended early
};

class Frame final : public RunServices {
 public:
  explicit Frame(ShapeInstance& instance);
  ~Frame() override;

  // --- Before a run.
  // Takes the sizes of this run (as Plan::names); the instance stays until the run is over.
  void Bind(std::shared_ptr<ShapeInstance> instance, const int64_t* names,
            std::span<const FeedValue> feeds);
  // Ragged offsets by name.
  void SetOffsets(int name, const int64_t* offsets) {
    offsets_[static_cast<size_t>(name)] = offsets;
  }
  // The shape of a result; where a kernel will decide a size, the largest that it can be.
  Shape output_shape(size_t i) const;
  // How many offsets a ragged result has; 0 for others.
  int64_t output_num_offsets(size_t i) const;
  void SetFetch(size_t i, const FetchBuffer& fetch);

  // Starts the run and returns when it is over or suspended. `done` is called once the frame has
  // gone back to its pool.
  void Start(State& state, const RunOptions& options, ThreadPool& pool, RunDone done);
  // Gives the frame back without a run.
  void Abandon();

  // --- For the interpreter.
  const Plan& plan() const { return plan_; }
  Slot& slot(int i) { return slots_[static_cast<size_t>(i)]; }
  std::span<const Step> steps(int block) const {
    return {steps_.data() + block_begin_[static_cast<size_t>(block)],
            block_size_[static_cast<size_t>(block)]};
  }
  const CancelToken* cancel() const { return options_.cancel; }
  int64_t deadline() const { return options_.deadline; }
  bool breathes() const { return options_.breathes; }
  const Clock& clock() const { return state_->clock(); }
  // Where the ops of this run are counted, or null.
  FrameProfile* measuring() const { return measuring_; }
  // Called when a strand has come to its end, or failed.
  void StrandFinished(Strand& strand);
  // Carried values of the loop `node`: into its arguments, on to the next iteration, out of it.
  void EnterLoop(const PlanNode& node);
  void NextIteration(const PlanNode& node);
  void LeaveLoop(const PlanNode& node);
  void LeaveIf(const PlanNode& node, int which);
  // Around the kernel of a node that decides a size (decided_sizes.cc): makes its results as large
  // as they can be, and takes the size that the kernel has found to all that depend on it.
  void BoundDecidedSize(const PlanNode& node);
  void TakeDecidedSize(const PlanNode& node, int64_t size);

  // --- RunServices.
  Table* table(const Op& op, int state_index) override;
  TensorView state(const Op& op, int state_index) override;
  void Observe(const Op& op, int state_index, const TableObservation& seen) override {
    effects_.Observe(static_cast<size_t>(StateIndex(op, state_index)), op, seen);
  }
  void Push(const Op& op, int state_index, const TablePush& push) override {
    effects_.Push(static_cast<size_t>(StateIndex(op, state_index)), op, push);
  }
  void Refuse(const Op& op, const std::string& why) override;
  void CountUnwritten(int64_t count) override {
    unwritten_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t seed() const override { return state_->seed(); }
  int64_t step() const override { return step_; }
  int64_t event_time() const override { return options_.event_time; }
  bool cancelled() const override { return options_.cancel && options_.cancel->cancelled(); }
  Allocator& allocator() override;

 private:
  struct NodeTask : Task {
    Frame* frame = nullptr;
    int top = 0;
  };

  void MakeContexts();
  void MakeSteps();
  void MakeStrands();
  void FillConstant(size_t slot);
  void Reshape();
  void ReshapeSlot(size_t slot);
  void RebindKernel(size_t node);
  bool SameNames(const int64_t* names) const;
  void CollectDecided();
  std::vector<int> DecidedNames(const PlanNode& node) const;
  bool Settled(const std::vector<int>& names, int name) const;
  void ForgetDynamicNames();
  void BindStates();
  void CopyCarried(int from, int to);
  int StateIndex(const Op& op, int state_index) const;

  void RunBody();
  void RunTop(int top);
  int FinishTop(Strand& strand);
  void RecordError(int top, std::exception_ptr error);
  void FinishBody();
  void CopyOutputs();
  bool GuardsHold();
  void Commit();
  void PrepareEffects();
  void PrepareWrite(const PlanNode& node);
  void PrepareTables();
  void ApplyEffects();
  void Write(const PlanNode& node);
  void End(std::exception_ptr error);
  // With a profile (frame_profile.cc): before and after a run.
  void BeginProfile();
  void EndProfile();
  OpCost CostOfNode(size_t node);

  ShapeInstance& instance_;
  const Plan& plan_;
  std::shared_ptr<ShapeInstance> held_;  // while in use
  BufferRef arena_;
  std::vector<Slot> slots_;
  std::vector<Slot*> pointers_;
  std::vector<ExecContext> contexts_;  // by node
  std::vector<Step> steps_;
  std::vector<size_t> block_begin_, block_size_;
  std::vector<int> step_of_;                           // by node; -1: an effect
  std::vector<std::unique_ptr<ObjectValue>> objects_;  // of slots with storage kObject
  std::vector<int> late_aliases_;                      // slots on memory that each run brings
  std::vector<int> ragged_slots_;
  std::vector<std::unique_ptr<CarriedRows>> carried_rows_;  // by slot, of loop arguments

  // Sizes of this run.
  NameValues names_;
  NameValues bounds_;                    // as names_, before any kernel has decided
  std::vector<const int64_t*> offsets_;  // by name
  // What depends on a size that a kernel decides, by name.
  struct Dependents {
    std::vector<int> slots, nodes;
    std::vector<int> leading;  // results of its kernel of which it is the leading size
  };
  std::vector<Dependents> dependents_;
  std::mutex decide_mutex_;                    // two kernels may decide at once
  std::vector<bool> decided_;                  // by name, in this run
  std::vector<int> decider_;                   // by name: the node
  std::vector<bool> outdated_;                 // by node: its kernel was chosen for other sizes
  std::vector<ChosenKernel> dynamic_kernels_;  // by node, where it is dynamic
  std::vector<BufferRef> extra_scratch_;

  // The run.
  State* state_ = nullptr;
  State::Pinned version_;
  bool has_turn_ = false;
  int64_t step_ = 0;
  RunOptions options_;
  FrameProfile* measuring_ = nullptr;
  std::unique_ptr<FrameProfile> profile_;  // made by the first run with a profile
  ThreadPool* pool_ = nullptr;
  RunDone done_;
  RunStatus status_;
  std::vector<FetchBuffer> fetches_;
  std::vector<int> writes_;  // by state: how many of its writes this step has made
  StepEffects effects_;
  std::atomic<int64_t> unwritten_ = 0;

  Strand whole_;
  // Ready-ops.
  std::vector<std::unique_ptr<Strand>> strands_;
  std::vector<NodeTask> tasks_;
  std::unique_ptr<std::atomic<int>[]> waiting_for_;
  std::atomic<int> unfinished_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex error_mutex_;
  int error_top_ = -1;
  std::exception_ptr error_;
};

}  // namespace catamaran
