#include "catamaran/ops/sorting/rank_simd.h"

namespace catamaran {

const RankFunctions& RankFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kRankFunctions;
  if (isa == Isa::kAvx2) return avx2::kRankFunctions;
#endif
  return plain::kRankFunctions;
}

}  // namespace catamaran
