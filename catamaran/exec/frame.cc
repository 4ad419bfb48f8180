#include "catamaran/exec/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/exec/interpreter.h"
#include "catamaran/exec/op_error.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

// Of tensors without elements, so that they do not look left out.
alignas(kMemoryAlignment) std::byte no_elements[kMemoryAlignment];

void* OrNoElements(void* data) { return data ? data : no_elements; }

// Slots whose memory comes with each run.
bool IsLate(Storage storage) { return storage == Storage::kFeed || storage == Storage::kState; }

}  // namespace

Frame::Frame(ShapeInstance& instance)
    : instance_(instance),
      plan_(instance.plan()),
      arena_(BufferRef::Allocate(std::max<size_t>(instance.arena_bytes(), 1))),
      slots_(instance.slots()),
      names_(instance.values()),
      effects_(plan_.state_names.size()) {
  offsets_.resize(plan_.names.size());
  fetches_.resize(plan_.outputs.size());
  objects_.resize(slots_.size());
  carried_rows_.resize(slots_.size());
  dynamic_kernels_.resize(plan_.has_dynamic ? plan_.nodes.size() : 0);
  extra_scratch_.resize(dynamic_kernels_.size());
  writes_.resize(plan_.state_names.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const PlanSlot& slot = plan_.slots[i];
    if (slot.type.is_ragged()) ragged_slots_.push_back(static_cast<int>(i));
    switch (slot.storage) {
      case Storage::kArena:
      case Storage::kStateCopy:
        slots_[i].tensor.data = arena_.data() + instance.offset(i);
        break;
      case Storage::kConstant:
        slots_[i].tensor.data = arena_.data() + instance.offset(i);
        FillConstant(i);
        break;
      case Storage::kAlias: {
        slots_[i].tensor.data = slots_[static_cast<size_t>(slot.source)].tensor.data;
        bool late = false;
        for (const int root : slot.roots) {
          late = late || IsLate(plan_.slots[static_cast<size_t>(root)].storage);
        }
        if (late) late_aliases_.push_back(static_cast<int>(i));
        break;
      }
      case Storage::kObject:
        objects_[i] = MakeObject(slot.type);
        slots_[i].object = objects_[i]->pointer();
        break;
      case Storage::kFeed:
      case Storage::kState:
      case Storage::kPointer:
        break;
    }
  }
  MakeContexts();
  MakeSteps();
  MakeStrands();
  CollectDecided();
  ForgetDynamicNames();
}

Frame::~Frame() = default;

void Frame::MakeContexts() {
  size_t total = 0;
  for (const PlanNode& node : plan_.nodes) total += node.ins.size() + node.outs.size();
  pointers_.reserve(total);
  contexts_.resize(plan_.nodes.size());
  for (size_t i = 0; i < contexts_.size(); ++i) {
    const PlanNode& node = plan_.nodes[i];
    ExecContext& context = contexts_[i];
    context.ins = pointers_.data() + pointers_.size();
    for (const int in : node.ins) {
      pointers_.push_back(in < 0 ? &NoSlot() : &slots_[static_cast<size_t>(in)]);
    }
    context.outs = pointers_.data() + pointers_.size();
    for (const int out : node.outs) pointers_.push_back(&slots_[static_cast<size_t>(out)]);
    context.num_ins = static_cast<int>(node.ins.size());
    context.num_outs = static_cast<int>(node.outs.size());
    context.op = node.op;
    context.run = this;
    context.complete = &OnComplete;
    context.frame = this;
    context.node = static_cast<int>(i);
    const ChosenKernel& kernel = instance_.kernels()[i];
    context.sizes_data = kernel.sizes.data();
    context.prepared = kernel.prepared.get();
    context.scratch = arena_.data() + instance_.scratch_offset(i);
  }
}

void Frame::MakeSteps() {
  step_of_.assign(plan_.nodes.size(), -1);
  for (const PlanBlock& block : plan_.blocks) {
    block_begin_.push_back(steps_.size());
    block_size_.push_back(block.nodes.size());
    for (const int index : block.nodes) {
      Step step;
      step_of_[static_cast<size_t>(index)] = static_cast<int>(steps_.size());
      step.context = &contexts_[static_cast<size_t>(index)];
      switch (plan_.nodes[static_cast<size_t>(index)].kind) {
        case NodeKind::kKernel:
          step.run = instance_.kernels()[static_cast<size_t>(index)].run;
          if (plan_.nodes[static_cast<size_t>(index)].decides >= 0) {
            step.context->kernel = std::exchange(step.run, &RunDeciding);
          }
          break;
        case NodeKind::kAlias:
          step.run = &RunAlias;
          break;
        case NodeKind::kKey:
          step.run = &RunKey;
          break;
        case NodeKind::kIf:
        case NodeKind::kFor:
        case NodeKind::kWhile:
          step.run = &RunControl;
          break;
      }
      steps_.push_back(step);
    }
  }
}

void Frame::MakeStrands() {
  whole_.frame = this;
  whole_.stack.resize(static_cast<size_t>(plan_.max_depth) + 1);
  for (ExecContext& context : contexts_) context.strand = &whole_;
  const bool ready =
      instance_.options().schedule == Schedule::kReadyOps && instance_.options().threads > 1;
  if (!ready) return;
  const size_t n = plan_.blocks[0].nodes.size();
  tasks_.resize(n);
  waiting_for_ = std::make_unique<std::atomic<int>[]>(n);
  for (size_t i = 0; i < n; ++i) {
    strands_.push_back(std::make_unique<Strand>());
    strands_[i]->frame = this;
    strands_[i]->top = static_cast<int>(i);
    const PlanNode& node = plan_.nodes[static_cast<size_t>(plan_.blocks[0].nodes[i])];
    strands_[i]->stack.resize(node.blocks[0] >= 0 ? whole_.stack.size() : 1);
    tasks_[i].frame = this;
    tasks_[i].top = static_cast<int>(i);
    tasks_[i].run = [](Task* task) {
      NodeTask& self = *static_cast<NodeTask*>(task);
      self.frame->RunTop(self.top);
    };
  }
  for (size_t i = 0; i < contexts_.size(); ++i) {
    const int top = plan_.nodes[i].top;
    if (top >= 0) contexts_[i].strand = strands_[static_cast<size_t>(top)].get();
  }
}

void Frame::FillConstant(size_t i) {
  const Op& op = *plan_.slots[i].value->def();
  const Attr& value = op.attr("value");
  const TensorView out = slots_[i].tensor;
  NamingOp(op, *plan_.sources, [&] {
    int64_t integer = 0;
    double number = 0;
    TensorView from;
    if (op.Is("dim")) {
      integer = EvaluateDim(plan_, names_.data(), value.AsDim());
      from = {&integer, DType::kI64, {}};
    } else if (const bool* flag = value.get<bool>()) {
      integer = *flag;
      from = {&integer, DType::kI64, {}};
    } else if (value.get<Dim>()) {
      integer = EvaluateDim(plan_, names_.data(), value.AsDim());
      from = {&integer, DType::kI64, {}};
    } else {
      number = value.AsDouble();
      from = {&number, DType::kF64, {}};
    }
    CastInto(from, out);
  });
}

// ---- Binding.

void Frame::Bind(std::shared_ptr<ShapeInstance> instance, const int64_t* names,
                 std::span<const FeedValue> feeds) {
  held_ = std::move(instance);
  bounds_.assign(names, names + names_.size());
  if (plan_.has_dynamic && !SameNames(names)) {
    std::copy_n(names, names_.size(), names_.begin());
    try {
      Reshape();
    } catch (...) {
      ForgetDynamicNames();
      throw;
    }
  }
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    slots_[static_cast<size_t>(plan_.inputs[i].slot)].tensor.data =
        OrNoElements(feeds[i].tensor.data);
  }
  for (const int i : ragged_slots_) {
    const int name = plan_.FindName(plan_.slots[static_cast<size_t>(i)].type.ragged_name());
    if (const int64_t* offsets = offsets_[static_cast<size_t>(name)]) {
      slots_[static_cast<size_t>(i)].offsets = offsets;
    }
  }
  for (FetchBuffer& fetch : fetches_) fetch = {};
  decided_.assign(decided_.size(), false);
}

// So that the next run finds them changed, whatever they are.
void Frame::ForgetDynamicNames() {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (plan_.names[i].dynamic && plan_.names[i].decided.empty()) names_[i] = -1;
  }
}

void Frame::ReshapeSlot(size_t i) {
  const PlanSlot& slot = plan_.slots[i];
  if (slot.storage == Storage::kConstant) {
    FillConstant(i);
  } else if (slot.type.is_tensor()) {
    slots_[i].tensor.shape = EvaluateShape(plan_, names_.data(), slot.type);
    if (slot.type.is_ragged()) {
      slots_[i].num_rows = EvaluateDim(plan_, names_.data(), slot.type.dim(0));
    }
  }
}

// Chooses the kernel of a node again, for the shapes that its slots have now.
void Frame::RebindKernel(size_t index) {
  ChosenKernel& kernel = dynamic_kernels_[index];
  BindKernel(plan_, instance_.options(), plan_.nodes[index], slots_, kernel);
  ExecContext& context = contexts_[index];
  context.sizes_data = kernel.sizes.data();
  context.prepared = kernel.prepared.get();
  if (kernel.scratch > instance_.kernels()[index].scratch &&
      kernel.scratch > extra_scratch_[index].size()) {
    extra_scratch_[index] = BufferRef::Allocate(kernel.scratch);
    context.scratch = extra_scratch_[index].data();
  }
  if (plan_.nodes[index].decides >= 0) {
    context.kernel = kernel.run;
  } else if (step_of_[index] >= 0) {
    steps_[static_cast<size_t>(step_of_[index])].run = kernel.run;
  }
}

// The dynamic sizes are others than in the run before.
void Frame::Reshape() {
  CheckDims(plan_, names_.data(), true);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (plan_.slots[i].dynamic) ReshapeSlot(i);
  }
  for (size_t i = 0; i < plan_.nodes.size(); ++i) {
    if (plan_.nodes[i].dynamic && HasKernel(plan_.nodes[i])) RebindKernel(i);
  }
}

Shape Frame::output_shape(size_t i) const {
  const auto slot = static_cast<size_t>(plan_.outputs[i].slot);
  if (plan_.slots[slot].decided.empty()) return slots_[slot].tensor.shape;
  return EvaluateShape(plan_, bounds_.data(), plan_.slots[slot].type);
}

int64_t Frame::output_num_offsets(size_t i) const {
  const Type& type = plan_.outputs[i].type;
  if (!type.is_tensor() || !type.is_ragged()) return 0;
  return EvaluateDim(plan_, bounds_.data(), type.dim(0)) + 1;
}

void Frame::SetFetch(size_t i, const FetchBuffer& fetch) {
  const PlanOutput& output = plan_.outputs[i];
  if (!output.type.is_tensor()) {
    Fail("{}: result {} is {} and cannot be fetched", plan_.function_name, i,
         output.type.ToString());
  }
  const size_t bytes =
      static_cast<size_t>(output_shape(i).num_elements()) * SizeOf(output.type.dtype());
  if (fetch.capacity < bytes) {
    Fail("{}: result {} ({}) has {} bytes; the buffer has {}", plan_.function_name, i,
         output.type.ToString(), bytes, fetch.capacity);
  }
  fetches_[i] = fetch;
}

void Frame::BindStates() {
  for (const int i : plan_.state_slots) {
    Slot& slot = slots_[static_cast<size_t>(i)];
    const PlanSlot& planned = plan_.slots[static_cast<size_t>(i)];
    const auto state = static_cast<size_t>(planned.source);
    void* data =
        has_turn_ ? state_->head(state).data : const_cast<std::byte*>(version_->data(state));
    if (planned.storage == Storage::kState) {
      slot.tensor.data = OrNoElements(data);
    } else if (data != nullptr) {
      std::memcpy(slot.tensor.data, data, slot.tensor.num_bytes());
    }
  }
  for (const int i : late_aliases_) {
    const int source = plan_.slots[static_cast<size_t>(i)].source;
    slots_[static_cast<size_t>(i)].tensor.data = slots_[static_cast<size_t>(source)].tensor.data;
  }
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const PlanOutput& output = plan_.outputs[i];
    if (!output.direct) continue;
    const auto slot = static_cast<size_t>(output.slot);
    slots_[slot].tensor.data =
        fetches_[i].data ? fetches_[i].data : arena_.data() + instance_.offset(slot);
  }
  for (const auto& object : objects_) {
    if (object) object->Reset();
  }
}

// ---- RunServices.

int Frame::StateIndex(const Op& op, int state_index) const {
  const auto found = plan_.node_of.find(&op);
  CATAMARAN_CHECK(found != plan_.node_of.end(), "{} is not an op of this run", op.name());
  return plan_.nodes[static_cast<size_t>(found->second)].states[static_cast<size_t>(state_index)];
}

Table* Frame::table(const Op& op, int state_index) {
  const auto state = static_cast<size_t>(StateIndex(op, state_index));
  Table* table = state_->table_at(state);
  CATAMARAN_CHECK(table != nullptr, "@{} is not a table", plan_.state_names[state]);
  return table;
}

TensorView Frame::state(const Op& op, int state_index) {
  const auto state = static_cast<size_t>(StateIndex(op, state_index));
  TensorView view = state_->head(state);
  if (!has_turn_) view.data = const_cast<std::byte*>(version_->data(state));
  view.data = OrNoElements(view.data);
  return view;
}

Allocator& Frame::allocator() { return SystemAllocator(); }

// ---- Control flow.

void Frame::CopyCarried(int from, int to) {
  const Slot& source = slots_[static_cast<size_t>(from)];
  const Slot& target = slots_[static_cast<size_t>(to)];
  if (source.tensor.data == target.tensor.data) return;
  std::memcpy(target.tensor.data, source.tensor.data, target.tensor.num_bytes());
}

void Frame::EnterLoop(const PlanNode& node) {
  for (const CarriedValue& carried : node.carried) {
    const auto arg = static_cast<size_t>(carried.arg);
    if (plan_.slots[arg].type.is_tensor()) {
      CopyCarried(carried.init, carried.arg);
      continue;
    }
    slots_[arg].object = slots_[static_cast<size_t>(carried.init)].object;
    if (plan_.slots[arg].type.is_rows()) {
      if (!carried_rows_[arg]) carried_rows_[arg] = std::make_unique<CarriedRows>();
      carried_rows_[arg]->Enter();
    }
  }
}

void Frame::NextIteration(const PlanNode& node) {
  for (const CarriedValue& carried : node.carried) {
    if (carried.staging >= 0) CopyCarried(carried.yield, carried.staging);
  }
  for (const CarriedValue& carried : node.carried) {
    const auto arg = static_cast<size_t>(carried.arg);
    const auto yield = static_cast<size_t>(carried.yield);
    if (!plan_.slots[arg].type.is_tensor()) {
      slots_[arg].object = slots_[yield].object;
    } else if (carried.swap) {
      std::swap(slots_[arg].tensor.data, slots_[yield].tensor.data);
    } else if (carried.staging < 0) {
      CopyCarried(carried.yield, carried.arg);
    }
  }
  for (const CarriedValue& carried : node.carried) {
    const auto arg = static_cast<size_t>(carried.arg);
    if (carried.staging >= 0) CopyCarried(carried.staging, carried.arg);
    if (plan_.slots[arg].type.is_rows()) {
      carried_rows_[arg]->Keep(*static_cast<const RowsValue*>(slots_[arg].object));
      slots_[arg].object = carried_rows_[arg]->value();
    }
  }
}

void Frame::LeaveLoop(const PlanNode& node) {
  for (const CarriedValue& carried : node.carried) {
    Slot& result = slots_[static_cast<size_t>(carried.result)];
    const Slot& arg = slots_[static_cast<size_t>(carried.arg)];
    result.tensor.data = arg.tensor.data;
    result.object = arg.object;
  }
}

void Frame::LeaveIf(const PlanNode& node, int which) {
  const std::vector<int>& yields = plan_.blocks[static_cast<size_t>(node.blocks[which])].yields;
  for (size_t i = 0; i < node.outs.size(); ++i) {
    Slot& result = slots_[static_cast<size_t>(node.outs[i])];
    const Slot& yield = slots_[static_cast<size_t>(yields[i])];
    result.tensor.data = yield.tensor.data;
    result.object = yield.object;
  }
}

}  // namespace catamaran
