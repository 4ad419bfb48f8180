#include "catamaran/ops/reduction/argmax_simd.h"

namespace catamaran {

const ArgFunctions& ArgFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kArgFunctions;
  if (isa == Isa::kAvx2) return avx2::kArgFunctions;
#endif
  return plain::kArgFunctions;
}

}  // namespace catamaran
