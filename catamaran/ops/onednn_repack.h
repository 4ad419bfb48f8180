// ops/onednn_repack.h
//
// Memory that oneDNN's primitives work in, held by whoever runs them. Left to itself the library
// keeps it with the thread that made the primitive; ours run on any thread, and several at once.
// Only for the files that call oneDNN.

#pragma once

#include "catamaran/base/error.h"
#include "catamaran/ops/onednn_internal.h"

namespace catamaran::onednn {

// What a primitive is made with that leaves its scratchpad to the caller.
inline dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

inline void Check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) {
    Fail(CodeOf(status), "oneDNN could not {}: status {}", what, static_cast<int>(status));
  }
}

// Copies from one layout to another. One Run at a time.
class Repacking {
 public:
  Repacking() = default;
  Repacking(const dnnl::memory& from, const dnnl::memory& to) {
    const dnnl::reorder::primitive_desc desc(from, to, OwnScratchpad());
    primitive_ = dnnl::reorder(desc);
    scratchpad_ = dnnl::memory(desc.scratchpad_desc(), Engine());
  }

  void Run(const dnnl::stream& stream, const dnnl::memory& from, const dnnl::memory& to) const {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()},
                                    {DNNL_ARG_TO, to.get()},
                                    {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    Check(dnnl_primitive_execute(primitive_.get(), stream.get(), 3, args), "repack");
  }

 private:
  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
};

}  // namespace catamaran::onednn
