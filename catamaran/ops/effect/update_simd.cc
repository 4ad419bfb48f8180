#include "catamaran/ops/effect/update_loops.h"

namespace catamaran::CATAMARAN_ISA {

const UpdateCode& GetUpdateCode() {
  static constexpr UpdateCode code = {update_loops::Functions<float>(),
                                      update_loops::Functions<double>()};
  return code;
}

}  // namespace catamaran::CATAMARAN_ISA
