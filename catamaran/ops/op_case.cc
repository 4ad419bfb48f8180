#include "catamaran/ops/op_case.h"

#include <fmt/format.h>

#include "catamaran/ir/grad_context.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

bool IsOptional(const OpDef& def, size_t operand) {
  size_t k = 0;
  for (const ArgSpec& arg : def.args) {
    if (arg.kind != ArgKind::kValue && arg.kind != ArgKind::kOptional) continue;
    if (k++ == operand) return arg.kind == ArgKind::kOptional;
  }
  return false;
}

}  // namespace

bool NeedsExecutor(const OpDef& def) {
  if (def.traits.structural || def.traits.effect || def.traits.reads_state ||
      def.traits.mutates_first) {
    return true;
  }
  for (const ArgSpec& arg : def.args) {
    if (arg.kind == ArgKind::kState || arg.kind == ArgKind::kStates) return true;
  }
  return false;
}

OpCase::OpCase(std::shared_ptr<const OpSet> ops, const OpDef& def, const Sample& sample,
               DType floats)
    : program_("sample", std::move(ops)), floats_(floats) {
  auto owned = std::make_unique<Function>();
  owned->name = std::string("f");
  owned->typed = true;
  function_ = program_.items.Add(std::move(owned));
  std::vector<Value*> operands;
  const auto values = static_cast<size_t>(def.num_value_args());
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    Tensor tensor = sample.inputs[i];
    const bool optional = i < values && IsOptional(def, i);
    if (optional && tensor.raw_data() == nullptr && tensor.num_elements() == 0) {
      operands.push_back(nullptr);
      continue;
    }
    if (tensor.dtype() == DType::kF32) tensor = Cast(tensor, floats);
    const std::vector<int64_t> lengths =
        i < sample.ragged_lengths.size() ? sample.ragged_lengths[i] : std::vector<int64_t>();
    operands.push_back(
        AddArgument(fmt::format("in{}", i), TypeOf(tensor, lengths), {tensor, lengths}).value());
  }
  while (!operands.empty() && operands.back() == nullptr)
    operands.pop_back();  // as the text has it
  emitter_ = std::make_unique<Emitter>(program_, *function_, function_->body());
  const int results = def.num_results < 0 ? sample.num_results : def.num_results;
  op_ = emitter_->EmitOp(def, {operands, sample.attrs, {}, {}, results}, {});
}

Var OpCase::AddArgument(const std::string& name, const Type& type, RunnerValue value) {
  Value* argument = function_->body().AddArg(name, type);
  function_->order.push_back(false);  // no static argument
  arguments_.push_back(std::move(value));
  return Var(emitter_.get(), argument);
}

bool OpCase::ReturnsTensorsOnly() const {
  for (int i = 0; i < op_->num_results(); ++i) {
    if (!op_->result(i)->type.is_tensor()) return false;
  }
  return true;
}

void OpCase::Return(std::vector<Value*> more) {
  std::vector<Value*> values;
  for (int i = 0; i < op_->num_results(); ++i) values.push_back(op_->result(i));
  values.insert(values.end(), more.begin(), more.end());
  emitter_->EmitOp(program_.ops().Get("return"), {values, {}, {}, {}, 0}, {});
  for (Value* value : values) function_->results.push_back({"", value->type});
}

std::vector<Value*> OpCase::Differentiate(const std::vector<RunnerValue>& arriving) {
  std::vector<Value*> gradients(static_cast<size_t>(op_->num_operands()), nullptr);
  std::vector<Var> at_results;
  bool flows = false;
  for (int i = 0; i < op_->num_results(); ++i) {
    const Type& type = op_->result(i)->type;
    if (!type.is_tensor() || type.dtype() != floats_) {
      at_results.emplace_back();
      continue;
    }
    flows = true;
    at_results.push_back(
        AddArgument(fmt::format("g{}", i), type, arriving[static_cast<size_t>(i)]));
  }
  std::vector<bool> wanted;
  bool any = false;
  for (int i = 0; i < op_->num_operands(); ++i) {
    const Value* operand = op_->operand(i);
    wanted.push_back(operand && operand->type.dtype() == floats_);
    any = any || wanted.back();
  }
  if (!any || !flows || !op_->def().grad) return gradients;
  GradContext context(*emitter_, *op_, at_results, wanted);
  op_->def().grad(context);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (context.grads()[i] && wanted[i]) gradients[i] = context.grads()[i].value();
  }
  return gradients;
}

// Equal lengths mean the same ragged dimension.
Type OpCase::TypeOf(const Tensor& tensor, const std::vector<int64_t>& lengths) {
  std::vector<Dim> dims;
  for (int64_t dim : tensor.shape()) dims.push_back(dim);
  if (lengths.empty()) return Type::Tensor(tensor.dtype(), std::move(dims));
  size_t which = 0;
  while (which < ragged_.size() && ragged_[which] != lengths) ++which;
  if (which == ragged_.size()) ragged_.push_back(lengths);
  dims[0] = Dim::Name(fmt::format("T{}", which));
  dims.insert(dims.begin(), Dim(static_cast<int64_t>(lengths.size())));
  return Type::Tensor(tensor.dtype(), std::move(dims), 1);
}

}  // namespace catamaran
