// ops/sparse/embedding.cc
//
// embedding(w, ids): rows of a parameter. It computes what gather does, but its gradient is
// `rows`: only the rows that were read, so that an optimizer touches no others.

#include "catamaran/ops/kernel_support.h"
#include "catamaran/tensor/rows_value.h"

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
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const I* ids = c.in(1).data<I>();
        for (int64_t k = 0; k < s.count; ++k) {
          if (static_cast<uint64_t>(ids[k]) >= static_cast<uint64_t>(s.rows)) {
            Fail("id {} at position {} is outside of the {} rows", ids[k], k, s.rows);
          }
        }
        DispatchFloating(
            c.in(0).tensor.dtype,
            [&]<class T>(T) {
              const T* w = c.in(0).data<T>();
              T* y = c.out().data<T>();
              Split(c.pool, s.count, s.width + 32, [&](int64_t begin, int64_t end) {
                reference::Embedding(w, ids + begin, y + begin * s.width,
                                     {s.rows, s.width, end - begin});
              });
            },
            "embedding");
      },
      "embedding");
  return KernelStatus::kDone;
}

bool WantIds(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64) return true;
  return c.Fail("ids are i32, i64 or u64, found " + std::string(Name(dtype)));
}

std::vector<Dim> RowDims(const Type& w) { return {w.dims().begin() + 1, w.dims().end()}; }

void InferEmbedding(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantDense(0) || !c.WantMinRank(0, 2) || !WantIds(c, 1)) return;
  const Type& ids = c.type(1);
  std::vector<Dim> dims(ids.dims().begin(), ids.dims().end());
  for (const Dim& d : RowDims(c.type(0))) dims.push_back(d);
  c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), ids.ragged_axis()));
}

// ids and one gradient row for each.
void InferEmbeddingRows(InferContext& c) {
  if (!WantIds(c, 0) || !c.WantFloat(1)) return;
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
  auto* rows = static_cast<RowsValue*>(c.out().object);
  const Slot& ids = c.in(0);
  rows->dtype = c.in(1).tensor.dtype;
  rows->width = c.sizes<EmbeddingSizes>().width;
  rows->segments.clear();
  RowsSegment segment;
  segment.keys = ids.tensor.data;
  segment.key_type = ids.tensor.dtype;
  segment.num_keys = ids.size();
  segment.gradients = c.in(1).tensor.data;
  rows->segments.push_back(segment);
  return KernelStatus::kDone;
}

}  // namespace

void DefineEmbedding(OpSet& ops) {
  ops.Define("embedding")
      .Group("sparse")
      .Doc(
          "The rows of a parameter that the ids name. Its gradient is `rows`: only those rows. An "
          "id outside of the parameter is an error.")
      .Formula("y[…, i] = w[ids[…], i]")
      .In("w", "[N, …]")
      .In("ids", "integers, dense or ragged")
      .Traits(RaggedTraits())
      .Infer(InferEmbedding)
      .Sizes("EmbeddingSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& w = q.in[0]->shape();
               int64_t width = 1;
               for (int i = 1; i < w.rank(); ++i) width *= w[i];
               words << w[0] << width << q.in[1]->size();
             })
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.emit().Emit("embedding_rows", {c.operand(1), c.grad()}));
      })
      .Reference("Embedding", RunEmbedding)
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})}})
      .AddSample({.inputs = {Uniform({5, 2}, -1, 1), Ints({2, 2}, {4, 0, 0, 2}, DType::kI32)}})
      .AddSample({.inputs = {Uniform({5, 2, 2}, -1, 1), Ints({2}, {1, 3}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})},
                  .ragged_lengths = {{}, {3, 0, 1}}});
}

void DefineEmbeddingRows(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.holds_operands = true;
  ops.Define("embedding_rows")
      .Group("sparse")
      .Doc("The gradient of embedding: the ids, each with its row of dy.")
      .In("ids", "integers, dense or ragged")
      .In("dy", "a row for each id")
      .Traits(traits)
      .Infer(InferEmbeddingRows)
      .Sizes("EmbeddingSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& dy = q.in[1]->shape();
               int64_t width = 1;
               for (int i = q.in[0]->shape().rank(); i < dy.rank(); ++i) width *= dy[i];
               words << int64_t{0} << width << q.in[0]->size();
             })
      .NoGrad("a sparse gradient is not differentiated again; use gather for second derivatives")
      .Reference("", RunEmbeddingRows);
}

}  // namespace catamaran
