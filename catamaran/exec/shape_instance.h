// exec/shape_instance.h
//
// A Plan with its dimensions bound: the shape of every slot, a kernel chosen and prepared for
// every op, sizes, scratch, and offsets in the arena. It is made once per binding of the named
// dimensions and then shared by all runs with that binding; each takes a Frame from its pool.
//
// Sizes that are not part of the key (ragged totals, `?`) have a capacity here, a power of two;
// a Frame knows what they are this time.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/plan.h"
#include "catamaran/ir/choose_kernel.h"

namespace catamaran {

class Frame;

// Values of Plan::names.
using NameValues = std::vector<int64_t>;

class ShapeInstance {
 public:
  // `values` has the capacity in place of a dynamic size. Throws an Error with the line when a
  // run-time check does not hold or no kernel fits.
  ShapeInstance(const Plan& plan, const CompileOptions& options, NameValues values);
  ~ShapeInstance();
  ShapeInstance(const ShapeInstance&) = delete;
  ShapeInstance& operator=(const ShapeInstance&) = delete;

  const Plan& plan() const { return plan_; }
  const CompileOptions& options() const { return options_; }
  const NameValues& values() const { return values_; }
  // Whether a run with these sizes fits: equal keys, capacities large enough.
  bool Fits(const int64_t* values) const;

  const std::vector<Slot>& slots() const { return slots_; }              // shapes, no data
  const std::vector<ChosenKernel>& kernels() const { return kernels_; }  // by node
  size_t offset(size_t slot) const { return offsets_[slot]; }
  size_t arena_bytes() const { return arena_bytes_; }
  size_t scratch_offset(size_t node) const { return scratch_offsets_[node]; }

  // A frame that nobody uses, or a new one.
  std::unique_ptr<Frame> TakeFrame();
  void GiveFrame(std::unique_ptr<Frame> frame);

  uint64_t last_used = 0;  // the Executable's

 private:
  void PlaceSlots();
  void PlaceScratch();

  const Plan& plan_;
  const CompileOptions& options_;
  const NameValues values_;
  std::vector<Slot> slots_;
  std::vector<ChosenKernel> kernels_;
  std::vector<size_t> offsets_;
  std::vector<size_t> scratch_offsets_;
  size_t arena_bytes_ = 0;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

// The value of `dim`; throws an Error when a name in it is not bound.
int64_t EvaluateDim(const Plan& plan, const int64_t* values, const Dim& dim);
// Fills in names that follow from others.
void DeriveNames(const Plan& plan, int64_t* values);
// The storage shape of a slot.
Shape EvaluateShape(const Plan& plan, const int64_t* values, const Type& type);
// Evaluates the run-time checks; with `dynamic_only` those that depend on dynamic names. Those that
// wait for a kernel to decide a size are left to the next function.
void CheckDims(const Plan& plan, const int64_t* values, bool dynamic_only);
// Evaluates the checks that depend on `name`, which a kernel has just decided, if all decided names
// that they depend on are `settled`.
void CheckDecidedDims(const Plan& plan, const int64_t* values, int name,
                      FunctionRef<bool(const std::vector<int>&)> settled);
// Chooses and prepares the kernel of a node for the shapes in `slots`.
void BindKernel(const Plan& plan, const CompileOptions& options, const PlanNode& node,
                std::vector<Slot>& slots, ChosenKernel& out);
// What an operand that was left out looks like.
Slot& NoSlot();

}  // namespace catamaran
