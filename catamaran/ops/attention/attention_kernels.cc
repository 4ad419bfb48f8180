#include "catamaran/ops/attention/attention_kernels.h"

#include <new>

#include "catamaran/ops/attention/attention.h"
#include "catamaran/ops/attention/attention_simd.h"
#include "catamaran/ops/kernel_support.h"

namespace catamaran {

namespace {

using reference::AttentionSizes;
using reference::AttentionSpan;
using reference::AttentionSpanOf;

const AttentionFunctions& FunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kAttentionFunctions;
  if (isa == Isa::kAvx2) return avx2::kAttentionFunctions;
#endif
  return plain::kAttentionFunctions;
}

struct PreparedAttention final : Prepared {
  const AttentionFunctions* functions = nullptr;
};

std::unique_ptr<Prepared> Prepare(const KernelQuery& q) {
  auto prepared = std::make_unique<PreparedAttention>();
  prepared->functions = &FunctionsFor(q.isa);
  return prepared;
}

// Memory of the calling thread that grows to what it needs and stays.
class Scratch {
 public:
  static float* OfThisThread(int64_t floats) {
    thread_local Scratch scratch;
    return scratch.Get(floats);
  }
  ~Scratch() { Free(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  float* Get(int64_t floats) {
    if (floats > size_) {
      Free();
      data_ = static_cast<float*>(
          ::operator new(static_cast<size_t>(floats) * sizeof(float), kAlignment));
      size_ = floats;
    }
    return data_;
  }
  void Free() {
    if (data_ != nullptr) ::operator delete(data_, kAlignment);
    data_ = nullptr, size_ = 0;
  }
  float* data_ = nullptr;
  int64_t size_ = 0;
};

// A run: sizes, operands, and where the rows of a head of a sequence are.
struct Run {
  Run(const KernelContext& context, int mask_operand)
      : c(context), s(AttentionRunSizes(context, mask_operand)), mask(mask_operand) {}

  AttentionSpan Queries(int64_t b) const {
    return AttentionSpanOf(b, s.heads, s.queries, c.in(0).offsets);
  }
  AttentionSpan Keys(int64_t b) const {
    return AttentionSpanOf(b, s.kv_heads, s.keys, c.in(1).offsets);
  }
  // Rows of head h of a span in operand i, of which each has `width` numbers.
  static AttentionRows Rows(const Slot& slot, const AttentionSpan& span, int64_t h, int64_t t,
                            int64_t width) {
    return {slot.data<const float>() + span.Row(h, t) * width,
            span.ragged ? span.heads * width : width};
  }
  static AttentionOutRows OutRows(const Slot& slot, const AttentionSpan& span, int64_t h, int64_t t,
                                  int64_t width) {
    return {slot.data<float>() + span.Row(h, t) * width, span.ragged ? span.heads * width : width};
  }

  // The block of queries of head h of sequence b that begins at t.
  AttentionBlock Block(int64_t b, int64_t h, int64_t t) const {
    const AttentionSpan queries = Queries(b), keys = Keys(b);
    const int64_t kv = h / (s.heads / s.kv_heads);
    AttentionBlock block{};
    block.q = Rows(c.in(0), queries, h, t, s.width);
    block.k = Rows(c.in(1), keys, kv, 0, s.width);
    block.v = Rows(c.in(2), keys, kv, 0, s.value_width);
    block.queries = std::min(kAttentionQueries, queries.rows - t);
    block.keys = keys.rows;
    block.first_sees = s.causal ? t + 1 + keys.rows - queries.rows : AttentionBlock::kSeesAll;
    block.width = s.width, block.value_width = s.value_width;
    block.scale = static_cast<float>(s.scale);
    const int64_t at = b * s.mask_step[0] + h * s.mask_step[1] + t * s.mask_step[2];
    if (s.masked == 1) block.keep = c.in(mask).data<const bool>() + at;
    if (s.masked == 2) block.add = c.in(mask).data<const float>() + at;
    block.mask_query = s.mask_step[2], block.mask_key = s.mask_step[3];
    block.scratch = Scratch::OfThisThread(AttentionScratch(s.width, s.value_width));
    return block;
  }

  const KernelContext& c;
  const AttentionSizes s;
  const int mask;
};

int64_t BlocksOf(int64_t rows) { return (rows + kAttentionQueries - 1) / kAttentionQueries; }

KernelStatus RunForward(KernelContext& c) {
  const Run run(c, 3);
  const AttentionSizes& s = run.s;
  const auto forward = static_cast<const PreparedAttention*>(c.prepared)->functions->forward;
  const auto block = [&](int64_t b, int64_t h, int64_t t) {
    const AttentionSpan queries = run.Queries(b);
    forward({run.Block(b, h, t), Run::OutRows(c.out(0), queries, h, t, s.value_width),
             Run::OutRows(c.out(1), queries, h, t, 1)});
  };
  // Ragged sequences differ in length: one piece of work is a head of a sequence. Else it is a
  // block of queries.
  const int64_t blocks = s.ragged ? 1 : BlocksOf(s.queries);
  const int64_t keys = s.ragged ? s.keys / std::max<int64_t>(1, s.batch) : s.keys;
  const int64_t cost = kAttentionQueries * keys * (s.width + s.value_width) / 8;
  Split(c.pool, s.batch * s.heads * blocks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / (s.heads * blocks), h = i / blocks % s.heads;
      if (!s.ragged) {
        block(b, h, i % blocks * kAttentionQueries);
        continue;
      }
      const int64_t rows = run.Queries(b).rows;
      for (int64_t t = 0; t < rows; t += kAttentionQueries) block(b, h, t);
    }
  });
  return KernelStatus::kDone;
}

// The gradient's work on the block of queries of head h that begins at t, with no results yet.
AttentionBackward BackwardTask(const Run& run, int64_t b, int64_t h, int64_t t) {
  const KernelContext& c = run.c;
  const AttentionSpan q = run.Queries(b);
  AttentionBackward task{};
  task.block = run.Block(b, h, t);
  task.y = Run::Rows(c.in(3), q, h, t, run.s.value_width);
  task.dy = Run::Rows(c.in(5), q, h, t, run.s.value_width);
  task.lse = Run::Rows(c.in(4), q, h, t, 1);
  if (c.has_in(7)) task.dlse = Run::Rows(c.in(7), q, h, t, 1);
  task.key_end = task.block.keys;
  return task;
}

KernelStatus RunBackward(KernelContext& c) {
  const Run run(c, 6);
  const AttentionSizes& s = run.s;
  const auto backward = static_cast<const PreparedAttention*>(c.prepared)->functions->backward;
  for (int i : {1, 2}) std::fill_n(c.out(i).data<float>(), c.out(i).size(), 0.0f);
  const int64_t group = s.heads / s.kv_heads, share = std::max<int64_t>(1, s.batch);
  const int64_t keys = s.ragged ? s.keys / share : s.keys;
  const int64_t queries = s.ragged ? s.queries / share : s.queries;
  const int64_t cost = std::max<int64_t>(1, queries * keys * (s.width + s.value_width) / 3);

  // What adds to the keys [begin, end) of one head of k and v of one sequence, in one order.
  const auto add_to_keys = [&](int64_t b, int64_t kv, int64_t begin, int64_t end, bool with_dq) {
    const AttentionSpan q = run.Queries(b), k = run.Keys(b);
    for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      for (int64_t t = 0; t < q.rows; t += kAttentionQueries) {
        AttentionBackward task = BackwardTask(run, b, h, t);
        task.key_begin = begin, task.key_end = std::min(end, task.key_end);
        if (with_dq) task.dq = Run::OutRows(c.out(0), q, h, t, s.width);
        task.dk = Run::OutRows(c.out(1), k, kv, 0, s.width);
        task.dv = Run::OutRows(c.out(2), k, kv, 0, s.value_width);
        backward(task);
      }
    }
  };
  const int64_t heads = s.batch * s.kv_heads;
  const bool many = c.pool == nullptr || heads >= c.pool->threads() || s.ragged ||
                    group * cost * heads < 1'000'000;
  if (many) {
    Split(c.pool, heads, group * cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        add_to_keys(i / s.kv_heads, i % s.kv_heads, 0, AttentionBlock::kSeesAll, true);
      }
    });
    return KernelStatus::kDone;
  }
  // Fewer heads than threads: parts of the keys, then blocks of queries, which computes the scores
  // twice. Every sum has the same order as above.
  constexpr int64_t kPart = 2 * kAttentionKeys;
  const int64_t parts = (keys + kPart - 1) / kPart, blocks = BlocksOf(queries);
  Split(c.pool, heads * parts, group * cost / std::max<int64_t>(1, parts),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t head = i / parts, first = i % parts * kPart;
            add_to_keys(head / s.kv_heads, head % s.kv_heads, first, first + kPart, false);
          }
        });
  Split(c.pool, s.batch * s.heads * blocks, cost / std::max<int64_t>(1, blocks),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t head = i / blocks, t = i % blocks * kAttentionQueries;
            const int64_t b = head / s.heads, h = head % s.heads;
            AttentionBackward task = BackwardTask(run, b, h, t);
            task.dq = Run::OutRows(c.out(0), run.Queries(b), h, t, s.width);
            backward(task);
          }
        });
  return KernelStatus::kDone;
}

KernelStatus RunMaskBackward(KernelContext& c) {
  const Run run(c, 6);
  const AttentionSizes& s = run.s;
  const auto backward = static_cast<const PreparedAttention*>(c.prepared)->functions->backward;
  std::fill_n(c.out().data<float>(), c.out().size(), 0.0f);
  if (s.masked == 0) return KernelStatus::kDone;  // a mask without elements
  // One piece of work is all that adds to one part of the mask, in one order.
  const bool own_batch = s.mask_step[0] != 0, own_head = s.mask_step[1] != 0;
  const int64_t batches = own_batch ? s.batch : 1, heads = own_head ? s.heads : 1;
  const int64_t same = s.batch * s.heads / std::max<int64_t>(1, batches * heads);
  const int64_t cost = same * s.queries * s.keys * (s.width + s.value_width) / 6;
  Split(c.pool, batches * heads, std::max<int64_t>(1, cost), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t k = 0; k < same; ++k) {
        const int64_t b = own_batch ? i / heads : own_head ? k : k / s.heads;
        const int64_t h = own_head ? i % heads : k % s.heads;
        for (int64_t t = 0; t < s.queries; t += kAttentionQueries) {
          AttentionBackward task = BackwardTask(run, b, h, t);
          task.dmask =
              c.out().data<float>() + b * s.mask_step[0] + h * s.mask_step[1] + t * s.mask_step[2];
          backward(task);
        }
      }
    }
  });
  return KernelStatus::kDone;
}

Kernel TiledKernel(KernelFn run) {
  Kernel kernel = FastKernel("tiled", run, [](const KernelQuery& q) {
    return IsF32(q) && q.sizes->As<AttentionSizes>().kv_heads > 0;
  });
  kernel.prepare = Prepare;
  return kernel;
}

// Products of a query with all keys and values, `products` of them.
OpCost CostOf(const KernelQuery& q, double products) {
  const AttentionSizes s = q.sizes->As<AttentionSizes>();
  const double rows = static_cast<double>(s.ragged ? s.queries : s.batch * s.queries) *
                      static_cast<double>(s.heads);
  const double keys =
      static_cast<double>(s.ragged ? s.keys / std::max<int64_t>(1, s.batch) : s.keys) *
      (s.causal ? 0.5 : 1.0);
  OpCost cost;
  cost.operations = products * rows * keys * static_cast<double>(s.width + s.value_width);
  for (const auto& slots : {q.in, q.out}) {
    for (const Slot* slot : slots) {
      cost.bytes +=
          static_cast<double>(slot->size()) * static_cast<double>(SizeOf(slot->tensor.dtype));
    }
  }
  return cost;
}

}  // namespace

void AddAttentionKernels(OpBuilder& op) { op.Fast(TiledKernel(RunForward)); }
void AddAttentionGradKernels(OpBuilder& op) { op.Fast(TiledKernel(RunBackward)); }
void AddAttentionMaskGradKernels(OpBuilder& op) { op.Fast(TiledKernel(RunMaskBackward)); }

OpCost AttentionCost(const KernelQuery& query) { return CostOf(query, 2); }
OpCost AttentionGradCost(const KernelQuery& query) { return CostOf(query, 5); }

}  // namespace catamaran
