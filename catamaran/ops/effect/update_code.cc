#include "catamaran/ops/effect/update_code.h"

namespace catamaran {

namespace plain {
const UpdateCode& GetUpdateCode();
}
namespace avx2 {
const UpdateCode& GetUpdateCode();
}
namespace avx512 {
const UpdateCode& GetUpdateCode();
}

namespace {

struct PreparedUpdate final : Prepared {
  const UpdateCode* code = nullptr;
};

constexpr UpdateCode kReference = {update_loops::Functions<float>(),
                                   update_loops::Functions<double>()};

}  // namespace

const UpdateCode& FindUpdateCode([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetUpdateCode();
  if (isa == Isa::kAvx2) return avx2::GetUpdateCode();
#endif
  return plain::GetUpdateCode();
}

const UpdateCode& UpdateCodeOf(const KernelContext& c) {
  return c.prepared ? *static_cast<const PreparedUpdate*>(c.prepared)->code : kReference;
}

Kernel UpdateKernel(KernelFn run) {
  Kernel kernel = FastKernel("vector", run, nullptr);
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedUpdate>();
    prepared->code = &FindUpdateCode(q.isa);
    return prepared;
  };
  return kernel;
}

}  // namespace catamaran
