#include "catamaran/ops/onednn.h"

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ONEDNN

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace catamaran::onednn {
namespace {

using dnnl::memory;

// oneDNN asks OpenMP how many threads to use; OpenMP keeps the answer for each thread apart. While
// this lives it is 1 on the calling thread; then what the caller had before. The functions are
// looked up at run time: a build of oneDNN without OpenMP does not bring them.
class OneThread {
 public:
  OneThread() {
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

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc Plain(const memory::dims& dims) {
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return memory::desc(dims, memory::data_type::f32, strides);
}
memory::desc Any(const memory::dims& dims) {
  return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
}

// An argument of the primitive: how we hold it and how the primitive wants it.
struct Argument {
  int id;
  memory::desc plain;
  memory::desc wanted;
};

class PlainPrimitive final : public Primitive {
 public:
  PlainPrimitive(dnnl::primitive primitive, Argument a, Argument b, Argument out)
      : primitive_(std::move(primitive)), args_{std::move(a), std::move(b), std::move(out)} {
    idle_.push_back(std::make_unique<Instance>(*this));
  }

  void Run(const float* a, const float* b, float* out) const override {
    const OneThread one_thread;
    std::unique_ptr<Instance> instance = Take();
    try {
      instance->Run(*this, const_cast<float*>(a), const_cast<float*>(b), out);
    } catch (const dnnl::error& e) {
      Fail("oneDNN: {}", e.what());
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
    }

    void Run(const PlainPrimitive& p, float* a, float* b, float* out) {
      void* const data[] = {a, b, out};
      for (int i = 0; i < 3; ++i) places[i].plain.set_data_handle(data[i]);
      for (int i = 0; i < 2; ++i) Repack(i);
      Check(dnnl_primitive_execute(p.primitive_.get(), stream.get(), 3, execute), "execute");
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
      if (status != dnnl_success) Fail("oneDNN could not {}: status {}", what, int(status));
    }

    dnnl::stream stream;
    Place places[3];
    dnnl_exec_arg_t execute[3];
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
  Argument args_[3];
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Instance>> idle_;
};

// The descriptions of a convolution that all three directions share.
struct ConvDescs {
  explicit ConvDescs(const ConvSizes& s)
      : x{s.batch, s.in_channels, s.height, s.width},
        w{s.out_channels, s.in_channels / s.groups, s.kernel_height, s.kernel_width},
        y{s.batch, s.out_channels, s.out_height, s.out_width},
        strides{s.stride_height, s.stride_width},
        dilates{s.dilation_height - 1, s.dilation_width - 1},
        begin{s.padding_height, s.padding_width} {
    if (s.groups > 1) {
      w = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_height,
           s.kernel_width};
    }
  }
  memory::dims x, w, y, strides, dilates, begin;
};

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvDescs& d) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(), kind,      algorithm, Any(d.x), Any(d.w),
          Any(d.y), d.strides, d.dilates, d.begin,  d.begin};
#else
  return {dnnl::convolution_forward::desc(kind, algorithm, Any(d.x), Any(d.w), Any(d.y), d.strides,
                                          d.dilates, d.begin, d.begin),
          Engine()};
#endif
}

// Turns the library's exceptions into ours.
template <class F>
std::unique_ptr<Primitive> Make(const char* what, F&& make) {
  const OneThread one_thread;
  try {
    return make();
  } catch (const dnnl::error& e) {
    Fail("oneDNN cannot prepare {}: {}", what, e.what());
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
  if (status != dnnl_success) Fail("oneDNN: sgemm: status {}", static_cast<int>(status));
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
    const dnnl::matmul::primitive_desc desc(Engine(), a, b, c);
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), Engine());
#endif
    return std::make_unique<PlainPrimitive>(dnnl::matmul(desc), Argument{DNNL_ARG_SRC, a, a},
                                            Argument{DNNL_ARG_WEIGHTS, b, b},
                                            Argument{DNNL_ARG_DST, c, c});
  });
}

std::unique_ptr<Primitive> MakeConv(const ConvSizes& sizes) {
  return Make("a convolution", [&] {
    const ConvDescs d(sizes);
    const auto desc = ForwardDesc(d);
    return std::make_unique<PlainPrimitive>(
        dnnl::convolution_forward(desc), Argument{DNNL_ARG_SRC, Plain(d.x), desc.src_desc()},
        Argument{DNNL_ARG_WEIGHTS, Plain(d.w), desc.weights_desc()},
        Argument{DNNL_ARG_DST, Plain(d.y), desc.dst_desc()});
  });
}

std::unique_ptr<Primitive> MakeConvGradInput(const ConvSizes& sizes) {
  return Make("the gradient of a convolution", [&] {
    const ConvDescs d(sizes);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto forward = ForwardDesc(d);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_data::primitive_desc desc(
        Engine(), algorithm, Any(d.x), Any(d.w), Any(d.y), d.strides, d.dilates, d.begin, d.begin,
        forward);
#else
    const dnnl::convolution_backward_data::primitive_desc desc(
        dnnl::convolution_backward_data::desc(algorithm, Any(d.x), Any(d.w), Any(d.y), d.strides,
                                              d.dilates, d.begin, d.begin),
        Engine(), forward);
#endif
    return std::make_unique<PlainPrimitive>(
        dnnl::convolution_backward_data(desc),
        Argument{DNNL_ARG_DIFF_DST, Plain(d.y), desc.diff_dst_desc()},
        Argument{DNNL_ARG_WEIGHTS, Plain(d.w), desc.weights_desc()},
        Argument{DNNL_ARG_DIFF_SRC, Plain(d.x), desc.diff_src_desc()});
  });
}

std::unique_ptr<Primitive> MakeConvGradWeight(const ConvSizes& sizes) {
  return Make("the gradient of a convolution", [&] {
    const ConvDescs d(sizes);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto forward = ForwardDesc(d);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_weights::primitive_desc desc(
        Engine(), algorithm, Any(d.x), Any(d.w), Any(d.y), d.strides, d.dilates, d.begin, d.begin,
        forward);
#else
    const dnnl::convolution_backward_weights::primitive_desc desc(
        dnnl::convolution_backward_weights::desc(algorithm, Any(d.x), Any(d.w), Any(d.y),
                                                 d.strides, d.dilates, d.begin, d.begin),
        Engine(), forward);
#endif
    return std::make_unique<PlainPrimitive>(
        dnnl::convolution_backward_weights(desc),
        Argument{DNNL_ARG_SRC, Plain(d.x), desc.src_desc()},
        Argument{DNNL_ARG_DIFF_DST, Plain(d.y), desc.diff_dst_desc()},
        Argument{DNNL_ARG_DIFF_WEIGHTS, Plain(d.w), desc.diff_weights_desc()});
  });
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
std::unique_ptr<Primitive> MakeConv(const ConvSizes&) { Missing(); }
std::unique_ptr<Primitive> MakeConvGradInput(const ConvSizes&) { Missing(); }
std::unique_ptr<Primitive> MakeConvGradWeight(const ConvSizes&) { Missing(); }

}  // namespace catamaran::onednn

#endif
