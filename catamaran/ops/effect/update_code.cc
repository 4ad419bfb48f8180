#include "catamaran/ops/effect/update_code.h"

#include <cmath>
#include <type_traits>

#include "catamaran/base/cpu.h"

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

template <class T>
std::string WrongNumbers(const T* gradient, int64_t count) {
  static const UpdateCode& code = FindUpdateCode(DetectIsa());  // which asks the processor
  bool within;
  if constexpr (sizeof(T) == sizeof(float)) {
    within = code.f32.within(gradient, count, kLargestNumber<T>);
  } else {
    within = code.f64.within(gradient, count, kLargestNumber<T>);
  }
  if (within) return {};
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(gradient[i])) return "is not finite";
  }
  return fmt::format("has numbers beyond {}", kLargestNumber<T>);
}
template std::string WrongNumbers(const float* gradient, int64_t count);
template std::string WrongNumbers(const double* gradient, int64_t count);

std::string WrongNumbers(const RowsValue& rows) {
  return DispatchFloating(
      rows.dtype,
      [&]<class T>(T) -> std::string {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
          for (const RowsSegment& s : rows.segments) {
            const int64_t count = s.pool == Pool::kNone ? s.num_keys : s.num_bags;
            std::string wrong =
                WrongNumbers(static_cast<const T*>(s.gradients), count * rows.width);
            if (wrong.empty() && s.weights != nullptr) {
              wrong = WrongNumbers(static_cast<const T*>(s.weights), s.num_keys);
            }
            if (wrong.empty() && !std::isfinite(s.scale)) wrong = "is not finite";
            if (!wrong.empty()) return wrong;
          }
        }
        return {};
      },
      "update");
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
