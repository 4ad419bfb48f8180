// Inference of one op: the common checks, and the rules of calls and control flow.

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/ir/call_binding.h"
#include "catamaran/ir/infer.h"

namespace catamaran {
namespace {

class OpInference {
 public:
  OpInference(const Program& program, Function& function, Diagnostics& diagnostics)
      : program_(program), function_(function), diagnostics_(diagnostics) {}

  bool Infer(Op& op) {
    InferContext c(program_, function_, op, diagnostics_);
    // An operand without a type stands behind an error that is already reported.
    int k = 0;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (op.operand(i) && !op.operand(i)->type) return false;
    }
    for (const ArgSpec& a : op.def().args) {
      if (a.kind == ArgKind::kValue && !c.has(k)) {
        return c.Fail(fmt::format("needs the argument {}", a.name));
      }
      if (a.kind == ArgKind::kAttr && !a.optional && op.attr(a.name).empty()) {
        return c.Fail(fmt::format("needs the argument {}", a.name));
      }
      k += a.kind == ArgKind::kValue || a.kind == ArgKind::kOptional;
    }
    if (op.Is("call")) return InferCall(c);
    if (op.Is("if")) return InferIf(c);
    if (op.Is("for")) return InferFor(c);
    if (op.Is("while")) return InferWhile(c);
    if (op.Is("commit")) return InferBlock(*op.blocks[0]);
    if (!CheckRagged(c)) return false;
    if (!op.def().infer) return true;
    try {
      op.def().infer(c);
    } catch (const ProgramError&) {
      throw;
    } catch (const Error& e) {
      c.Fail(e.what());
    }
    return !c.failed();
  }

  bool InferBlock(Block& block) {
    bool good = true;
    for (Op* op = block.first(); op; op = op->next()) {
      if (diagnostics_.full()) return false;
      good &= Infer(*op);
    }
    return good;
  }

 private:
  bool CheckRagged(InferContext& c) {
    const OpTraits& t = c.op().def().traits;
    if (t.elementwise || t.rowwise || t.understands_ragged || t.structural) return true;
    for (int i = 0; i < c.num_operands(); ++i) {
      if (!c.WantDense(i)) return false;
    }
    return true;
  }

  bool InferCall(InferContext& c) {
    Op& op = c.op();
    const Function* callee = program_.items.FindFunction(op.callee);
    if (!callee) return c.Fail("there is no such function");
    if (!callee->typed) return false;
    const std::optional<DimBinding> binding = BindCall(c, *callee);
    if (!binding) return false;
    const int results = static_cast<int>(callee->results.size());
    if (op.num_results() == 0) {
      for (int i = 0; i < results; ++i) op.AddResult();
    }
    if (op.num_results() != results) {
      return c.Fail(
          fmt::format("returns {} results, used as if it returned {}", results, op.num_results()));
    }
    for (int i = 0; i < results; ++i) {
      c.SetResult(
          i, callee->results[i].type.Substitute([&](const std::string& name) -> std::optional<Dim> {
            auto it = binding->find(name);
            if (it == binding->end()) return std::nullopt;
            return it->second;
          }));
    }
    return true;
  }

  // The values that a block yields, or null after reporting.
  Op* YieldOf(InferContext& c, Block& block, size_t count, std::string_view what) {
    Op* end = block.terminator();
    if (!end) {
      c.Fail(fmt::format("{} has no yield", what));
      return nullptr;
    }
    if (static_cast<size_t>(end->num_operands()) != count) {
      c.Fail(fmt::format("{} yields {} values, wanted {}", what, end->num_operands(), count));
      return nullptr;
    }
    for (int i = 0; i < end->num_operands(); ++i) {
      if (!end->operand(i)->type) return nullptr;
    }
    return end;
  }

  bool InferIf(InferContext& c) {
    Op& op = c.op();
    if (!(c.type(0) == Type::Scalar(DType::kBool))) {
      return c.Fail(fmt::format("the condition must be bool[], found {}", c.type(0).ToString()));
    }
    for (auto& block : op.blocks) {
      if (!InferBlock(*block)) return false;
    }
    Op* a = YieldOf(c, *op.blocks[0], op.num_results(), "the first branch");
    Op* b = YieldOf(c, *op.blocks[1], op.num_results(), "the second branch");
    if (!a || !b) return false;
    for (int i = 0; i < op.num_results(); ++i) {
      if (!c.UnifyTypes(a->operand(i)->type, b->operand(i)->type,
                        fmt::format("the branches' values {}", i))) {
        return false;
      }
      c.SetResult(i, a->operand(i)->type);
    }
    return true;
  }

  // Arguments of `block` from `first` on take the types of the operands from `skip` on.
  void TypeCarried(InferContext& c, Block& block, int skip, int first) {
    for (int i = first; i < block.num_args(); ++i) {
      block.arg(i)->type = c.op().operand(skip + i - first)->type;
    }
  }

  bool CheckCarried(InferContext& c, Block& block, int skip) {
    const int count = c.num_operands() - skip;
    Op* end = YieldOf(c, block, count, "the loop's block");
    if (!end) return false;
    for (int i = 0; i < count; ++i) {
      if (!c.UnifyTypes(c.type(skip + i), end->operand(i)->type,
                        fmt::format("the carried value {} before and after the block", i))) {
        return false;
      }
    }
    if (c.op().num_results() != count) {
      return c.Fail(
          fmt::format("carries {} values, used as if it carried {}", count, c.op().num_results()));
    }
    for (int i = 0; i < count; ++i) c.SetResult(i, c.type(skip + i));
    return true;
  }

  bool InferFor(InferContext& c) {
    Op& op = c.op();
    if (!c.WantDType(0, DType::kI64) || !c.WantDType(1, DType::kI64)) return false;
    if (!c.type(0).is_scalar() || !c.type(1).is_scalar()) {
      return c.Fail("the range must be two i64[] values");
    }
    Block& body = *op.blocks[0];
    if (body.num_args() != op.num_operands() - 1) {
      return c.Fail("the block's arguments do not match the carried values");
    }
    body.arg(0)->type = Type::Scalar(DType::kI64);
    TypeCarried(c, body, 2, 1);
    return InferBlock(body) && CheckCarried(c, body, 2);
  }

  bool InferWhile(InferContext& c) {
    Op& op = c.op();
    for (auto& block : op.blocks) {
      if (block->num_args() != op.num_operands()) {
        return c.Fail("the block's arguments do not match the carried values");
      }
      TypeCarried(c, *block, 0, 0);
      if (!InferBlock(*block)) return false;
    }
    Op* condition = YieldOf(c, *op.blocks[0], 1, "the condition");
    if (!condition) return false;
    if (!(condition->operand(0)->type == Type::Scalar(DType::kBool))) {
      return c.Fail(fmt::format("the condition must be bool[], found {}",
                                condition->operand(0)->type.ToString()));
    }
    return CheckCarried(c, *op.blocks[1], 0);
  }

  const Program& program_;
  Function& function_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool InferOp(const Program& program, Function& function, Op& op, Diagnostics& diagnostics) {
  return OpInference(program, function, diagnostics).Infer(op);
}

}  // namespace catamaran
