// bench/serve/server_process.h
//
// A server as a process of its own: started, measured from outside, killed. It ends with its owner,
// and with the process that started it, however that ends.
//
// Thread safety: one thread at a time.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace catamaran::bench {

// A port of this machine that was free a moment ago.
int FreePort();
// The folder that this program is in; the others are beside it.
std::string ProgramDirectory();

class ServerProcess {
 public:
  // What it says goes to `output`, a file.
  ServerProcess(const std::vector<std::string>& command, const std::string& output);
  ~ServerProcess();  // SIGKILL, to all that it started too
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Returns when something listens at `port`. An Error with what the process said if it ends, or
  // after two minutes.
  void AwaitPort(int port);
  // SIGKILL, or SIGTERM and waiting until it has ended.
  void Kill();
  void Stop();

  pid_t pid() const { return pid_; }
  // Seconds of processor that it and its children have used so far, to a hundredth.
  double ProcessorSeconds() const;

 private:
  std::string Said() const;

  pid_t pid_ = 0;
  const std::string output_;
};

}  // namespace catamaran::bench
