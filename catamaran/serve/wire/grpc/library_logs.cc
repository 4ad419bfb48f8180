#include "catamaran/serve/wire/grpc/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

namespace catamaran {
namespace {

constexpr int kLinesAMinute = 20;

// Whether one more line may be written this minute; the first that may not says so.
bool MayWrite() {
  static std::atomic<int64_t> minute = -1;
  static std::atomic<int> lines = 0;
  const int64_t now = std::chrono::duration_cast<std::chrono::minutes>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
  if (minute.exchange(now) != now) lines = 0;
  const int line = lines.fetch_add(1);
  if (line == kLinesAMinute) {
    std::fprintf(stderr, "gRPC and protobuf say more; it is left out for a minute\n");
  }
  return line < kLinesAMinute;
}

void LogGrpc(gpr_log_func_args* line) {
  if (MayWrite()) {
    std::fprintf(stderr, "gRPC %s: %s\n", gpr_log_severity_string(line->severity), line->message);
  }
}

void LogProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  if (MayWrite()) std::fprintf(stderr, "protobuf: %s\n", message.c_str());
}

}  // namespace

void LimitLibraryLogs() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(&LogGrpc);
    google::protobuf::SetLogHandler(&LogProtobuf);
  });
}

}  // namespace catamaran
