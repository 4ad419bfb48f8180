// base/start_thread.h
//
// A thread, or an Error that says which one cannot be had. What runs on a thread must not throw:
// an exception that leaves it ends the process.

#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

// Throws an Error (resource exhausted) if the system has no more threads or no memory for one.
// `what_for`: "that syncs the log".
template <class Body>
std::thread StartThread(std::string_view what_for, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    Fail(ErrorCode::kResourceExhausted,
         "cannot start the thread {}: {} (limits of threads: ulimit -u; of memory: ulimit -v, -d)",
         what_for, error.code().message());
  }
}

}  // namespace catamaran
