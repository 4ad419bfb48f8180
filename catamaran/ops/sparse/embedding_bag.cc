// ops/sparse/embedding_bag.cc
//
// embedding_bag(w, ids): rows of a parameter, pooled into one row a bag without ever standing in
// memory one by one. Its gradients are in embedding_bag_grad.cc.

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/sparse/bags.h"

// reference-begin
namespace catamaran::reference {

// pool: 1 sum, 2 mean, 3 sqrt, 4 max. Bag b is ids [b * stride, (b + 1) * stride), or what the
// offsets say.
struct EmbeddingBagSizes {
  int64_t rows, width, bags, stride, pool, has_padding, padding;
};

// weights and offsets may be null. An empty bag gives zeros.
template <class T, class I>
void EmbeddingBag(const T* w, const I* ids, const T* weights, const int64_t* offsets, T* y,
                  const EmbeddingBagSizes& s) {
  for (int64_t b = 0; b < s.bags; ++b, y += s.width) {
    const int64_t begin = offsets ? offsets[b] : b * s.stride;
    const int64_t end = offsets ? offsets[b + 1] : (b + 1) * s.stride;
    T total = T(0);
    bool any = false;
    std::fill_n(y, s.width, T(0));
    for (int64_t k = begin; k < end; ++k) {
      if (s.has_padding && ids[k] == static_cast<I>(s.padding)) continue;
      const T weight = weights ? weights[k] : T(1);
      const T* row = w + static_cast<int64_t>(ids[k]) * s.width;
      total += s.pool == 3 ? weight * weight : weight;
      for (int64_t i = 0; i < s.width; ++i) {
        if (s.pool == 4) {
          if (!any || row[i] > y[i] || row[i] != row[i]) y[i] = row[i];
        } else {
          y[i] += weight * row[i];
        }
      }
      any = true;
    }
    if (s.pool == 3) total = std::sqrt(total);
    if (s.pool != 2 && s.pool != 3) continue;
    for (int64_t i = 0; i < s.width; ++i) y[i] = total == T(0) ? T(0) : y[i] / total;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::EmbeddingBagSizes;

KernelStatus RunReference(KernelContext& c) {
  EmbeddingBagSizes s = c.sizes<EmbeddingBagSizes>();
  const Slot& ids = c.in(1);
  s.bags = BagsOf(ids).count;
  CheckIds(BagFunctionsFor(Isa::kPlain), ids, s.rows, s.has_padding, s.padding);
  DispatchIndex(
      ids.tensor.dtype,
      [&]<class I>(I) {
        DispatchFloating(
            c.in(0).tensor.dtype,
            [&]<class T>(T) {
              const T* weights = c.has_in(2) ? c.in(2).data<const T>() : nullptr;
              reference::EmbeddingBag(c.in(0).data<const T>(), ids.data<const I>(), weights,
                                      ids.offsets, c.out().data<T>(), s);
            },
            "embedding_bag");
      },
      "embedding_bag");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const EmbeddingBagSizes& s = c.sizes<EmbeddingBagSizes>();
  const Slot& ids = c.in(1);
  const Bags bags = BagsOf(ids);
  CheckIds(BagFunctionsOf(c), ids, s.rows, s.has_padding, s.padding);
  BagJob job = JobOf(ids, bags);
  job.w = c.in(0).tensor.data;
  job.weights = c.has_in(2) ? c.in(2).tensor.data : nullptr;
  job.y = c.out().tensor.data;
  job.width = s.width;
  job.pool = s.pool;
  job.has_padding = s.has_padding;
  job.padding = s.padding;
  PoolAll(c, job, c.in(0).tensor.dtype, bags.count);
  return KernelStatus::kDone;
}

void InferBag(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantDense(0) || !c.WantMinRank(0, 2) || !WantIds(c, 1)) return;
  const Type& w = c.type(0);
  const Type& ids = c.type(1);
  if (ids.rank() < 1) return (void)c.Fail("wants at least one axis of ids: the bag");
  if (ids.is_ragged() && ids.rank() != 2) return (void)c.Fail("ragged ids are [B, *N]");
  if (c.has(2)) {
    if (c.op().attr("pool").AsWord() == "max") {
      return (void)c.Fail("weights mean nothing with pool=max");
    }
    if (!c.WantDType(2, w.dtype())) return;
    if (!c.UnifyTypes(ids.WithDType(w.dtype()), c.type(2), "weights and ids")) return;
  }
  c.SetResult(BagsType(ids, w.dtype(), RowDims(w)));
}

// Padding is taken out of the bags first, so that its row gets no gradient and is not touched.
void GradOfBag(GradContext& c) {
  Emitter& e = c.emit();
  Var ids = c.operand(1), dy = c.grad();
  Var weights = c.has_operand(2) ? c.operand(2) : Var();
  const Var w = c.operand(0);
  const Attr& padding = c.attr("padding");
  const NamedAttr pool{"pool", c.attr("pool")};
  if (weights && c.wanted(2)) {
    std::vector<NamedAttr> attrs = {pool};
    if (!padding.empty()) attrs.push_back({"padding", padding});
    c.SetGrad(2, e.Emit("embedding_bag_weights_grad", {w, ids, weights, c.result(), dy}, attrs));
  }
  if (!c.wanted(0)) return;
  if (!padding.empty()) {
    if (ids.type().rank() != 2) {
      const Dim last = ids.type().dim(ids.type().rank() - 1);
      Dim count = 1;
      for (int i = 0; i + 1 < ids.type().rank(); ++i) count = count * ids.type().dim(i);
      const auto flat = [&](Var v, std::vector<Dim> dims) {
        return e.Emit("reshape", {v}, {{"shape", Attr::Dims(dims)}});
      };
      ids = flat(ids, {count, last});
      if (weights) weights = flat(weights, {count, last});
      std::vector<Dim> dims = RowDims(w.type());
      dims.insert(dims.begin(), count);
      dy = flat(dy, dims);
    }
    std::vector<Var> operands = {ids};
    if (weights) operands.push_back(weights);
    const std::vector<Var> kept = e.EmitMany(
        "ragged_drop", operands, static_cast<int>(operands.size()), {{"value", padding}});
    ids = kept[0];
    if (weights) weights = kept[1];
  }
  if (c.attr("pool").AsWord() == "max") {
    const Var chosen = e.Emit("embedding_bag_max_grad", {w, ids, dy});
    c.SetGrad(0, e.Emit("embedding_rows", {ids, chosen}));
  } else {
    c.SetGrad(0, e.Emit("embedding_bag_rows", {ids, dy, weights}, {pool}));
  }
}

int64_t PoolNumber(const std::string& word) {
  return word == "sum" ? kBagSum : word == "mean" ? kBagMean : word == "sqrt" ? kBagSqrt : kBagMax;
}

}  // namespace

void DefineEmbeddingBag(OpSet& ops) {
  OpBuilder op = ops.Define("embedding_bag");
  op.Group("sparse")
      .Doc(
          "One row for each bag of ids: the sum of the rows of a parameter that they name, the sum "
          "divided by the number of ids (mean; with weights, by their sum) or by its root (sqrt; "
          "by the root of the sum of the squared weights), or the largest, feature by feature. The "
          "last axis of the ids is the bag, or each sequence where they are ragged. An empty bag "
          "gives zeros. An id that is no row is an error. f16 and bf16 are added up in f32. The "
          "gradient of w is `rows`.")
      .Formula("sum: y[…, i] = sum over n of weights[…, n] * w[ids[…, n], i]")
      .In("w", "[V, …]")
      .In("ids", "[…, N] or [B, *N]: i32, i64 or u64")
      .OptionalIn("weights", "as ids, of w's dtype; not with max")
      .WordAttr("pool", {"sum", "mean", "sqrt", "max"}, "sum", "how the rows of a bag become one")
      .OptionalAttr("padding", AttrKind::kInt, "an id that is left out, also where it is no row")
      .Traits(RaggedTraits())
      .Infer(InferBag)
      .Sizes("EmbeddingBagSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& w = q.in[0]->shape();
               const Bags bags = BagsOf(*q.in[1]);
               const Attr& padding = q.op->attr("padding");
               words << w[0] << Product(w, 1, w.rank()) << bags.count << bags.stride
                     << PoolNumber(q.op->attr("pool").AsWord()) << !padding.empty()
                     << (padding.empty() ? int64_t{0} : padding.AsInt());
             })
      .Cost([](const KernelQuery& q) {
        const Shape& w = q.in[0]->shape();
        const auto numbers = static_cast<double>(q.in[1]->size() * Product(w, 1, w.rank()));
        return OpCost{numbers, numbers * static_cast<double>(SizeOf(q.in[0]->tensor.dtype)) +
                                   static_cast<double>(q.in[1]->tensor.num_bytes() +
                                                       q.out[0]->tensor.num_bytes())};
      })
      .Grad(GradOfBag)
      .Reference("EmbeddingBag", RunReference)
      .Fast(BagKernel(RunVector))
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({2, 2}, {2, 0, 1, 1})}});
  for (const char* pool : {"sum", "mean", "sqrt", "max"}) {
    const NamedAttr attr{"pool", Attr::Word(pool)};
    op.AddSample({.inputs = {Uniform({9, 5}, -1, 1), RandomInts({4, 3}, 0, 9)}, .attrs = {attr}});
    op.AddSample({.inputs = {Uniform({9, 67}, -1, 1), Ints({5}, {8, 0, 1, 4, 4}, DType::kI32)},
                  .attrs = {attr},
                  .ragged_lengths = {{}, {2, 0, 3}}});
    op.AddSample({.inputs = {Uniform({9, 16}, -1, 1), Ints({2, 3}, {1, -1, 5, -1, -1, -1})},
                  .attrs = {attr, {"padding", -1}}});
    op.AddSample(
        {.inputs = {Uniform({50, 160}, -1, 1), RandomInts({7, 40}, 0, 50)}, .attrs = {attr}});
    if (std::string(pool) == "max") continue;
    op.AddSample({.inputs = {Uniform({9, 24}, -1, 1), RandomInts({2, 3}, 0, 9, DType::kU64),
                             Uniform({2, 3}, 0.5, 1.5)},
                  .attrs = {attr, {"padding", 3}}});
    op.AddSample({.inputs = {Uniform({9, 2, 2}, -1, 1), RandomInts({2, 2, 3}, 0, 9),
                             Uniform({2, 2, 3}, 0.5, 1.5)},
                  .attrs = {attr}});
    op.AddSample({.inputs = {Uniform({9, 3}, -1, 1), Ints({3}, {8, 0, 1}), Uniform({3}, 0.5, 1.5)},
                  .attrs = {attr},
                  .ragged_lengths = {{}, {2, 1}, {2, 1}}});
  }
  op.AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({3}, {4, 0, 4})}, .note = "one bag"});
  op.AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({2, 0}, DType::kI64)}});
  op.AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0, 2}, DType::kI64)}});
  op.AddSample({.inputs = {Floats({2, 2}, {1, NAN, INFINITY, 2}), Ints({2, 2}, {0, 1, 1, 1})},
                .attrs = {{"pool", Attr::Word("max")}},
                .check_gradient = false});
}

}  // namespace catamaran
