// ops/kernel_test_util.h
//
// For tests of ops that need state: one op at a time, its kernel called by hand on slots that the
// test owns. Not part of the library.

#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/memory.h"
#include "catamaran/ir/choose_kernel.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/table/table.h"
#include "catamaran/tensor/rows_value.h"
#include "catamaran/tensor/stack_value.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

inline std::shared_ptr<const OpSet> TestOps() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto made = std::make_shared<OpSet>();
    DefineAllOps(*made);
    return made;
  }();
  return ops;
}

// A value of a test: a slot with what it points at. Ragged ones have the lengths of their
// sequences.
struct TestValue {
  Slot slot;
  Type type;
  Tensor tensor;
  std::vector<int64_t> offsets;
  std::unique_ptr<RowsValue> rows;
  std::unique_ptr<StackValue> stack;
};

class KernelBench final : public RunServices {
 public:
  KernelBench() : program_("test", TestOps()) {
    auto owned = std::make_unique<Function>();
    owned->name = std::string("f");  // GCC 12 warns of the text alone where this is inlined
    owned->typed = true;
    function_ = program_.items.Add(std::move(owned));
    emit_ = std::make_unique<Emitter>(program_, *function_, function_->body());
  }

  // --- State.
  void AddTable(const std::string& name, Table* table, std::vector<NamedAttr> settings = {}) {
    const Type row = Type::Tensor(DType::kF32, {Dim(table->width())});
    settings.push_back({"optimizer", Attr::Word("sgd")});
    program_.items.Add(StateDecl{StateKind::kTable, name, row, {}, std::move(settings), {}});
    tables_[name] = table;
  }
  void AddState(const std::string& name, Tensor value, StateKind kind = StateKind::kParam) {
    program_.items.Add(StateDecl{kind, name, TypeOf(value), {}, {}, {}});
    states_[name] = std::move(value);
  }
  Tensor& value_of(const std::string& name) { return states_.at(name); }

  // --- Values.
  Value* Arg(Tensor tensor, std::vector<int64_t> lengths = {}) {
    TestValue& v = values_.emplace_back();
    v.type = TypeOf(tensor);
    if (!lengths.empty()) {
      std::vector<Dim> dims(v.type.dims().begin(), v.type.dims().end());
      dims[0] = Dim::Name("T");
      dims.insert(dims.begin(), Dim(static_cast<int64_t>(lengths.size())));
      v.type = Type::Tensor(tensor.dtype(), dims, 1);
      v.offsets = {0};
      for (int64_t n : lengths) v.offsets.push_back(v.offsets.back() + n);
    }
    v.tensor = std::move(tensor);
    return Bind(v, function_->body().AddArg(fmt::format("a{}", values_.size()), v.type));
  }

  // --- Running.
  int64_t event_time_now = 0;
  int64_t step_now = 0;
  std::string kernel;  // the one to take; empty: the first that fits
  ThreadPool* pool = nullptr;
  bool completed = false;     // a pending kernel has called back …
  std::exception_ptr failed;  // … and with what

  // What effects have prepared for a table, until ApplyEffects.
  std::vector<TableObservation> observations;
  std::vector<TablePush> pushes;
  Table* table_of_effects = nullptr;
  std::string refused;    // why; empty: no effect has refused
  int64_t unwritten = 0;  // as effects have counted
  void ApplyEffects() {
    table_of_effects->Apply({step_now, event_time_now, observations, pushes});
    observations.clear();
    pushes.clear();
  }

  // Emits the op (its type rule may throw), runs it, and returns the values of its results.
  Op* Run(const std::string& name, const std::vector<Value*>& operands,
          std::vector<std::string> states = {}, std::vector<NamedAttr> attrs = {}) {
    const OpDef& def = program_.ops().Get(name);
    Op* op = emit_->EmitOp(
        def, {operands, std::move(attrs), std::move(states), {}, def.num_results}, {});
    for (Value* v : operands) ins_.push_back(v ? &by_value_.at(v)->slot : &nothing_);
    Call& call = calls_.emplace_back();
    call.ins = std::move(ins_);
    ins_.clear();
    for (int i = 0; i < op->num_results(); ++i) {
      MakeResult(op->result(i), operands);
      call.outs.push_back(&by_value_.at(op->result(i))->slot);
    }
    Start(*op, call);
    return op;
  }
  KernelStatus status = KernelStatus::kDone;

  const Tensor& tensor(const Value* v) { return by_value_.at(v)->tensor; }
  RowsValue& rows(const Value* v) { return *static_cast<RowsValue*>(by_value_.at(v)->slot.object); }
  StackValue& stack(const Value* v) {
    return *static_cast<StackValue*>(by_value_.at(v)->slot.object);
  }
  Emitter& emit() { return *emit_; }
  Program& program() { return program_; }

  // --- RunServices.
  Table* table(const Op& op, int i) override {
    return tables_.at(op.states[static_cast<size_t>(i)]);
  }
  TensorView state(const Op& op, int i) override {
    return states_.at(op.states[static_cast<size_t>(i)]).view();
  }
  void Observe(const Op& op, int i, const TableObservation& seen) override {
    observations.push_back(seen);
    table_of_effects = table(op, i);
  }
  void Push(const Op& op, int i, const TablePush& push) override {
    pushes.push_back(push);
    table_of_effects = table(op, i);
  }
  void Refuse(const Op&, const std::string& why) override { refused = why; }
  void CountUnwritten(int64_t count) override { unwritten += count; }
  uint64_t seed() const override { return 1; }
  int64_t step() const override { return step_now; }
  int64_t event_time() const override { return event_time_now; }
  bool cancelled() const override { return false; }
  Allocator& allocator() override { return SystemAllocator(); }

 private:
  // One kernel call; it stays, for those that complete later.
  struct Call {
    std::vector<Slot*> ins, outs;
    ChosenKernel chosen;
    BufferRef scratch;
    KernelContext context;
    KernelBench* bench = nullptr;
  };

  static Type TypeOf(const Tensor& tensor) {
    std::vector<Dim> dims;
    for (int64_t d : tensor.shape()) dims.push_back(d);
    return Type::Tensor(tensor.dtype(), std::move(dims));
  }

  Value* Bind(TestValue& v, Value* value) {
    v.slot.tensor = v.tensor.view();
    if (!v.offsets.empty()) {
      v.slot.offsets = v.offsets.data();
      v.slot.num_rows = static_cast<int64_t>(v.offsets.size()) - 1;
    }
    by_value_[value] = &v;
    return value;
  }

  void MakeResult(Value* value, const std::vector<Value*>& operands) {
    TestValue& v = values_.emplace_back();
    v.type = value->type;
    if (v.type.is_rows()) {
      v.rows = std::make_unique<RowsValue>();
      by_value_[value] = &v;
      v.slot.object = v.rows.get();
      return;
    }
    if (v.type.is_stack()) {
      v.stack = std::make_unique<StackValue>();
      by_value_[value] = &v;
      v.slot.object = v.stack.get();
      return;
    }
    if (v.type.is_ragged()) {
      for (Value* operand : operands) {
        if (operand && operand->type.is_ragged()) v.offsets = by_value_.at(operand)->offsets;
      }
    }
    Shape shape;
    for (const Dim& d : v.type.StorageDims()) {
      shape.Append(d.is_constant() ? d.constant() : v.offsets.back());
    }
    v.tensor = Tensor::Allocate(v.type.dtype(), shape);
    Bind(v, value);
  }

  void Start(const Op& op, Call& call) {
    call.chosen = ChooseKernel({&op, call.ins, call.outs, nullptr, DetectIsa()}, kernel);
    if (!kernel.empty() && call.chosen.kernel->name != kernel) Fail("{} does not fit", kernel);
    call.scratch = BufferRef::Allocate(call.chosen.scratch);
    call.bench = this;
    KernelContext& c = call.context;
    c.ins = call.ins.data();
    c.outs = call.outs.data();
    c.num_ins = static_cast<int>(call.ins.size());
    c.num_outs = static_cast<int>(call.outs.size());
    c.op = &op;
    c.sizes_data = call.chosen.sizes.data();
    c.prepared = call.chosen.prepared.get();
    c.scratch = call.scratch.data();
    c.pool = pool;
    c.run = this;
    c.complete = [](KernelContext& context, std::exception_ptr error) {
      auto* bench = static_cast<KernelBench*>(context.run);
      bench->failed = error;
      bench->completed = true;
    };
    if (op.def().prepare_effect != nullptr) op.def().prepare_effect(c);
    status = call.chosen.run(c);
  }

  Program program_;
  Function* function_;
  std::unique_ptr<Emitter> emit_;
  std::map<std::string, Table*> tables_;
  std::map<std::string, Tensor> states_;
  std::deque<TestValue> values_;
  std::map<const Value*, TestValue*> by_value_;
  std::deque<Call> calls_;
  std::vector<Slot*> ins_;
  Slot nothing_;
};

}  // namespace catamaran
