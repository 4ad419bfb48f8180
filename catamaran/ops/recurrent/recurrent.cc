#include "catamaran/ops/recurrent/recurrent.h"

#include <fmt/format.h>

namespace catamaran {

std::unique_ptr<Prepared> PrepareRecurrent(const KernelQuery& q) {
  auto prepared = std::make_unique<PreparedRecurrent>();
  prepared->functions = &plain::kRecurrentFunctions;
#if CATAMARAN_HAS_X86_ISAS
  if (q.isa == Isa::kAvx512) prepared->functions = &avx512::kRecurrentFunctions;
  if (q.isa == Isa::kAvx2) prepared->functions = &avx2::kRecurrentFunctions;
#endif
  return prepared;
}

Kernel RecurrentKernel(KernelFn run, int state, int gates, int weights) {
  Kernel kernel = FastKernel("vector", run, IsF32);
  kernel.prepare = PrepareRecurrent;
  kernel.scratch = [state, gates, weights](const KernelQuery& q) {
    int64_t numbers = q.in[static_cast<size_t>(state)]->size() * gates;
    if (weights >= 0) numbers += q.in[static_cast<size_t>(weights)]->size();
    return static_cast<size_t>(numbers) * sizeof(float);
  };
  return kernel;
}

void TransposeWeights(const float* w, int64_t rows, int64_t columns, float* out) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) out[j * rows + i] = w[i * columns + j];
  }
}

bool WantRecurrent(InferContext& c, int gates, int x, int w, std::initializer_list<int> states,
                   Type* y) {
  if (!c.WantFloat(x) || !c.WantFloat(w)) return false;
  const Type& in = c.type(x);
  if (in.rank() != 3 || in.is_ragged()) {
    return c.Fail(fmt::format("wants x[B, T, {} H], found {}", gates, in.ToString()));
  }
  if (c.type(w).rank() != 2) {
    return c.Fail(fmt::format("wants w[H, {} H], found {}", gates, c.type(w).ToString()));
  }
  const Dim hidden = c.type(w).dim(0);
  if (!c.Unify(c.type(w).dim(1), hidden * gates, "the gates of w") ||
      !c.Unify(in.dim(2), hidden * gates, "the gates of x")) {
    return false;
  }
  for (int i : states) {
    const Type wanted = Type::Tensor(in.dtype(), {in.dim(0), hidden});
    if (!c.WantFloat(i) || !c.UnifyTypes(wanted, c.type(i), "the states")) return false;
  }
  *y = Type::Tensor(in.dtype(), {in.dim(0), in.dim(1), hidden});
  return c.UnifyTypes(Type::Tensor(in.dtype(), {hidden, hidden * gates}), c.type(w), "w");
}

bool WantLengths(InferContext& c, int i, const Type& x) {
  if (!c.has(i)) return true;
  return c.UnifyTypes(Type::Tensor(DType::kI64, {x.dim(0)}), c.type(i), "lengths");
}

Var Before(Emitter& emit, Var first, Var y) {
  const Type& t = y.type();
  Var begin = emit.Emit("reshape", {first}, {{"shape", Attr::Dims({t.dim(0), 1, t.dim(2)})}});
  // Of one step more than there are, the last is left out: also where there is none.
  Var all = emit.Emit("concat", {begin, y}, {{"axis", 1}});
  return emit.Emit("slice", {all}, {{"axis", 1}, {"end", t.dim(1)}});
}

OpCost RecurrentCost(const KernelQuery& q, int state, int gates, int each) {
  double bytes = 0;
  for (const Slot* slot : q.in) bytes += slot ? static_cast<double>(slot->tensor.num_bytes()) : 0;
  for (const Slot* slot : q.out) bytes += static_cast<double>(slot->tensor.num_bytes());
  const Shape& x = q.in[0]->shape();
  const int64_t hidden = q.in[static_cast<size_t>(state)]->shape()[1];
  return {
      static_cast<double>(x[0] * x[1] * hidden) * static_cast<double>(2 * gates * hidden + each),
      bytes};
}

const int64_t* LengthsOf(const KernelContext& c, int i) {
  return c.has_in(i) ? c.in(i).data<const int64_t>() : nullptr;
}

}  // namespace catamaran
