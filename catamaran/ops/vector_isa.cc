#include "catamaran/ops/vector_isa.h"

namespace catamaran {

VectorFn FindVector([[maybe_unused]] Isa isa, ScalarKind kind, VectorType type, unsigned scalars) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::FindVector(kind, type, scalars);
  if (isa == Isa::kAvx2) return avx2::FindVector(kind, type, scalars);
#endif
  return plain::FindVector(kind, type, scalars);
}

HalfFunctions FindHalfFunctions([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetHalfFunctions();
  if (isa == Isa::kAvx2) return avx2::GetHalfFunctions();
#endif
  return plain::GetHalfFunctions();
}

VectorFn FindFused([[maybe_unused]] Isa isa, FusedFormula formula) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::FindFused(formula);
  if (isa == Isa::kAvx2) return avx2::FindFused(formula);
#endif
  return plain::FindFused(formula);
}

}  // namespace catamaran
