#include "catamaran/ops/onednn.h"

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ONEDNN

#include <algorithm>
#include <mutex>
#include <vector>

#include "catamaran/ops/onednn_internal.h"

namespace catamaran::onednn {
namespace {

using dnnl::memory;

// An argument of the primitive: how we hold it and how the primitive wants it.
struct Argument {
  int id;
  memory::desc plain;
  memory::desc wanted;
};

dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

class PlainPrimitive final : public Primitive {
 public:
  // `scratchpad`: memory that the primitive works in. Each run has its own: the library's belongs
  // to the thread that made the primitive.
  PlainPrimitive(dnnl::primitive primitive, memory::desc scratchpad, Argument a, Argument b,
                 Argument out)
      : primitive_(std::move(primitive)),
        scratchpad_(std::move(scratchpad)),
        args_{std::move(a), std::move(b), std::move(out)} {
    idle_.push_back(std::make_unique<Instance>(*this));
  }

  void Run(const float* a, const float* b, float* out) const override {
    const OneThread one_thread;
    std::unique_ptr<Instance> instance = Take();
    try {
      instance->Run(*this, const_cast<float*>(a), const_cast<float*>(b), out);
    } catch (const dnnl::error& e) {
      Fail(CodeOf(e.status), "oneDNN: {}", e.what());
    }
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(instance));
  }

 private:
  struct Place {
    memory plain, packed;     // the same object where no repacking is needed
    dnnl::primitive reorder;  // empty likewise
    bool repack = false;
  };

  // What one run at a time needs.
  struct Instance {
    explicit Instance(const PlainPrimitive& p) : stream(Engine()) {
      for (int i = 0; i < 3; ++i) {
        const Argument& arg = p.args_[i];
        Place& place = places[i];
        place.plain = memory(arg.plain, Engine(), nullptr);
        place.repack = arg.plain != arg.wanted;
        place.packed = place.repack ? memory(arg.wanted, Engine()) : place.plain;
        if (place.repack) {
          place.reorder = i < 2 ? dnnl::reorder(place.plain, place.packed)
                                : dnnl::reorder(place.packed, place.plain);
        }
        execute[i] = {arg.id, place.packed.get()};
      }
      scratchpad = memory(p.scratchpad_, Engine());
      execute[3] = {DNNL_ARG_SCRATCHPAD, scratchpad.get()};
    }

    void Run(const PlainPrimitive& p, float* a, float* b, float* out) {
      void* const data[] = {a, b, out};
      for (int i = 0; i < 3; ++i) places[i].plain.set_data_handle(data[i]);
      for (int i = 0; i < 2; ++i) Repack(i);
      Check(dnnl_primitive_execute(p.primitive_.get(), stream.get(), 4, execute), "execute");
      Repack(2);
      stream.wait();
    }

    void Repack(int i) {
      Place& place = places[i];
      if (!place.repack) return;
      memory& from = i < 2 ? place.plain : place.packed;
      memory& to = i < 2 ? place.packed : place.plain;
      const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
      Check(dnnl_primitive_execute(place.reorder.get(), stream.get(), 2, args), "repack");
    }

    static void Check(dnnl_status_t status, const char* what) {
      if (status != dnnl_success)
        Fail(CodeOf(status), "oneDNN could not {}: status {}", what, int(status));
    }

    dnnl::stream stream;
    Place places[3];
    memory scratchpad;
    dnnl_exec_arg_t execute[4];
  };

  std::unique_ptr<Instance> Take() const {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Instance> instance = std::move(idle_.back());
        idle_.pop_back();
        return instance;
      }
    }
    return std::make_unique<Instance>(*this);
  }

  dnnl::primitive primitive_;
  memory::desc scratchpad_;
  Argument args_[3];
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Instance>> idle_;
};

// Turns the library's exceptions into ours.
template <class F>
std::unique_ptr<Primitive> Make(const char* what, F&& make) {
  const OneThread one_thread;
  try {
    return make();
  } catch (const dnnl::error& e) {
    Fail(CodeOf(e.status), "oneDNN cannot prepare {}: {}", what, e.what());
  }
}

}  // namespace

void Sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
           int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0.0f);
    return;
  }
  const OneThread one_thread;
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          1, a, lda, b, ldb, 0, c, ldc);
  if (status != dnnl_success)
    Fail(CodeOf(status), "oneDNN: sgemm: status {}", static_cast<int>(status));
}

std::unique_ptr<Primitive> MakeMatmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                      int64_t k) {
  return Make("a matmul", [&] {
    const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
      return memory::desc({rows, columns}, memory::data_type::f32,
                          transposed ? memory::dims{1, rows} : memory::dims{columns, 1});
    };
    const memory::desc a = matrix(m, k, transpose_a), b = matrix(k, n, transpose_b),
                       c = matrix(m, n, false);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(Engine(), a, b, c, OwnScratchpad());
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), OwnScratchpad(), Engine());
#endif
    return std::make_unique<PlainPrimitive>(
        dnnl::matmul(desc), desc.scratchpad_desc(), Argument{DNNL_ARG_SRC, a, a},
        Argument{DNNL_ARG_WEIGHTS, b, b}, Argument{DNNL_ARG_DST, c, c});
  });
}

// --- bf16.

namespace {

class PlainBf16Matmul final : public Bf16Matmul {
 public:
  explicit PlainBf16Matmul(std::unique_ptr<Primitive> primitive)
      : primitive_(std::move(primitive)) {}
  // The primitive knows what the pointers point at.
  void Run(const BF16* a, const BF16* b, BF16* out) const override {
    primitive_->Run(reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
                    reinterpret_cast<float*>(out));
  }

 private:
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace

std::unique_ptr<Bf16Matmul> MakeBf16Matmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                           int64_t k) {
  const OneThread one_thread;
  try {
    const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
      return memory::desc({rows, columns}, memory::data_type::bf16,
                          transposed ? memory::dims{1, rows} : memory::dims{columns, 1});
    };
    const memory::desc a = matrix(m, k, transpose_a), b = matrix(k, n, transpose_b),
                       c = matrix(m, n, false);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(Engine(), a, b, c, OwnScratchpad());
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), OwnScratchpad(), Engine());
#endif
    return std::make_unique<PlainBf16Matmul>(std::make_unique<PlainPrimitive>(
        dnnl::matmul(desc), desc.scratchpad_desc(), Argument{DNNL_ARG_SRC, a, a},
        Argument{DNNL_ARG_WEIGHTS, b, b}, Argument{DNNL_ARG_DST, c, c}));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace catamaran::onednn

#else

namespace catamaran::onednn {

namespace {
[[noreturn]] void Missing() { Fail("this build has no oneDNN"); }
}  // namespace

void Sgemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t,
           float*, int64_t) {
  Missing();
}
std::unique_ptr<Primitive> MakeMatmul(bool, bool, int64_t, int64_t, int64_t) { Missing(); }
std::unique_ptr<Bf16Matmul> MakeBf16Matmul(bool, bool, int64_t, int64_t, int64_t) { Missing(); }

}  // namespace catamaran::onednn

#endif
