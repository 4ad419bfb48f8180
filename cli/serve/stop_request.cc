#include "cli/serve/stop_request.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <system_error>

namespace catamaran::cli {

StopRequest::StopRequest() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  // A client that goes away is told by the write that fails.
  std::signal(SIGPIPE, SIG_IGN);
}

StopRequest::~StopRequest() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void StopRequest::Wait() {
  int number = 0;
  while (sigwait(&signals_, &number) != 0) {
  }
  try {
    std::thread([signals = signals_] {
      int second = 0;
      while (sigwait(&signals, &second) != 0) {
      }
      _exit(128 + second);
    }).detach();
  } catch (const std::system_error&) {
    // No thread for it: this one takes the second signal, with its default, which ends the process.
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
}

}  // namespace catamaran::cli
