#include "catamaran/ops/sparse/interaction_isa.h"

namespace catamaran {
namespace {

const InteractionTable& InteractionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kInteractions;
  if (isa == Isa::kAvx2) return avx2::kInteractions;
#endif
  return plain::kInteractions;
}

}  // namespace

Kernel InteractionKernel(KernelFn run, std::function<bool(const KernelQuery&)> supports) {
  Kernel kernel = FastKernel("vector", run, std::move(supports));
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedInteractions>();
    prepared->table = &InteractionsFor(q.isa);
    return prepared;
  };
  return kernel;
}

FieldSizes FieldsOf(const Slot& x) {
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  int64_t rows = 1;
  for (int i = 0; i + 2 < rank; ++i) rows *= shape[i];
  return {rows, shape[rank - 2], shape[rank - 1]};
}

bool WantFields(InferContext& c, int i, std::vector<Dim> back, Type* result) {
  if (!c.WantFloat(i) || !c.WantMinRank(i, 2)) return false;
  const Type& x = c.type(i);
  if (x.is_ragged() && x.rank() < 4) {
    return c.Fail("wants fields behind the ragged dimension, [B, *T, F, D], found " + x.ToString());
  }
  std::vector<Dim> dims(x.dims().begin(), x.dims().end() - 2);
  dims.insert(dims.end(), back.begin(), back.end());
  *result = Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis());
  return true;
}

}  // namespace catamaran
