#include "catamaran/ops/op_runner.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/base/memory.h"
#include "catamaran/ir/choose_kernel.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/tensor/cast.h"
#include "catamaran/tensor/rows_value.h"

namespace catamaran {

namespace {

class Runner {
 public:
  Runner(const Function& function, std::span<const RunnerValue> arguments,
         const RunnerOptions& options)
      : function_(function), options_(options) {
    CATAMARAN_CHECK(static_cast<int>(arguments.size()) == function.num_params(),
                    "{} arguments for {} parameters", arguments.size(), function.num_params());
    for (int i = 0; i < function.num_params(); ++i) {
      Bind(*function.param(i), arguments[static_cast<size_t>(i)]);
    }
  }

  std::vector<RunnerValue> Run() {
    std::vector<RunnerValue> results;
    for (const Op* op = function_.body().first(); op != nullptr; op = op->next()) {
      if (op->Is("return")) {
        for (int i = 0; i < op->num_operands(); ++i) {
          results.push_back({tensors_.at(op->operand(i)).Clone(), Lengths(*op->operand(i))});
        }
      } else if (op->Is("constant")) {
        RunConstant(*op);
      } else if (op->Is("dim")) {
        Store(*op->result(), Tensor::Scalar<int64_t>(Evaluate(op->attr("value").AsDim())));
      } else {
        RunKernel(*op);
      }
    }
    return results;
  }

  std::vector<int64_t> Lengths(const Value& value) const {
    std::vector<int64_t> lengths;
    if (!value.type.is_ragged()) return lengths;
    const std::vector<int64_t>& offsets = offsets_.at(value.type.ragged_name());
    for (size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
    return lengths;
  }

  std::vector<std::string> Fitting() {
    const Op* op = function_.body().first();
    for (; op != nullptr && op->def().traits.structural; op = op->next()) {
      if (op->Is("constant")) RunConstant(*op);  // a default that was filled in
    }
    CATAMARAN_CHECK(op != nullptr);
    Call call(*this, *op);
    std::vector<std::string> names;
    for (const std::string_view name : catamaran::FittingKernels(call.query))
      names.emplace_back(name);
    return names;
  }

 private:
  // The slots of one op, with shapes, and the query made of them.
  struct Call {
    Call(Runner& runner, const Op& op) {
      for (int i = 0; i < op.num_operands(); ++i) {
        in.push_back(op.operand(i) ? &runner.slots_.at(op.operand(i)) : &runner.nothing_);
        if (op.operand(i)) runner.FindOffsets(*op.operand(i), *in.back());
      }
      runner.BoundSizes(op);
      for (int i = 0; i < op.num_results(); ++i) {
        Value* result = op.result(i);
        runner.Allocate(*result, op);
        out.push_back(&runner.slots_.at(result));
      }
      query = {&op, in, out, nullptr, runner.options_.isa};
    }
    std::vector<Slot*> in, out;
    KernelQuery query;
  };

  void Bind(const Value& param, const RunnerValue& argument) {
    const Type& type = param.type;
    // What belongs to a dimension that an op decides takes the offsets that the op writes.
    const bool decided =
        type.is_ragged() && argument.lengths.empty() && type.ragged_name().front() == '?';
    if (type.is_ragged() && !decided) {
      auto& offsets = offsets_[type.ragged_name()];
      offsets = {0};
      for (int64_t length : argument.lengths) offsets.push_back(offsets.back() + length);
      if (const std::string* name = type.dim(0).name()) {
        names_[*name] = static_cast<int64_t>(argument.lengths.size());
      }
    }
    const std::vector<Dim> dims = type.StorageDims();
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (const std::string* name = dims[axis].name()) {
        names_[*name] = argument.tensor.shape()[static_cast<int>(axis)];
      }
    }
    Store(param, argument.tensor);
  }

  void Store(const Value& value, Tensor tensor) {
    Slot slot;
    slot.tensor = tensor.view();
    FindOffsets(value, slot);
    tensors_[&value] = std::move(tensor);
    slots_[&value] = slot;
  }

  void FindOffsets(const Value& value, Slot& slot) const {
    if (!value.type.is_ragged()) return;
    const auto offsets = offsets_.find(value.type.ragged_name());
    if (offsets == offsets_.end()) return;
    slot.offsets = offsets->second.data();
    slot.num_rows = static_cast<int64_t>(offsets->second.size()) - 1;
  }

  int64_t Evaluate(const Dim& dim) const {
    const auto value = dim.Evaluate([&](const std::string& name) -> std::optional<int64_t> {
      const auto found = names_.find(name);
      if (found == names_.end()) return std::nullopt;
      return found->second;
    });
    if (!value) Fail("the size {} is not known before the op runs", dim.ToString());
    return *value;
  }

  // Until the kernel of `op` has said what its `?` is, it is the largest that it can be.
  void BoundSizes(const Op& op) {
    if (!op.def().size_bound) return;
    const int64_t most = Evaluate(op.def().size_bound(op));
    for (int i = 0; i < op.num_results(); ++i) {
      const Type& type = op.result(i)->type;
      type.ForEachName([&](const std::string& name) {
        if (!names_.contains(name)) names_[name] = most;
      });
      if (type.is_ragged() && !offsets_.contains(type.ragged_name())) {
        offsets_[type.ragged_name()].resize(static_cast<size_t>(Evaluate(type.dim(0))) + 1);
      }
    }
  }

  // The kernel has said it: results become as small as they are.
  void TakeDecidedSize(const Op& op, int64_t size) {
    const int64_t most = Evaluate(op.def().size_bound(op));
    if (size < 0 || size > most) Fail("{} decides for {} of at most {}", op.name(), size, most);
    for (int i = 0; i < op.num_results(); ++i) {
      const Type& type = op.result(i)->type;
      const std::vector<Dim> dims = type.StorageDims();
      if (dims.empty() || !dims[0].name() || !IsDecidedBy(op, *dims[0].name())) continue;
      names_[*dims[0].name()] = size;
      Store(*op.result(i), tensors_.at(op.result(i)).SliceLeading(0, size));
    }
  }

  static bool IsDecidedBy(const Op& op, const std::string& name) {
    bool known = false;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (!op.operand(i)) continue;
      op.operand(i)->type.ForEachName([&](const std::string& other) { known |= other == name; });
    }
    return !known && name.front() == '?';
  }

  void Allocate(const Value& value, const Op& op) {
    if (value.type.is_rows()) {
      auto rows = std::make_unique<RowsValue>();
      rows->dtype = value.type.dtype();
      rows->width = 1;
      for (const Dim& dim : value.type.dims()) rows->width *= Evaluate(dim);
      Slot slot;
      slot.object = rows.get();
      slots_[&value] = slot;
      rows_.push_back(std::move(rows));
      return;
    }
    if (!value.type.is_tensor()) Fail("{} yields {}", op.name(), value.type.ToString());
    Shape shape;
    for (const Dim& dim : value.type.StorageDims()) shape.Append(Evaluate(dim));
    Tensor tensor = Tensor::Allocate(value.type.dtype(), shape);
    // Whatever a kernel forgets to write shows: a number too large to pass for a result.
    if (tensor.num_bytes() > 0) std::memset(tensor.mutable_raw_data(), 0x7B, tensor.num_bytes());
    Store(value, std::move(tensor));
  }

  void RunConstant(const Op& op) {
    const Attr& value = op.attr("value");
    const DType dtype = op.result()->type.dtype();
    if (const bool* flag = value.get<bool>()) {
      Store(*op.result(), Cast(Tensor::Scalar(*flag), dtype));
    } else if (value.get<double>()) {
      Store(*op.result(), Cast(Tensor::Scalar(value.AsDouble()), dtype));
    } else {
      Store(*op.result(), Cast(Tensor::Scalar(value.AsInt()), dtype));
    }
  }

  void RunKernel(const Op& op) {
    if (op.def().traits.structural || op.def().traits.effect || !op.states.empty()) {
      Fail("{} needs an executor", op.name());
    }
    Call call(*this, op);
    const ChosenKernel kernel = ChooseKernel(call.query, options_.kernel);
    KernelContext context;
    context.ins = call.in.data();
    context.outs = call.out.data();
    context.num_ins = static_cast<int>(call.in.size());
    context.num_outs = static_cast<int>(call.out.size());
    context.op = &op;
    context.sizes_data = kernel.sizes.data();
    context.prepared = kernel.prepared.get();
    const BufferRef scratch = BufferRef::Allocate(std::max<size_t>(1, kernel.scratch));
    context.scratch = scratch.data();
    context.pool = options_.pool;
    if (op.def().size_bound && op.result()->type.is_ragged()) {
      context.new_offsets = offsets_.at(op.result()->type.ragged_name()).data();
    }
    if (kernel.run(context) != KernelStatus::kDone) Fail("{} did not complete", op.name());
    if (op.def().size_bound) TakeDecidedSize(op, context.decided_size);
  }

  const Function& function_;
  const RunnerOptions& options_;
  std::map<std::string, int64_t> names_;
  std::map<std::string, std::vector<int64_t>> offsets_;
  std::unordered_map<const Value*, Tensor> tensors_;
  std::unordered_map<const Value*, Slot> slots_;
  std::vector<std::unique_ptr<RowsValue>> rows_;
  Slot nothing_;
};

}  // namespace

std::vector<Tensor> RunStraight(const Function& function, std::span<const RunnerValue> arguments,
                                const RunnerOptions& options) {
  std::vector<Tensor> tensors;
  for (RunnerValue& value : Runner(function, arguments, options).Run()) {
    tensors.push_back(std::move(value.tensor));
  }
  return tensors;
}

std::vector<RunnerValue> RunStraightValues(const Function& function,
                                           std::span<const RunnerValue> arguments,
                                           const RunnerOptions& options) {
  return Runner(function, arguments, options).Run();
}

std::vector<std::string> FittingKernels(const Function& function,
                                        std::span<const RunnerValue> arguments, Isa isa) {
  RunnerOptions options;
  options.isa = isa;
  return Runner(function, arguments, options).Fitting();
}

}  // namespace catamaran
