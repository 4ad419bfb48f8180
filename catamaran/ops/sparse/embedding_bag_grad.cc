// ops/sparse/embedding_bag_grad.cc
//
// The gradients of embedding_bag: at the parameter as `rows` that are expanded only where they are
// applied, at the weights, and for the largest of each bag.

#include <cmath>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/sparse/bags.h"

// reference-begin
namespace catamaran::reference {

// pool: 1 sum, 2 mean, 3 sqrt.
struct EmbeddingBagGradSizes {
  int64_t rows, width, bags, stride, pool, has_padding, padding;
};

// The gradient at the weights. y = factor * sum of weight * row, and the factor depends on the
// weights itself.
template <class T, class I>
void EmbeddingBagWeightsGrad(const T* w, const I* ids, const T* weights, const T* y, const T* dy,
                             const int64_t* offsets, T* dw, const EmbeddingBagGradSizes& s) {
  for (int64_t b = 0; b < s.bags; ++b, y += s.width, dy += s.width) {
    const int64_t begin = offsets ? offsets[b] : b * s.stride;
    const int64_t end = offsets ? offsets[b + 1] : (b + 1) * s.stride;
    T total = T(0), along = T(0);
    for (int64_t k = begin; k < end; ++k) {
      if (s.has_padding && ids[k] == static_cast<I>(s.padding)) continue;
      total += s.pool == 3 ? weights[k] * weights[k] : weights[k];
    }
    if (s.pool == 3) total = std::sqrt(total);
    const T factor = s.pool == 1 ? T(1) : total == T(0) ? T(0) : T(1) / total;
    for (int64_t i = 0; i < s.width; ++i) along += dy[i] * y[i];
    for (int64_t k = begin; k < end; ++k) {
      dw[k] = T(0);
      if (s.has_padding && ids[k] == static_cast<I>(s.padding)) continue;
      const T* row = w + static_cast<int64_t>(ids[k]) * s.width;
      T dot = T(0);
      for (int64_t i = 0; i < s.width; ++i) dot += dy[i] * row[i];
      if (s.pool == 1) dw[k] = dot;
      if (s.pool == 2) dw[k] = factor * (dot - along);
      if (s.pool == 3) dw[k] = factor * dot - weights[k] * factor * factor * along;
    }
  }
}

// A gradient row for each id: dy where its number was the first largest of its bag, else 0.
template <class T, class I>
void EmbeddingBagMaxGrad(const T* w, const I* ids, const T* dy, const int64_t* offsets, T* dx,
                         const EmbeddingBagGradSizes& s) {
  for (int64_t b = 0; b < s.bags; ++b, dy += s.width) {
    const int64_t begin = offsets ? offsets[b] : b * s.stride;
    const int64_t end = offsets ? offsets[b + 1] : (b + 1) * s.stride;
    if (begin == end) continue;
    std::fill_n(dx + begin * s.width, (end - begin) * s.width, T(0));
    for (int64_t c = 0; c < s.width; c += 64) {  // columns, some at a time
      const int64_t columns = std::min<int64_t>(64, s.width - c);
      int64_t largest[64];
      T most[64];
      std::fill_n(largest, columns, begin);
      std::copy_n(w + static_cast<int64_t>(ids[begin]) * s.width + c, columns, most);
      for (int64_t k = begin + 1; k < end; ++k) {
        const T* row = w + static_cast<int64_t>(ids[k]) * s.width + c;
        for (int64_t i = 0; i < columns; ++i) {
          if (!(row[i] > most[i] || (row[i] != row[i] && most[i] == most[i]))) continue;
          largest[i] = k;
          most[i] = row[i];
        }
      }
      for (int64_t i = 0; i < columns; ++i) dx[largest[i] * s.width + c + i] = dy[c + i];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::EmbeddingBagGradSizes;

// Of ops whose operands begin with w and ids.
void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& w = q.in[0]->shape();
  const Bags bags = BagsOf(*q.in[1]);
  const bool max = q.op->name() == "embedding_bag_max_grad";
  const std::string pool = max ? "max" : q.op->attr("pool").AsWord();
  const bool padded = !max && !q.op->attr("padding").empty();
  words << w[0] << Product(w, 1, w.rank()) << bags.count << bags.stride
        << int64_t{pool == "sum"    ? 1
                   : pool == "mean" ? 2
                   : pool == "sqrt" ? 3
                                    : 4}
        << padded << (padded ? q.op->attr("padding").AsInt() : int64_t{0});
}

// Calls f with the types of the parameter and the ids, both checked.
template <class F>
void WithTypes(KernelContext& c, const EmbeddingBagGradSizes& s, F f) {
  CheckIds(BagFunctionsFor(Isa::kPlain), c.in(1), s.rows, s.has_padding, s.padding);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        DispatchFloating(
            c.in(0).tensor.dtype, [&]<class T>(T) { f(T(0), I(0)); }, "embedding_bag");
      },
      "embedding_bag");
}

KernelStatus RunWeightsGrad(KernelContext& c) {
  EmbeddingBagGradSizes s = c.sizes<EmbeddingBagGradSizes>();
  const Bags bags = BagsOf(c.in(1));
  s.bags = bags.count;
  WithTypes(c, s, [&]<class T, class I>(T, I) {
    reference::EmbeddingBagWeightsGrad(c.in(0).data<const T>(), c.in(1).data<const I>(),
                                       c.in(2).data<const T>(), c.in(3).data<const T>(),
                                       c.in(4).data<const T>(), bags.offsets, c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// As the reference, from products of rows that vector code makes.
KernelStatus RunVectorWeightsGrad(KernelContext& c) {
  const EmbeddingBagGradSizes& s = c.sizes<EmbeddingBagGradSizes>();
  const Bags bags = BagsOf(c.in(1));
  BagJob job = JobOf(c.in(1), bags);
  job.w = c.in(0).tensor.data;
  job.width = s.width;
  job.has_padding = s.has_padding;
  job.padding = s.padding;
  const int64_t cost = (s.width + 16) * (job.num_ids / std::max<int64_t>(1, bags.count) + 1);
  const BagFunctions& functions = BagFunctionsOf(c);
  WithTypes(c, s, [&]<class T, class I>(T, I) {
    const I* ids = c.in(1).data<const I>();
    const T* weights = c.in(2).data<const T>();
    T* dw = c.out().data<T>();
    Split(c.pool, bags.count, cost, [&](int64_t first, int64_t last) {
      BagJob part = job;
      part.first = first;
      part.last = last;
      const T* dy = c.in(4).data<const T>();
      if constexpr (sizeof(T) == 4) {
        functions.dots_f32(part, dy, dw);
      } else {
        functions.dots_f64(part, dy, dw);
      }
      for (int64_t b = first; b < last && s.pool != 1; ++b) {
        const auto stays = [&](int64_t k) {
          return !s.has_padding || ids[k] != static_cast<I>(s.padding);
        };
        T total = T(0), along = T(0);
        for (int64_t k = bags.begin(b); k < bags.end(b); ++k) {
          if (stays(k)) total += s.pool == 3 ? weights[k] * weights[k] : weights[k];
        }
        if (s.pool == 3) total = std::sqrt(total);
        const T factor = total == T(0) ? T(0) : T(1) / total;
        const T* y = c.in(3).data<const T>() + b * s.width;
        for (int64_t i = 0; i < s.width; ++i) along += dy[b * s.width + i] * y[i];
        for (int64_t k = bags.begin(b); k < bags.end(b); ++k) {
          if (!stays(k)) continue;
          dw[k] = s.pool == 2 ? factor * (dw[k] - along)
                              : factor * dw[k] - weights[k] * factor * factor * along;
        }
      }
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunMaxGrad(KernelContext& c) {
  const EmbeddingBagGradSizes& s = c.sizes<EmbeddingBagGradSizes>();
  const Bags bags = BagsOf(c.in(1));
  const int64_t cost = s.width * (c.in(1).size() / std::max<int64_t>(1, bags.count) + 1);
  WithTypes(c, s, [&]<class T, class I>(T, I) {
    Split(c.pool, bags.count, cost, [&](int64_t first, int64_t last) {
      // Ragged ids are found by their offsets, others by counting from the first.
      const int64_t at = bags.offsets ? 0 : first * bags.stride;
      EmbeddingBagGradSizes part = s;
      part.bags = last - first;
      reference::EmbeddingBagMaxGrad(c.in(0).data<const T>(), c.in(1).data<const I>() + at,
                                     c.in(2).data<const T>() + first * s.width,
                                     bags.offsets ? bags.offsets + first : nullptr,
                                     c.out().data<T>() + at * s.width, part);
    });
  });
  return KernelStatus::kDone;
}

Kernel WeightsKernel() {
  Kernel kernel = BagKernel(RunVectorWeightsGrad);
  kernel.half = false;
  return kernel;
}

Pool PoolOf(const Op& op) {
  const std::string word = op.attr("pool").AsWord();
  return word == "sum" ? Pool::kSum : word == "mean" ? Pool::kMean : Pool::kSqrt;
}

KernelStatus RunRows(KernelContext& c) {
  SetRows(c, c.in(0), c.in(1), c.has_in(2) ? &c.in(2) : nullptr, PoolOf(*c.op),
          c.sizes<EmbeddingBagGradSizes>().width);
  return KernelStatus::kDone;
}

OpBuilder& AddPool(OpBuilder& op) {
  return op.Group("sparse").WordAttr("pool", {"sum", "mean", "sqrt"}, "sum",
                                     "as given to embedding_bag");
}

}  // namespace

void DefineEmbeddingBagRows(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.holds_operands = true;
  OpBuilder op = ops.Define("embedding_bag_rows");
  op.Example(R"(fn gradient(ids: i64[B, N], dy: f32[B, 16]) -> rows<f32[16]> {
  return embedding_bag_rows(ids, dy, pool=mean)
})");
  op.In("ids", "[…, N] or [B, *N]: i32, i64 or u64")
      .In("dy", "a row for each bag")
      .OptionalIn("weights", "as ids");
  AddPool(op)
      .Doc(
          "The gradient of embedding_bag at its parameter: ids, bags, weights and a gradient row a "
          "bag, not yet expanded.")
      .Formula("sum: row ids[…, n] gets weights[…, n] * dy[…] for every n")
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (!WantIds(c, 0) || !WantRowsFloat(c, 1)) return;
        const Type& ids = c.type(0);
        const Type& dy = c.type(1);
        const int bags = ids.rank() - 1;
        if (bags < 0 || dy.rank() <= bags) {
          return (void)c.Fail("wants a gradient row for each bag");
        }
        for (int i = 0; i < bags; ++i) {
          if (!c.Unify(ids.dim(i), dy.dim(i), "axes of the bags")) return;
        }
        if (c.has(2) && !c.UnifyTypes(ids.WithDType(dy.dtype()), c.type(2), "ids and weights")) {
          return;
        }
        c.SetResult(Type::Rows(dy.dtype(), {dy.dims().begin() + bags, dy.dims().end()}));
      })
      .Sizes("EmbeddingBagGradSizes",
             [](const KernelQuery& q, Words& words) {
               // Of ragged ids [B, *N] one axis is stored, and one axis of bags.
               const Type& ids = q.op->operand(0)->type;
               const Shape& dy = q.in[1]->shape();
               words << int64_t{0} << Product(dy, ids.rank() - 1, dy.rank());
             })
      .NoGrad("a sparse gradient is not differentiated again")
      .Reference("", RunRows);
}

void DefineEmbeddingBagWeightsGrad(OpSet& ops) {
  OpBuilder op = ops.Define("embedding_bag_weights_grad");
  op.In("w", "[V, …]")
      .In("ids", "[…, N] or [B, *N]: i32, i64 or u64")
      .In("weights", "as ids")
      .In("y", "embedding_bag's result")
      .In("dy", "its gradient");
  AddPool(op)
      .Doc("The gradient of embedding_bag at its weights; 0 where an id is padding.")
      .Formula("sum: dweights[…, n] = sum over i of dy[…, i] * w[ids[…, n], i]")
      .OptionalAttr("padding", AttrKind::kInt, "as given to embedding_bag")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantMinRank(0, 2) || !WantIds(c, 1)) return;
        const Type& w = c.type(0);
        const Type& ids = c.type(1);
        if (!c.UnifyTypes(ids.WithDType(w.dtype()), c.type(2), "ids and weights")) return;
        const Type y = BagsType(ids, w.dtype(), RowDims(w));
        if (c.UnifyTypes(y, c.type(3), "bags and y") && c.UnifyTypes(y, c.type(4), "bags and dy")) {
          c.SetResult(c.type(2));
        }
      })
      .Sizes("EmbeddingBagGradSizes", FillSizes)
      .NoGrad("the second derivative of a weighted bag is not defined")
      .Reference("EmbeddingBagWeightsGrad", RunWeightsGrad)
      .Fast(WeightsKernel());
  for (const char* pool : {"sum", "mean", "sqrt"}) {
    op.AddSample(
        {.inputs = {Uniform({4, 3}, -1, 1), Ints({2, 2}, {3, 0, 1, 1}), Uniform({2, 2}, 0.5, 1.5),
                    Uniform({2, 3}, -1, 1, 2), Uniform({2, 3}, -1, 1, 3)},
         .attrs = {{"pool", Attr::Word(pool)}, {"padding", 1}}});
    op.AddSample({.inputs = {Uniform({4, 53}, -1, 1), Ints({2, 2}, {3, -1, 1, 1}, DType::kI32),
                             Uniform({2, 2}, 0.5, 1.5), Uniform({2, 53}, -1, 1, 2),
                             Uniform({2, 53}, -1, 1, 3)},
                  .attrs = {{"pool", Attr::Word(pool)}, {"padding", -1}}});
    op.AddSample({.inputs = {Uniform({4, 3}, -1, 1), Ints({3}, {3, 0, 1}), Uniform({3}, 0.5, 1.5),
                             Uniform({2, 3}, -1, 1, 2), Uniform({2, 3}, -1, 1, 3)},
                  .attrs = {{"pool", Attr::Word(pool)}},
                  .ragged_lengths = {{}, {1, 2}, {1, 2}}});
  }
}

void DefineEmbeddingBagMaxGrad(OpSet& ops) {
  ops.Define("embedding_bag_max_grad")
      .Group("sparse")
      .Doc(
          "A gradient row for each id of embedding_bag with pool=max: dy where the number of that "
          "id was the first largest of its bag, else 0.")
      .Formula("dx[…, n, i] = dy[…, i] where n is the first with the largest w[ids[…, n], i]")
      .In("w", "[V, …]")
      .In("ids", "[…, N] or [B, *N]: i32, i64 or u64")
      .In("dy", "a row for each bag")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantMinRank(0, 2) || !WantIds(c, 1)) return;
        const Type& w = c.type(0);
        if (c.UnifyTypes(BagsType(c.type(1), w.dtype(), RowDims(w)), c.type(2), "bags and dy")) {
          c.SetResult(IdsType(c.type(1), w.dtype(), RowDims(w)));
        }
      })
      .Sizes("EmbeddingBagGradSizes", FillSizes)
      .NoGrad("the gradient of a largest number is not differentiated again")
      .Reference("EmbeddingBagMaxGrad", RunMaxGrad)
      .AddSample({.inputs = {Floats({3, 2}, {1, 9, 3, 4, 5, 6}), Ints({1, 2}, {0, 2}),
                             Floats({1, 2}, {1, 2})}})
      .AddSample(
          {.inputs = {Uniform({4, 3}, -1, 1), Ints({3}, {3, 3, 1}), Uniform({3, 3}, -1, 1, 2)},
           .ragged_lengths = {{}, {2, 0, 1}}});
}

}  // namespace catamaran
