#include "cli/train/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "catamaran/train/trainer.h"

namespace catamaran::cli {
namespace {

// What a handler can reach.
std::atomic<Trainer*> stopped_by_signals = nullptr;
std::atomic<int> signals_seen = 0;
struct sigaction interrupt_before, terminate_before;

void Handle(int number) {
  Trainer* trainer = stopped_by_signals.load();
  if (trainer == nullptr || signals_seen.fetch_add(1) > 0) _exit(128 + number);
  trainer->Stop();
  constexpr char kText[] = "\nstopping after this step; once more ends it at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof(kText) - 1);
}

}  // namespace

StopSignals::StopSignals(Trainer& trainer) {
  signals_seen.store(0);
  stopped_by_signals.store(&trainer);
  struct sigaction action = {};
  action.sa_handler = Handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
  stopped_by_signals.store(nullptr);
}

}  // namespace catamaran::cli
