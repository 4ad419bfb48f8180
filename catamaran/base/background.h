// base/background.h
//
// Work that must not take time from anybody: a thread that runs only where a core has nothing else
// to do.

#pragma once

#include <functional>
#include <thread>

namespace catamaran {

// Starts `work` on a thread of its own at idle priority (SCHED_IDLE). Where the system refuses
// that, it runs as any other thread. `work` must not throw.
std::thread StartIdle(std::function<void()> work);

// Runs `work` on such a thread and waits for it. What it throws is thrown here.
void RunIdle(const std::function<void()>& work);

}  // namespace catamaran
