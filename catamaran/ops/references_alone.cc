// Shows that the references of all ops, as the build extracts them, compile as a device would
// compile them: C++17, without exceptions and RTTI, with nothing of ours but base/random.h.

#include "catamaran/base/random.h"
#include "references.h"

namespace catamaran::reference {

template void Sum<float>(const float*, float*, const ReduceSizes&);
template void StridedCopy<uint8_t>(const uint8_t*, uint8_t*, const StridedSizes&);
template void Dropout<double>(const double*, const uint64_t*, double*, const DropoutSizes&);
template float scalar::Sigmoid<float>(float);

}  // namespace catamaran::reference
