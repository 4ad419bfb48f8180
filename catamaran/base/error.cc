#include "catamaran/base/error.h"

#include <string_view>

namespace catamaran::internal {

void ThrowError(fmt::string_view format, fmt::format_args args) {
  throw Error(fmt::vformat(format, args));
}

void ThrowCheckFailed(const char* file, int line, const char* condition,
                      const std::string& message) {
  // The path as the build saw it says nothing to the reader; the file's own name does.
  std::string_view name(file);
  if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  throw Error(fmt::format("internal error: {}:{}: {} does not hold{}{}", name, line, condition,
                          message.empty() ? "" : ": ", message));
}

}  // namespace catamaran::internal
