// ops/onednn_internal.h
//
// What the files that call oneDNN share. Only for them.

#pragma once

#include <dlfcn.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "catamaran/base/error.h"
#include "catamaran/ops/max_isa.h"

namespace catamaran::onednn {

// We ask oneDNN only for what it says that it can do: whatever else it reports is a bug.
inline ErrorCode CodeOf(dnnl_status_t status) {
  return status == dnnl_out_of_memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
}

// oneDNN asks OpenMP how many threads to use; OpenMP keeps the answer for each thread apart. While
// this lives it is 1 on the calling thread; then what the caller had before. The functions are
// looked up at run time: a build of oneDNN without OpenMP does not bring them. Every use of oneDNN
// begins with one, so before the first it is settled which instructions oneDNN may use.
class OneThread {
 public:
  OneThread() {
    static const bool settled = (SettleIsa(), true);
    (void)settled;
    if (!functions().get) return;
    before_ = functions().get();
    if (before_ != 1) functions().set(1);
  }
  ~OneThread() {
    if (before_ > 1) functions().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Functions {
    int (*get)() = nullptr;
    void (*set)(int) = nullptr;
  };
  static const Functions& functions() {
    static const Functions found = [] {
      Functions f;
      f.get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
      f.set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      if (!f.set) f.get = nullptr;
      return f;
    }();
    return found;
  }

  int before_ = 0;
};

inline const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace catamaran::onednn
