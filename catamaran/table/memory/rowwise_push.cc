#include "catamaran/table/memory/rowwise_push_simd.h"

namespace catamaran {

RowwisePushFn RowwisePushFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetRowwisePush();
  if (isa == Isa::kAvx2) return avx2::GetRowwisePush();
#endif
  return plain::GetRowwisePush();
}

}  // namespace catamaran
