// bench/table/own_process.h
//
// Work in a process of its own, so that its memory is counted alone and given back whole.

#pragma once

#include <functional>

#include "bench/worker.h"

namespace catamaran::bench {

// Runs `work` in a child process and returns what it returned. Throws what it threw, as a runtime
// error. REQUIRES: this process has no threads but the caller's.
Measurement InOwnProcess(const std::function<Measurement()>& work);

}  // namespace catamaran::bench
