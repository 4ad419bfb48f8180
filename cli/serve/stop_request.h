// cli/serve/stop_request.h
//
// SIGTERM and Ctrl-C of a service: the first asks it to end in order, a second ends the process at
// once. Made before any other thread, which then do not see these signals; one at a time.

#pragma once

#include <csignal>
#include <thread>

namespace catamaran::cli {

class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Returns when the first signal has come; from then on the next one ends the process.
  void Wait();

 private:
  sigset_t signals_, before_;
};

}  // namespace catamaran::cli
