// ops/sparse/embedding.cc
//
// embedding(w, ids): rows of a parameter. It computes what gather does, but its gradient is
// `rows`: only the rows that were read, so that an optimizer touches no others.

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/sparse/bags.h"

// reference-begin
namespace catamaran::reference {

struct EmbeddingSizes {
  int64_t rows, width, count;
};

template <class T, class I>
void Embedding(const T* w, const I* ids, T* y, const EmbeddingSizes& s) {
  for (int64_t k = 0; k < s.count; ++k, y += s.width) {
    std::copy_n(w + static_cast<int64_t>(ids[k]) * s.width, s.width, y);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::EmbeddingSizes;

KernelStatus RunEmbedding(KernelContext& c) {
  EmbeddingSizes s = c.sizes<EmbeddingSizes>();
  s.count = c.in(1).size();
  CheckIds(BagFunctionsFor(Isa::kPlain), c.in(1), s.rows);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const I* ids = c.in(1).data<I>();
        DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
          const T* w = c.in(0).data<T>();
          T* y = c.out().data<T>();
          Split(c.pool, s.count, s.width + 32, [&](int64_t begin, int64_t end) {
            reference::Embedding(w, ids + begin, y + begin * s.width,
                                 {s.rows, s.width, end - begin});
          });
        });
      },
      "embedding");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const EmbeddingSizes& s = c.sizes<EmbeddingSizes>();
  const Slot& ids = c.in(1);
  const int64_t count = ids.size();
  const BagFunctions& functions = BagFunctionsOf(c);
  CheckIds(functions, ids, s.rows);
  const int64_t row_bytes = s.width * static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  const bool narrow = ids.tensor.dtype == DType::kI32;
  Split(c.pool, count, s.width + 32, [&](int64_t begin, int64_t end) {
    BagJob job{};
    job.w = c.in(0).tensor.data;
    job.ids = ids.tensor.data;
    job.y = c.out().tensor.data;
    job.first = begin;
    job.last = end;
    job.num_ids = count;
    (narrow ? functions.copy_i32 : functions.copy_i64)(job, row_bytes);
  });
  return KernelStatus::kDone;
}

void InferEmbedding(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantDense(0) || !c.WantMinRank(0, 2) || !WantIds(c, 1)) return;
  c.SetResult(IdsType(c.type(1), c.type(0).dtype(), RowDims(c.type(0))));
}

// ids and one gradient row for each.
void InferEmbeddingRows(InferContext& c) {
  if (!WantIds(c, 0) || !WantRowsFloat(c, 1)) return;
  const Type& ids = c.type(0);
  const Type& dy = c.type(1);
  if (dy.rank() <= ids.rank()) {
    c.Fail("wants a gradient row for each id");
    return;
  }
  for (int i = 0; i < ids.rank(); ++i) {
    if (!c.Unify(ids.dim(i), dy.dim(i), "axes of the ids")) return;
  }
  c.SetResult(Type::Rows(dy.dtype(), {dy.dims().begin() + ids.rank(), dy.dims().end()}));
}

KernelStatus RunEmbeddingRows(KernelContext& c) {
  SetRows(c, c.in(0), c.in(1), nullptr, Pool::kNone, c.sizes<EmbeddingSizes>().width);
  return KernelStatus::kDone;
}

}  // namespace

void DefineEmbedding(OpSet& ops) {
  ops.Define("embedding")
      .Group("sparse")
      .Doc(
          "The rows of a parameter that the ids name. Its gradient is `rows`: only those rows. An "
          "id outside of the parameter is an error. Of f16 and bf16 only the rows that are named "
          "are read; their gradient is refused.")
      .Formula("y[…, i] = w[ids[…], i]")
      .In("w", "[N, …]")
      .In("ids", "integers, dense or ragged")
      .Traits(RaggedTraits())
      .Infer(InferEmbedding)
      .Sizes("EmbeddingSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& w = q.in[0]->shape();
               words << w[0] << Product(w, 1, w.rank()) << q.in[1]->size();
             })
      .Cost([](const KernelQuery& q) {
        const auto bytes = static_cast<double>(q.out[0]->tensor.num_bytes());
        return OpCost{0, 2 * bytes + static_cast<double>(q.in[1]->tensor.num_bytes())};
      })
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.emit().Emit("embedding_rows", {c.operand(1), c.grad()}));
      })
      .Reference("Embedding", RunEmbedding)
      .Fast(BagKernel(RunVector))
      .TakesHalf()
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({4}, {2, 0, 0, 1})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})}})
      .AddSample({.inputs = {Uniform({5, 2}, -1, 1), Ints({2, 2}, {4, 0, 0, 2}, DType::kI32)}})
      .AddSample({.inputs = {Uniform({5, 2, 2}, -1, 1), Ints({2}, {1, 3}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({40, 37}, -1, 1), RandomInts({50}, 0, 40)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})},
                  .ragged_lengths = {{}, {3, 0, 1}}});
}

void DefineEmbeddingRows(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.holds_operands = true;
  ops.Define("embedding_rows")
      .Example(R"(fn gradient(ids: i64[B], dy: f32[B, 16]) -> rows<f32[16]> {
  return embedding_rows(ids, dy)
})")
      .Group("sparse")
      .Doc("The gradient of embedding: the ids, each with its row of dy.")
      .Formula("row ids[…] gets dy[…]")
      .In("ids", "integers, dense or ragged")
      .In("dy", "a row for each id")
      .Traits(traits)
      .Infer(InferEmbeddingRows)
      .Sizes("EmbeddingSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& dy = q.in[1]->shape();
               words << int64_t{0} << Product(dy, q.in[0]->shape().rank(), dy.rank())
                     << q.in[0]->size();
             })
      .NoGrad("a sparse gradient is not differentiated again; use gather for second derivatives")
      .Reference("", RunEmbeddingRows);
}

}  // namespace catamaran
