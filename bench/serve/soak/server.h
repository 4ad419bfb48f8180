// bench/serve/soak/server.h
//
// `catamaran serve --learn` on examples/feed.ctm as a process with a data directory of its own,
// which is killed, started again, and denied room for its files.
//
// Thread safety: the accessors may be called at any time; all else on one thread.

#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "bench/serve/server_process.h"
#include "bench/table/live_table.h"

namespace catamaran::bench {

inline constexpr const char* kSoakProgram = "examples/feed.ctm";
inline constexpr const char* kSoakModel = "feed";
inline constexpr double kClickWindowSeconds = 20;

class SoakServer {
 public:
  SoakServer() { Start(); }

  // Returns when it answers over HTTP and over gRPC that it is ready.
  void Start();
  void Kill();  // SIGKILL
  void Stop();  // SIGTERM, and waits
  // From now on its files cannot grow beyond what the newest segment of its log has, and a little
  // more: writes fail as on a full disk (EFBIG in place of ENOSPC). Needs no rights and no other
  // file system. HasRoom ends it; a new process has room.
  void HasNoRoom();
  void HasRoom();

  int http_port() const { return http_port_; }
  int grpc_port() const { return grpc_port_; }
  pid_t pid() const { return pid_; }  // 0: it does not run
  int starts() const { return starts_; }
  // Has log/ and state/.
  std::string model_directory() const { return directory_.path() + "/data/" + kSoakModel; }

 private:
  const ScratchDirectory directory_;
  const int http_port_ = FreePort(), grpc_port_ = FreePort();
  std::unique_ptr<ServerProcess> process_;
  std::atomic<pid_t> pid_ = 0;
  std::atomic<int> starts_ = 0;
};

// Runs a command of the program beside this one and returns its exit status; what it says is
// added to `said`.
int RunCatamaran(const std::string& arguments, std::string& said);

}  // namespace catamaran::bench
