#include "catamaran/table/memory/pull_rows_simd.h"

namespace catamaran {

PullRowsFn PullRowsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetPullRows();
  if (isa == Isa::kAvx2) return avx2::GetPullRows();
#endif
  return plain::GetPullRows();
}

}  // namespace catamaran
