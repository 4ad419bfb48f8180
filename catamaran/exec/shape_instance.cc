#include "catamaran/exec/shape_instance.h"

#include <algorithm>
#include <map>

#include "catamaran/base/error.h"
#include "catamaran/base/memory.h"
#include "catamaran/base/small_vector.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/op_error.h"

namespace catamaran {
namespace {

size_t Align(size_t bytes) { return (bytes + kMemoryAlignment - 1) & ~(kMemoryAlignment - 1); }

// Free stretches of the arena while slots are placed in the order of their lives.
class ArenaPlanner {
 public:
  size_t Take(size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best == free_.end()) {
      // Grow the arena, from the free stretch at its end when there is one.
      size_t offset = end_;
      if (!free_.empty()) {
        auto last = std::prev(free_.end());
        if (last->first + last->second == end_) {
          offset = last->first;
          free_.erase(last);
        }
      }
      end_ = offset + bytes;
      return offset;
    }
    const auto [offset, size] = *best;
    free_.erase(best);
    if (size > bytes) free_.emplace(offset + bytes, size - bytes);
    return offset;
  }

  void Give(size_t offset, size_t bytes) {
    auto [it, added] = free_.emplace(offset, bytes);
    if (auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      auto before = std::prev(it);
      if (before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
    }
  }

  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> free_;  // offset to size; neighbours are joined
  size_t end_ = 0;
};

// Since when the two sides of a check are known.
enum class Known { kByKey, kByArguments, kByKernels };

Known KnownSince(const Plan& plan, const DimCheck& check) {
  Known since = Known::kByKey;
  const auto visit = [&](const std::string& name) {
    const int i = plan.FindName(name);
    if (i < 0) return;
    const PlanName& known = plan.names[static_cast<size_t>(i)];
    if (known.dynamic && since == Known::kByKey) since = Known::kByArguments;
    if (!known.decided.empty()) since = Known::kByKernels;
  };
  check.left.ForEachName(visit);
  check.right.ForEachName(visit);
  return since;
}

void FailUnlessEqual(const Plan& plan, const int64_t* values, const DimCheck& check) {
  const int64_t left = EvaluateDim(plan, values, check.left);
  const int64_t right = EvaluateDim(plan, values, check.right);
  if (left == right) return;
  throw LocatedError(fmt::format("{}: {} differ: {} is {} and {} is {}",
                                 plan.sources->ToString(check.at), check.what,
                                 check.left.ToString(), left, check.right.ToString(), right));
}

}  // namespace

Slot& NoSlot() {
  static Slot slot = [] {
    Slot none;
    none.tensor.shape = Shape{0};
    return none;
  }();
  return slot;
}

int64_t EvaluateDim(const Plan& plan, const int64_t* values, const Dim& dim) {
  if (dim.is_constant()) return dim.constant();
  const auto value = dim.Evaluate([&](const std::string& name) -> std::optional<int64_t> {
    const int i = plan.FindName(name);
    if (i < 0) return std::nullopt;
    return values[i];
  });
  if (!value) {
    Fail(ErrorCode::kInvalidProgram, "{}: the size {} does not follow from the arguments",
         plan.function_name, dim.ToString());
  }
  return *value;
}

void DeriveNames(const Plan& plan, int64_t* values) {
  for (size_t i = 0; i < plan.names.size(); ++i) {
    const PlanName& name = plan.names[i];
    if (name.derived) values[i] = EvaluateDim(plan, values, name.value);
  }
}

Shape EvaluateShape(const Plan& plan, const int64_t* values, const Type& type) {
  Shape shape;
  for (int axis = 0; axis < type.rank(); ++axis) {
    // A ragged pair [B, *T] is stored as one dimension T.
    if (axis + 1 == type.ragged_axis()) continue;
    shape.Append(EvaluateDim(plan, values, type.dim(axis)));
  }
  shape.num_elements();
  return shape;
}

void CheckDims(const Plan& plan, const int64_t* values, bool dynamic_only) {
  const Known wanted = dynamic_only ? Known::kByArguments : Known::kByKey;
  for (const DimCheck& check : plan.function->checks) {
    if (KnownSince(plan, check) == wanted) FailUnlessEqual(plan, values, check);
  }
}

void CheckDecidedDims(const Plan& plan, const int64_t* values, int name,
                      FunctionRef<bool(const std::vector<int>&)> settled) {
  for (const DimCheck& check : plan.function->checks) {
    if (KnownSince(plan, check) != Known::kByKernels) continue;
    std::vector<int> decided;
    const auto visit = [&](const std::string& part) {
      const int i = plan.FindName(part);
      if (i < 0) return;
      const std::vector<int>& on = plan.names[static_cast<size_t>(i)].decided;
      decided.insert(decided.end(), on.begin(), on.end());
    };
    check.left.ForEachName(visit);
    check.right.ForEachName(visit);
    if (std::find(decided.begin(), decided.end(), name) == decided.end()) continue;
    if (settled(decided)) FailUnlessEqual(plan, values, check);
  }
}

void BindKernel(const Plan& plan, const CompileOptions& options, const PlanNode& node,
                std::vector<Slot>& slots, ChosenKernel& out) {
  SmallVector<Slot*, 16> ins, outs;
  for (const int slot : node.ins) {
    ins.push_back(slot < 0 ? &NoSlot() : &slots[static_cast<size_t>(slot)]);
  }
  for (const int slot : node.outs) outs.push_back(&slots[static_cast<size_t>(slot)]);
  NamingOp(*node.op, *plan.sources, [&] {
    KernelQuery query;
    query.op = node.op;
    query.in = {ins.data(), ins.size()};
    query.out = {outs.data(), outs.size()};
    query.isa = options.isa;
    out = ChooseKernel(query, options.force_kernel);
  });
}

ShapeInstance::ShapeInstance(const Plan& plan, const CompileOptions& options, NameValues values)
    : plan_(plan), options_(options), values_(std::move(values)) {
  CheckDims(plan, values_.data(), false);
  slots_.resize(plan.slots.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const PlanSlot& slot = plan.slots[i];
    if (!slot.type.is_tensor()) {
      if (slot.type.is_rows()) {
        slots_[i].tensor.dtype = slot.type.dtype();
        slots_[i].tensor.shape = EvaluateShape(plan, values_.data(), slot.type);
      }
      continue;
    }
    slots_[i].tensor.dtype = slot.type.dtype();
    const auto evaluate = [&] {
      slots_[i].tensor.shape = EvaluateShape(plan, values_.data(), slot.type);
    };
    if (slot.value != nullptr && slot.value->def() != nullptr) {
      NamingOp(*slot.value->def(), *plan.sources, evaluate);
    } else {
      evaluate();
    }
    if (slot.type.is_ragged()) {
      slots_[i].num_rows = EvaluateDim(plan, values_.data(), slot.type.dim(0));
    }
  }
  kernels_.resize(plan.nodes.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    if (!HasKernel(node)) continue;
    BindKernel(plan, options, node, slots_, kernels_[i]);
  }
  PlaceSlots();
  PlaceScratch();
}

ShapeInstance::~ShapeInstance() = default;

bool ShapeInstance::Fits(const int64_t* values) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const PlanName& name = plan_.names[i];
    if (name.derived) continue;
    if (name.dynamic ? values[i] > values_[i] : values[i] != values_[i]) return false;
  }
  return true;
}

void ShapeInstance::PlaceSlots() {
  offsets_.assign(slots_.size(), 0);
  const bool reuse = options_.schedule == Schedule::kProgramOrder;
  std::vector<int> begins, ends;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Storage storage = plan_.slots[i].storage;
    const bool placed = storage == Storage::kArena || storage == Storage::kStateCopy;
    if (placed && plan_.slots[i].last >= plan_.slots[i].first)
      begins.push_back(static_cast<int>(i));
  }
  const auto first = [&](int slot) { return plan_.slots[static_cast<size_t>(slot)].first; };
  const auto last = [&](int slot) { return plan_.slots[static_cast<size_t>(slot)].last; };
  const auto bytes = [&](int slot) {
    return Align(std::max<size_t>(1, slots_[static_cast<size_t>(slot)].tensor.num_bytes()));
  };
  ends = begins;
  std::stable_sort(begins.begin(), begins.end(), [&](int a, int b) { return first(a) < first(b); });
  std::stable_sort(ends.begin(), ends.end(), [&](int a, int b) { return last(a) < last(b); });
  ArenaPlanner arena;
  size_t next_end = 0;
  for (const int slot : begins) {
    // What was last used before this position is free; what is used at it is an operand.
    while (reuse && next_end < ends.size() && last(ends[next_end]) < first(slot)) {
      const int done = ends[next_end++];
      arena.Give(offsets_[static_cast<size_t>(done)], bytes(done));
    }
    offsets_[static_cast<size_t>(slot)] = arena.Take(bytes(slot));
  }
  arena_bytes_ = arena.end();
  // Constants keep their place for the whole life of a frame.
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (plan_.slots[i].storage != Storage::kConstant) continue;
    offsets_[i] = arena_bytes_;
    arena_bytes_ += 8;
  }
  arena_bytes_ = Align(arena_bytes_);
}

void ShapeInstance::PlaceScratch() {
  // In program order one op runs at a time, and all share one stretch.
  const bool share = options_.schedule == Schedule::kProgramOrder;
  scratch_offsets_.assign(kernels_.size(), arena_bytes_);
  size_t end = arena_bytes_;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const size_t bytes = Align(kernels_[i].scratch);
    if (share) {
      end = std::max(end, arena_bytes_ + bytes);
    } else {
      scratch_offsets_[i] = end;
      end += bytes;
    }
  }
  arena_bytes_ = end;
}

std::unique_ptr<Frame> ShapeInstance::TakeFrame() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

void ShapeInstance::GiveFrame(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(frame));
}

}  // namespace catamaran
