#include "catamaran/ops/reduction/reduce_isa.h"

namespace catamaran {

const ReduceFunctions& ReduceFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kReduceFunctions;
  if (isa == Isa::kAvx2) return avx2::kReduceFunctions;
#endif
  return plain::kReduceFunctions;
}

}  // namespace catamaran
