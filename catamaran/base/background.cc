#include "catamaran/base/background.h"

#include <exception>
#include <utility>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace catamaran {

std::thread StartIdle(std::function<void()> work) {
  return std::thread([work = std::move(work)] {
#ifdef __linux__
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
#endif
    work();
  });
}

void RunIdle(const std::function<void()>& work) {
  std::exception_ptr error;
  StartIdle([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

}  // namespace catamaran
