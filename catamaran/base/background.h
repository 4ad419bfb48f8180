// base/background.h
//
// Work that must not take time from those who answer requests: it runs where a core has nothing
// else to do and, so that it comes to an end on a machine that is never idle, for a short slice now
// and then where there is none.
//
// A thread at idle priority alone would not do: on a busy machine it stands still for minutes, and
// everybody with it who waits for something that it holds. So the work runs on an ordinary thread
// that stops after each slice and goes on when a second thread, at idle priority (SCHED_IDLE),
// has got to run, or when it has waited long enough.

#pragma once

#include <functional>
#include <thread>

namespace catamaran {

// How long background work runs between two calls of Breathe that wait, and how long those wait at
// most: where no core is idle it gets about a seventh of one.
inline constexpr int64_t kBackgroundSliceNs = 400'000;
inline constexpr int64_t kBackgroundWaitNs = 2'400'000;

// Starts `work` in the background. It must not throw. An Error (resource exhausted) if its threads
// cannot be started.
std::thread StartBackground(std::function<void()> work);

// Puts the thread that calls it below ordinary ones, for good. For work that must go on, but not at
// the cost of others: it has a lower priority and, as in the background, waits after each slice
// until a core is idle, but only while it gets at least kShareThatWaits of a core. So it has about
// a tenth of one where others leave nothing. To be called once. Where no further thread can be
// started it has only the lower priority.
void GiveWay();
inline constexpr int64_t kGivingWaySliceNs = 600'000;
inline constexpr double kShareThatWaits = 0.2;

// To be called now and then by everything that may run in the background, at least every few
// microseconds' worth of work, holding nothing that those wait for who answer requests. When this
// thread's slice is over it waits until the next one; on other threads it does nothing.
void Breathe();

}  // namespace catamaran
