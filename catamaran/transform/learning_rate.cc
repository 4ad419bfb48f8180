#include "catamaran/transform/learning_rate.h"

#include <fmt/format.h>

namespace catamaran {

StaticParam RateParam(std::string name, double value, std::string doc) {
  return {std::move(name), StaticKind::kFunction, Attr(value), std::move(doc), {}};
}

bool IsSchedule(const Function& f) {
  return f.num_params() == 1 && f.param(0)->type == Type::Scalar(DType::kI64) &&
         f.results.size() == 1 && f.results[0].type.is_scalar() &&
         IsFloat(f.results[0].type.dtype());
}

Var EmitRate(BuildContext& c, Emitter& emit, std::string_view name, Var step) {
  if (!c.arg(name).get<AttrWord>()) {
    const double value = c.Float(name);
    if (!(value >= 0)) c.Fail(fmt::format("{} must not be negative, found {}", name, value));
    return emit.Constant(value, DType::kF64);
  }
  const Function& f = c.Fn(name);
  if (!IsSchedule(f)) {
    c.Fail(
        fmt::format("{} is a number or a function from the step to a number, such as "
                    "fn (step: i64[]) -> f32[]; {} is not",
                    name, f.name));
  }
  return emit.Call(f.name, std::span(&step, 1), 1)[0];
}

}  // namespace catamaran
