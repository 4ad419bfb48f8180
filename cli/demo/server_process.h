// cli/demo/server_process.h
//
// `catamaran serve` as a process of its own, which can be killed and started again on the same
// ports. It is ended with its owner, and with the process that started it, however that ends.
//
// Thread safety: one thread at a time.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "catamaran/base/file.h"

namespace catamaran::cli {

class ServerProcess {
 public:
  // `arguments` stand behind `serve`; addresses are added. What it says goes to the file `output`.
  ServerProcess(const FileSystem& fs, std::vector<std::string> arguments, std::string output)
      : fs_(fs), arguments_(std::move(arguments)), output_(std::move(output)) {}
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it and returns when it is ready: on free ports of this machine the first time, on the
  // same ones afterwards. An Error with what it said if it ends, or is not ready in a minute.
  void Start();
  // At once, with no chance to save anything (SIGKILL).
  void Kill();
  // In order: requests under way are answered, what was learned is committed.
  void Stop();

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int http_port() const { return http_port_; }
  int grpc_port() const { return grpc_port_; }

 private:
  void Spawn();
  // Whether it has said that it is ready; notes its ports then.
  bool ReadReady();
  void End(int signal);

  const FileSystem& fs_;
  const std::vector<std::string> arguments_;
  const std::string output_;
  pid_t pid_ = 0;
  int http_port_ = 0, grpc_port_ = 0;
};

}  // namespace catamaran::cli
