#include "catamaran/ops/onednn_conv.h"

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ONEDNN

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "catamaran/ops/onednn_repack.h"

namespace catamaran::onednn {
namespace {

using dnnl::memory;

// Repacked images of one block take about this much: half of a common
// second-level cache.
constexpr int64_t kBlockBytes = 512 * 1024;

memory::desc Any(const memory::dims &dims) {
  return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
}

// Row-major; a step along axis 0 is `outer` elements, or as many as one index
// has when it is 0.
memory::desc Plain(const memory::dims &dims, int64_t outer = 0) {
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  if (outer > 0) strides[0] = outer;
  return memory::desc(dims, memory::data_type::f32, strides);
}

// The descriptions that all three directions share. Two spatial axes, or three
// where the first is used.
struct Descs {
  Descs(const ConvSizes &s, int64_t y_channels) {
    const bool deep = s.in[0] > 1 || s.out[0] > 1 || s.kernel[0] > 1;
    x = {s.batch, s.in_channels};
    y = {s.batch, s.out_channels};
    w = {s.out_channels, s.in_channels / s.groups};
    if (s.groups > 1) w = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups};
    y_image = y_channels;
    for (int i = deep ? 0 : 1; i < 3; ++i) {
      x.push_back(s.in[i]);
      y.push_back(s.out[i]);
      y_image *= s.out[i];
      w.push_back(s.kernel[i]);
      strides.push_back(s.stride[i]);
      dilates.push_back(s.dilation[i] - 1);
      begin.push_back(s.begin[i]);
      end.push_back(s.end[i]);
    }
    b = {s.out_channels};
  }
  memory::dims x, w, y, b, strides, dilates, begin, end;
  int64_t y_image = 0;  // elements from one image's y to the next
};

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc ForwardDesc(const Descs &d, bool bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc b = bias ? Plain(d.b) : memory::desc();
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(), kind,      kAlgorithm, Any(d.x), Any(d.w), b,
          Any(d.y), d.strides, d.dilates,  d.begin,  d.end,    OwnScratchpad()};
#else
  if (bias) {
    return {dnnl::convolution_forward::desc(kind, kAlgorithm, Any(d.x), Any(d.w), b, Any(d.y),
                                            d.strides, d.dilates, d.begin, d.end),
            OwnScratchpad(), Engine()};
  }
  return {dnnl::convolution_forward::desc(kind, kAlgorithm, Any(d.x), Any(d.w), Any(d.y), d.strides,
                                          d.dilates, d.begin, d.end),
          OwnScratchpad(), Engine()};
#endif
}

dnnl::convolution_backward_data::primitive_desc DataDesc(const Descs &d) {
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(),       kAlgorithm, Any(d.x), Any(d.w), Any(d.y),
          d.strides,      d.dilates,  d.begin,  d.end,    ForwardDesc(d, false),
          OwnScratchpad()};
#else
  return {dnnl::convolution_backward_data::desc(kAlgorithm, Any(d.x), Any(d.w), Any(d.y), d.strides,
                                                d.dilates, d.begin, d.end),
          OwnScratchpad(), Engine(), ForwardDesc(d, false)};
#endif
}

dnnl::convolution_backward_weights::primitive_desc WeightDesc(const Descs &d) {
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(),       kAlgorithm, Any(d.x), Any(d.w), Any(d.y),
          d.strides,      d.dilates,  d.begin,  d.end,    ForwardDesc(d, false),
          OwnScratchpad()};
#else
  return {dnnl::convolution_backward_weights::desc(kAlgorithm, Any(d.x), Any(d.w), Any(d.y),
                                                   d.strides, d.dilates, d.begin, d.end),
          OwnScratchpad(), Engine(), ForwardDesc(d, false)};
#endif
}

// An argument of the primitive: how we hold it and how the primitive wants it.
struct Argument {
  int id = 0;
  memory::desc plain, wanted;
  int64_t image = 0;  // elements from one image to the next; 0 where all share it
};

// The primitive for one number of images.
struct Block {
  Block(ConvKind kind, ConvSizes sizes, int64_t images, bool bias, int64_t y_channels) {
    sizes.batch = images;
    const Descs d(sizes, y_channels);
    const int64_t x_image = sizes.in_channels * sizes.in[0] * sizes.in[1] * sizes.in[2];
    const memory::desc x = Plain(d.x), w = Plain(d.w), y = Plain(d.y, d.y_image);
    switch (kind) {
      case ConvKind::kForward: {
        const auto desc = ForwardDesc(d, bias);
        primitive = dnnl::convolution_forward(desc);
        args[0] = {DNNL_ARG_SRC, x, desc.src_desc(), x_image};
        args[1] = {DNNL_ARG_WEIGHTS, w, desc.weights_desc(), 0};
        args[2] = {DNNL_ARG_DST, y, desc.dst_desc(), d.y_image};
        scratchpad = desc.scratchpad_desc();
        if (bias) bias_desc = desc.bias_desc();
        break;
      }
      case ConvKind::kData: {
        const auto desc = DataDesc(d);
        scratchpad = desc.scratchpad_desc();
        primitive = dnnl::convolution_backward_data(desc);
        args[0] = {DNNL_ARG_DIFF_DST, y, desc.diff_dst_desc(), d.y_image};
        args[1] = {DNNL_ARG_WEIGHTS, w, desc.weights_desc(), 0};
        args[2] = {DNNL_ARG_DIFF_SRC, x, desc.diff_src_desc(), x_image};
        break;
      }
      case ConvKind::kWeight: {
        const auto desc = WeightDesc(d);
        scratchpad = desc.scratchpad_desc();
        primitive = dnnl::convolution_backward_weights(desc);
        args[0] = {DNNL_ARG_SRC, x, desc.src_desc(), x_image};
        args[1] = {DNNL_ARG_DIFF_DST, y, desc.diff_dst_desc(), d.y_image};
        args[2] = {DNNL_ARG_DIFF_WEIGHTS, w, desc.diff_weights_desc(), 0};
        break;
      }
    }
  }

  dnnl::primitive primitive;
  Argument args[3];
  memory::desc bias_desc, scratchpad;
};

// What one run of a block at a time needs.
class Worker {
 public:
  explicit Worker(const Block &block) : block_(&block), stream_(Engine()) {
    for (int i = 0; i < 3; ++i) {
      const Argument &arg = block.args[i];
      Place &place = places_[i];
      place.plain = memory(arg.plain, Engine(), nullptr);
      place.repack = arg.plain != arg.wanted;
      place.packed = place.repack ? memory(arg.wanted, Engine()) : place.plain;
      if (place.repack) {
        place.reorder =
            i < 2 ? Repacking(place.plain, place.packed) : Repacking(place.packed, place.plain);
      }
      execute_[i] = {arg.id, place.packed.get()};
    }
    scratchpad_ = memory(block.scratchpad, Engine());
    execute_[num_args_++] = {DNNL_ARG_SCRATCHPAD, scratchpad_.get()};
    if (block.bias_desc != memory::desc()) {
      bias_ = memory(block.bias_desc, Engine(), nullptr);
      execute_[num_args_++] = {DNNL_ARG_BIAS, bias_.get()};
    }
  }

  // The operand that all images share, packed once for the calls that follow.
  void Begin(float *b, float *bias) {
    places_[1].plain.set_data_handle(b);
    if (bias_.get(true) != nullptr) bias_.set_data_handle(bias);
    if (block_->args[1].image == 0) Repack(1);
  }
  void Run(float *a, float *b, float *out) {
    places_[2].plain.set_data_handle(out);
    Execute(a, b);
    Repack(2);
    stream_.wait();
  }

  // For kWeight: adds what a block of images gives to a sum, which begins anew
  // with `first`.
  void Accumulate(float *a, float *b, bool first) {
    if (result_.get(true) == nullptr) {  // the primitive writes beside the sum
      result_ = memory(block_->args[2].wanted, Engine());
      sum_ = memory(block_->args[2].wanted, Engine());
    }
    execute_[2].memory = (first ? sum_ : result_).get();
    Execute(a, b);
    stream_.wait();
    if (first) return;
    float *sum = static_cast<float *>(sum_.get_data_handle());
    const float *result = static_cast<const float *>(result_.get_data_handle());
    const size_t count = block_->args[2].wanted.get_size() / sizeof(float);
    for (size_t i = 0; i < count; ++i) sum[i] += result[i];
  }
  // Writes the sum to `out`.
  void Finish(float *out) {
    const Argument &arg = block_->args[2];
    if (arg.plain == arg.wanted) {
      std::memcpy(out, sum_.get_data_handle(), arg.plain.get_size());
      return;
    }
    places_[2].plain.set_data_handle(out);
    places_[2].reorder.Run(stream_, sum_, places_[2].plain);
    stream_.wait();
  }

 private:
  struct Place {
    memory plain, packed;  // the same object where no repacking is needed
    Repacking reorder;     // empty likewise
    bool repack = false;
  };

  void Execute(float *a, float *b) {
    places_[0].plain.set_data_handle(a);
    Repack(0);
    if (block_->args[1].image != 0) {
      places_[1].plain.set_data_handle(b);
      Repack(1);
    }
    Check(dnnl_primitive_execute(block_->primitive.get(), stream_.get(), num_args_, execute_),
          "run a convolution");
  }

  void Repack(int i) {
    Place &place = places_[i];
    if (!place.repack) return;
    memory &from = i < 2 ? place.plain : place.packed;
    memory &to = i < 2 ? place.packed : place.plain;
    place.reorder.Run(stream_, from, to);
  }

  const Block *block_;
  dnnl::stream stream_;
  Place places_[3];
  memory bias_, scratchpad_, result_, sum_;
  dnnl_exec_arg_t execute_[5];
  int num_args_ = 3;
};

// Blocks of one number of images with their idle workers.
struct Pool {
  explicit Pool(std::unique_ptr<Block> b) : block(std::move(b)) {}
  std::unique_ptr<Block> block;
  std::vector<std::unique_ptr<Worker>> idle;
};

class BlockedConv final : public Conv {
 public:
  BlockedConv(ConvKind kind, const ConvSizes &sizes, bool bias, int64_t y_channels)
      : kind_(kind), sizes_(sizes), bias_(bias), y_channels_(y_channels) {
    int64_t bytes = 0;
    bytes += 4 * sizes.in_channels * sizes.in[0] * sizes.in[1] * sizes.in[2];
    bytes += 4 * sizes.out_channels * sizes.out[0] * sizes.out[1] * sizes.out[2];
    block_ = std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, bytes));
    if (kind == ConvKind::kWeight) {
      // Sums of filters are added once a block: images must outweigh them.
      const int64_t weights = 4 * sizes.out_channels * sizes.in_channels / sizes.groups *
                              sizes.kernel[0] * sizes.kernel[1] * sizes.kernel[2];
      block_ = std::max(block_, 4 * weights / std::max<int64_t>(1, bytes));
    }
    Give(std::min(block_, std::max<int64_t>(1, sizes.batch)),
         Take(std::min(block_, std::max<int64_t>(1, sizes.batch))));
  }

  void Run(const float *a, const float *b, const float *bias, float *out,
           int64_t images) const override {
    const OneThread one_thread;
    try {
      if (kind_ == ConvKind::kWeight) {
        RunWeight(a, b, out, images);
        return;
      }
      for (int64_t done = 0; done < images;) {
        // As many whole blocks as there are, then what is left over.
        const int64_t size = std::min(block_, images - done);
        const int64_t until = done + (images - done) / size * size;
        std::unique_ptr<Worker> worker = Take(size);
        const Argument *args = ArgsOf(size);
        worker->Begin(const_cast<float *>(b), const_cast<float *>(bias));
        for (; done < until; done += size) {
          worker->Run(const_cast<float *>(a) + done * args[0].image,
                      const_cast<float *>(b) + done * args[1].image, out + done * args[2].image);
        }
        Give(size, std::move(worker));
      }
    } catch (const dnnl::error &e) {
      Fail(CodeOf(e.status), "oneDNN: {}", e.what());
    }
  }

 private:
  void RunWeight(const float *a, const float *b, float *out, int64_t images) const {
    std::vector<float> rest;  // what the last images give, when they do not fill a block
    for (int64_t done = 0; done < images;) {
      const int64_t size = std::min(block_, images - done);
      const int64_t begin = done, until = done + (images - done) / size * size;
      std::unique_ptr<Worker> worker = Take(size);
      const Argument *args = ArgsOf(size);
      for (; done < until; done += size) {
        worker->Accumulate(const_cast<float *>(a) + done * args[0].image,
                           const_cast<float *>(b) + done * args[1].image, done == begin);
      }
      if (begin == 0) {
        worker->Finish(out);
      } else {
        rest.resize(args[2].plain.get_size() / sizeof(float));
        worker->Finish(rest.data());
        for (size_t i = 0; i < rest.size(); ++i) out[i] += rest[i];
      }
      Give(size, std::move(worker));
    }
  }

  Pool &PoolOf(int64_t images) const {  // with mutex_ held
    auto it = pools_.find(images);
    if (it == pools_.end()) {
      it = pools_
               .emplace(images,
                        Pool(std::make_unique<Block>(kind_, sizes_, images, bias_, y_channels_)))
               .first;
    }
    return it->second;
  }
  const Argument *ArgsOf(int64_t images) const {
    std::lock_guard lock(mutex_);
    return PoolOf(images).block->args;
  }
  std::unique_ptr<Worker> Take(int64_t images) const {
    const Block *block;
    {
      std::lock_guard lock(mutex_);
      Pool &pool = PoolOf(images);
      if (!pool.idle.empty()) {
        std::unique_ptr<Worker> worker = std::move(pool.idle.back());
        pool.idle.pop_back();
        return worker;
      }
      block = pool.block.get();
    }
    return std::make_unique<Worker>(*block);
  }
  void Give(int64_t images, std::unique_ptr<Worker> worker) const {
    std::lock_guard lock(mutex_);
    PoolOf(images).idle.push_back(std::move(worker));
  }

  const ConvKind kind_;
  const ConvSizes sizes_;
  const bool bias_;
  const int64_t y_channels_;
  int64_t block_ = 1;  // images at a time
  mutable std::mutex mutex_;
  mutable std::map<int64_t, Pool> pools_;
};

}  // namespace

std::unique_ptr<Conv> MakeConv(ConvKind kind, const ConvSizes &sizes, bool bias,
                               int64_t y_channels) {
  const OneThread one_thread;
  try {
    return std::make_unique<BlockedConv>(kind, sizes, bias, y_channels);
  } catch (const dnnl::error &e) {
    Fail(CodeOf(e.status), "oneDNN cannot prepare a convolution: {}", e.what());
  }
}

}  // namespace catamaran::onednn

#else

namespace catamaran::onednn {

std::unique_ptr<Conv> MakeConv(ConvKind, const ConvSizes &, bool, int64_t) {
  Fail("this build has no oneDNN");
}

}  // namespace catamaran::onednn

#endif
