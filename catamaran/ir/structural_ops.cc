#include "catamaran/ir/structural_ops.h"

#include "catamaran/ir/infer.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

void InferRead(InferContext& c) {
  const StateDecl* state = c.state(0);
  if (!state) return;
  if (state->kind != StateKind::kParam && state->kind != StateKind::kVar) {
    c.Fail("a " + std::string(StateKindName(state->kind)) +
           " cannot be read as a value; use lookup on a table");
    return;
  }
  c.SetResult(state->type);
}

// Without dtype: a literal. Its first user may still change the type (AdoptLiteral).
void InferConstant(InferContext& c) {
  const Attr& value = c.op().attr("value");
  const Attr& dtype = c.op().attr("dtype");
  if (const DType* d = dtype.get<DType>()) return c.SetResult(Type::Scalar(*d));
  if (value.get<bool>()) return c.SetResult(Type::Scalar(DType::kBool));
  if (value.get<double>()) return c.SetResult(Type::Scalar(DType::kF32));
  if (auto* d = value.get<Dim>(); d && d->is_constant()) {
    return c.SetResult(Type::Scalar(DType::kI64));
  }
  c.Fail("a constant is a number, true or false; found " + value.ToString());
}

void InferYield(InferContext&) {}

}  // namespace

void DefineStructuralOps(OpSet& ops) {
  OpTraits structural;
  structural.structural = true;
  OpTraits terminator = structural;
  terminator.terminator = true;
  OpTraits reads = structural;
  reads.reads_state = true;
  OpTraits call = structural;
  call.open_attrs = true;

  // call, if, for and while are inferred by InferOp itself: their rule needs the blocks.
  ops.Define("call")
      .Group("language")
      .Doc("Runs a function on the operands.")
      .VariadicIn("operands")
      .Results(-1)
      .Traits(call);
  ops.Define("if")
      .Group("language")
      .Doc("Runs one of two blocks.")
      .In("condition")
      .Results(-1)
      .Traits(structural);
  ops.Define("for")
      .Group("language")
      .Doc("Runs its block for i in [begin, end), handing the carried values on.")
      .In("begin")
      .In("end")
      .VariadicIn("carried")
      .Results(-1)
      .Traits(structural);
  ops.Define("while")
      .Group("language")
      .Doc("Runs its second block while its first yields true, handing the carried values on.")
      .VariadicIn("carried")
      .Results(-1)
      .Traits(structural);
  ops.Define("yield")
      .Group("language")
      .Doc("Ends a block with its results.")
      .VariadicIn("values")
      .Results(0)
      .Traits(terminator)
      .Infer(InferYield);
  ops.Define("return")
      .Group("language")
      .Doc("Ends a function with its results.")
      .VariadicIn("values")
      .Results(0)
      .Traits(terminator)
      .Infer(InferYield);
  ops.Define("commit")
      .Group("language")
      .Doc("The region that holds all effects of a function.")
      .Results(0)
      .Traits(structural);
  ops.Define("read")
      .Group("language")
      .Doc("The value of a param or var; written @name.")
      .StateArg("state")
      .Traits(reads)
      .Infer(InferRead);
  ops.Define("constant")
      .Group("language")
      .Doc("A number. Without dtype it takes the dtype of what it meets.")
      .RequiredAttr("value", AttrKind::kAny)
      .OptionalAttr("dtype", AttrKind::kDType)
      .Traits(structural)
      .Infer(InferConstant)
      .StopsGrad();
  ops.Define("dim")
      .Group("language")
      .Doc("The size of a dimension, as i64.")
      .RequiredAttr("value", AttrKind::kInt)
      .Traits(structural)
      .StopsGrad()
      .Infer([](InferContext& c) { c.SetResult(Type::Scalar(DType::kI64)); });
  ops.Define("key")
      .Group("language")
      .Doc(
          "A key for random ops: a function of the state's seed and step, the call path and the "
          "loop indices around it. Gradients, which run loops backwards, say the indices.")
      .VariadicIn("indices", "i64: instead of those of the loops around it")
      .Traits(reads)
      .StopsGrad()
      .OptionalAttr("path", AttrKind::kString, "set when calls are expanded")
      .Infer([](InferContext& c) { c.SetResult(Type::Scalar(DType::kU64)); });
}

}  // namespace catamaran
