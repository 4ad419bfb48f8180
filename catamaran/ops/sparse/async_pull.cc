#include "catamaran/ops/sparse/async_pull.h"

#include <atomic>
#include <exception>
#include <new>

namespace catamaran {
namespace {

// Whoever comes second of the kernel's return and the table's answer carries on.
struct Pulling {
  KernelContext* context;
  void (*finish)(KernelContext&);
  std::exception_ptr error;
  std::atomic<bool> first_came = false;
};
static_assert(sizeof(Pulling) <= kPullHeader);

void Answered(void* p, std::exception_ptr error) {
  auto* pulling = static_cast<Pulling*>(p);
  pulling->error = error;
  if (!pulling->first_came.exchange(true, std::memory_order_acq_rel)) return;
  KernelContext& c = *pulling->context;
  if (error == nullptr) {
    try {
      pulling->finish(c);
    } catch (...) {
      error = std::current_exception();
    }
  }
  pulling->~Pulling();
  if (error != nullptr) {
    c.Fail(error);
  } else {
    c.Complete();
  }
}

}  // namespace

KernelStatus PullThen(KernelContext& c, std::span<const uint64_t> keys, std::span<float> out,
                      void (*finish)(KernelContext&)) {
  auto* pulling = new (c.scratch) Pulling{&c, finish, nullptr, {}};
  c.run->table(*c.op, 0)->Pull(keys, out, {Answered, pulling});
  if (!pulling->first_came.exchange(true, std::memory_order_acq_rel)) return KernelStatus::kPending;
  const std::exception_ptr error = pulling->error;
  pulling->~Pulling();
  if (error != nullptr) std::rethrow_exception(error);
  finish(c);
  return KernelStatus::kDone;
}

}  // namespace catamaran
