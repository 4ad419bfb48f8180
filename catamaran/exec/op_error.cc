#include "catamaran/exec/op_error.h"

#include "catamaran/base/error.h"

namespace catamaran {

std::string OpMessage(const Op& op, const SourceTable& sources, std::string_view what) {
  // Kernels may begin with the op's name themselves.
  const std::string prefix = op.name() + ": ";
  if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
  std::string message = fmt::format("{}: {}{}", sources.ToString(op.at), prefix, what);
  for (uint32_t frame = op.at.frame; frame != 0;) {
    const SourceFrame step = sources.frame(frame);
    message += fmt::format("\n  {}, {}", step.what, sources.ToString(step.at));
    frame = step.at.frame;
  }
  return message;
}

std::exception_ptr WithOp(const Op& op, const SourceTable& sources, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const LocatedError&) {
    return error;
  } catch (const std::exception& exception) {
    return std::make_exception_ptr(
        Error(OpMessage(op, sources, DescribeError(exception)), CodeOf(exception)));
  } catch (...) {
    return error;
  }
}

}  // namespace catamaran
