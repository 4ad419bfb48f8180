// ops/comparison/all_finite.cc
//
// all_finite(values…): whether no element of any of them is infinite or NaN.

#include "catamaran/ops/op.h"
#include "catamaran/ops/reduction/reduce_isa.h"
#include "catamaran/tensor/rows_value.h"

// reference-begin
namespace catamaran::reference {

struct AllFiniteSizes {
  int64_t count;
};

template <class T>
bool AllFinite(const T* x, const AllFiniteSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    if (!(x[i] - x[i] == T(0))) return false;
  }
  return true;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferAllFinite(InferContext& c) {
  for (int i = 0; i < c.num_operands(); ++i) {
    if (c.type(i).is_rows()) continue;
    if (!c.WantTensor(i)) return;
    if (IsFloat(c.type(i).dtype()) && !c.WantFloat(i)) return;
  }
  c.SetResult(Type::Scalar(DType::kBool));
}

// Calls test(elements, count) for every stretch of floats until one says no.
template <class Test>
void RunWith(KernelContext& context, Test test) {
  const auto check = [&](DType dtype, const void* data, int64_t count) {
    if (dtype == DType::kF32) return test(static_cast<const float*>(data), count);
    if (dtype == DType::kF64) return test(static_cast<const double*>(data), count);
    return true;  // integers are always finite
  };
  bool good = true;
  for (int i = 0; i < context.num_ins && good; ++i) {
    const Slot& slot = context.in(i);
    if (slot.object == nullptr) {
      good = check(slot.tensor.dtype, slot.tensor.data, slot.size());
      continue;
    }
    const auto& rows = *static_cast<const RowsValue*>(slot.object);
    for (const RowsSegment& segment : rows.segments) {
      const int64_t count = segment.pool == Pool::kNone ? segment.num_keys : segment.num_bags;
      good = good && check(rows.dtype, segment.gradients, count * rows.width);
    }
  }
  context.out().data<uint8_t>()[0] = good;
}

KernelStatus RunReference(KernelContext& context) {
  RunWith(context, [](const auto* x, int64_t count) {
    return reference::AllFinite(x, reference::AllFiniteSizes{count});
  });
  return KernelStatus::kDone;
}

class FinitePlan : public Prepared {
 public:
  const ReduceFunctions* functions = nullptr;
};

struct VectorTest {
  const ReduceFunctions* f;
  bool operator()(const float* x, int64_t count) const { return f->all_finite_f32(x, count); }
  bool operator()(const double* x, int64_t count) const { return f->all_finite_f64(x, count); }
};

KernelStatus RunVector(KernelContext& context) {
  RunWith(context, VectorTest{static_cast<const FinitePlan*>(context.prepared)->functions});
  return KernelStatus::kDone;
}

}  // namespace

void DefineAllFinite(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  Kernel vector;
  vector.name = "vector";
  vector.prepare = [](const KernelQuery& query) -> std::unique_ptr<Prepared> {
    auto plan = std::make_unique<FinitePlan>();
    plan->functions = &ReduceFunctionsFor(query.isa);
    return plan;
  };
  vector.run = RunVector;
  ops.Define("all_finite")
      .Group("comparison")
      .Doc(
          "Whether no element of any operand is infinite or NaN; true without operands. Operands "
          "are tensors of any dtype and shape, or rows. Meant for guards.")
      .Formula("isfinite(x) for all x")
      .VariadicIn("values")
      .Traits(traits)
      .Infer(InferAllFinite)
      .Sizes("AllFiniteSizes",
             [](const KernelQuery& query, Words& words) {
               words << (query.in.empty() ? int64_t{0} : query.in[0]->size());
             })
      .Reference("AllFinite", RunReference)
      .Fast(vector)
      .StopsGrad()
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Uniform({2}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3000}, -1, 1), Floats({2}, {0, INFINITY})}})
      .AddSample({.inputs = {Floats({2}, {NAN, 0})}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9)}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {}});
}

}  // namespace catamaran
