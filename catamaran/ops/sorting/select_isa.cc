#include "catamaran/ops/sorting/select_simd.h"

namespace catamaran {

const SelectFunctions& SelectFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kSelectFunctions;
  if (isa == Isa::kAvx2) return avx2::kSelectFunctions;
#endif
  return plain::kSelectFunctions;
}

}  // namespace catamaran
