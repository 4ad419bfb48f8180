#include "catamaran/base/error.h"

#include <new>
#include <system_error>

namespace catamaran {
namespace {

bool RanOut(const std::error_code& code) {
  return code == std::errc::resource_unavailable_try_again ||
         code == std::errc::not_enough_memory || code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system ||
         code == std::errc::no_space_on_device || code == std::errc::file_too_large;
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProgram:
      return "invalid program";
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kBadData:
      return "bad data";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kResourceExhausted:
      return "resource exhausted";
    case ErrorCode::kStorage:
      return "storage";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

ErrorCode CodeOf(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->code();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return ErrorCode::kResourceExhausted;
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    if (RanOut(system->code())) return ErrorCode::kResourceExhausted;
  }
  return ErrorCode::kInternal;
}

ErrorCode CodeOfCurrentException() {
  try {
    throw;
  } catch (const std::exception& error) {
    return CodeOf(error);
  } catch (...) {
    return ErrorCode::kInternal;
  }
}

std::string DescribeError(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  if (CodeOf(error) == ErrorCode::kResourceExhausted) {
    return fmt::format("the system has no more of what was asked for: {}", error.what());
  }
  return fmt::format("internal error: {}", error.what());
}

}  // namespace catamaran

namespace catamaran::internal {

void ThrowError(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(fmt::vformat(format, args), code);
}

void ThrowCheckFailed(const char* file, int line, const char* condition,
                      const std::string& message) {
  // The path as the build saw it says nothing to the reader; the file's own name does.
  std::string_view name(file);
  if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  throw Error(fmt::format("internal error: {}:{}: {} does not hold{}{}", name, line, condition,
                          message.empty() ? "" : ": ", message),
              ErrorCode::kInternal);
}

}  // namespace catamaran::internal
