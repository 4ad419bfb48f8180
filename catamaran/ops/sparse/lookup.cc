// ops/sparse/lookup.cc
//
// lookup(@t, ids): rows of a table, as they are or pooled into one row a bag. The gradient at the
// table stays (ids, offsets, gradient) and is expanded where it is applied; the gradient at the
// weights is an op.

#include <cmath>

#include "catamaran/ops/sparse/async_pull.h"
#include "catamaran/ops/sparse/bags.h"
#include "catamaran/ops/sparse/feature.h"

namespace catamaran {
namespace {

// One size a field, for all ops of this file.
struct LookupSizes {
  int64_t width, pool;
  int64_t salt;  // the bits of the feature's
};

const char* const kPools[] = {"none", "sum", "mean", "sqrt"};

Pool PoolOf(const Op& op) {
  const std::string word = op.attr("pool").AsWord();
  for (int i = 0; i < 4; ++i) {
    if (word == kPools[i]) return static_cast<Pool>(i);
  }
  Fail("pool is none, sum, mean or sqrt, found {}", word);
}

void FillSizes(const KernelQuery& q, int64_t width, Words& words) {
  words << width << static_cast<int64_t>(PoolOf(*q.op)) << static_cast<int64_t>(SaltOf(*q.op));
}

// The scratch of a kernel that pulls: the header, the keys where the ids are salted, the rows where
// they are not the result.
size_t KeysBytes(const LookupSizes& s, int64_t ids) {
  return s.salt == 0 ? 0 : static_cast<size_t>(ids) * sizeof(uint64_t);
}
size_t ScratchBytes(const KernelQuery& q, bool rows) {
  const LookupSizes s = q.sizes->As<LookupSizes>();
  const int64_t ids = q.in[0]->size();
  const size_t numbers = rows ? static_cast<size_t>(ids * s.width) : 0;
  return kPullHeader + KeysBytes(s, ids) + numbers * sizeof(float);
}
float* Pulled(const KernelContext& c) {
  const size_t keys = KeysBytes(c.sizes<LookupSizes>(), c.in(0).size());
  return reinterpret_cast<float*>(static_cast<char*>(c.scratch) + kPullHeader + keys);
}
// The keys of operand 0.
std::span<const uint64_t> LookupKeys(const KernelContext& c) {
  const auto ids = KeysOf(c.in(0));
  const auto salt = static_cast<uint64_t>(c.sizes<LookupSizes>().salt);
  if (salt == 0) return ids;
  auto* keys = reinterpret_cast<uint64_t*>(static_cast<char*>(c.scratch) + kPullHeader);
  for (size_t i = 0; i < ids.size(); ++i) keys[i] = SaltedKey(ids[i], salt);
  return {keys, ids.size()};
}

// --- lookup: operands ids, weights.

void FinishPooled(KernelContext& c) {
  const LookupSizes& s = c.sizes<LookupSizes>();
  const Bags bags = BagsOf(c.in(0));
  BagJob job{};
  job.w = Pulled(c);
  job.weights = c.has_in(1) ? c.in(1).tensor.data : nullptr;
  job.offsets = bags.offsets;
  job.y = c.out().tensor.data;
  job.stride = bags.stride;
  job.num_ids = c.in(0).size();
  job.width = s.width;
  job.pool = s.pool;
  PoolAll(c, job, DType::kF32, bags.count);
}

KernelStatus RunLookup(KernelContext& c) {
  const LookupSizes& s = c.sizes<LookupSizes>();
  const auto keys = LookupKeys(c);
  const size_t numbers = keys.size() * static_cast<size_t>(s.width);
  if (s.pool == static_cast<int64_t>(Pool::kNone)) {
    return PullThen(c, keys, {c.out().data<float>(), numbers}, [](KernelContext&) {});
  }
  return PullThen(c, keys, {Pulled(c), numbers}, FinishPooled);
}

// The width of a row; reports and returns -1.
int64_t TableWidth(InferContext& c) {
  const StateDecl* table = c.state(0);
  if (table == nullptr) return -1;
  if (table->kind != StateKind::kTable) {
    c.Fail("@" + table->name + " is a " + std::string(StateKindName(table->kind)) +
           ", wanted a table; use embedding(@" + table->name + ", ids) for a param");
    return -1;
  }
  const Type& row = table->type;
  if (!row.is_tensor() || row.rank() != 1 || row.dtype() != DType::kF32 ||
      !row.dim(0).is_constant()) {
    c.Fail("a row of a table is f32[N], found " + row.ToString());
    return -1;
  }
  return row.dim(0).constant();
}

// Checks ids and weights; reports and returns false.
bool WantBags(InferContext& c, int ids_index, int weights_index) {
  if (!WantKeys(c, ids_index)) return false;
  const Type& ids = c.type(ids_index);
  const std::string pool = c.op().attr("pool").AsWord();
  if (pool != "none" && ids.rank() < 1) return c.Fail("pooling wants at least one axis of ids");
  if (ids.is_ragged() && ids.rank() != 2) return c.Fail("ragged ids are [B, *T]");
  if (!c.has(weights_index)) return true;
  if (pool == "none") return c.Fail("weights only mean something with pool=sum, mean or sqrt");
  return c.WantDType(weights_index, DType::kF32) &&
         c.UnifyTypes(ids.WithDType(DType::kF32), c.type(weights_index), "weights and ids");
}

// The type of the rows of these ids, pooled or not.
Type RowsType(const Type& ids, const std::string& pool, Dim width) {
  std::vector<Dim> dims(ids.dims().begin(), ids.dims().end());
  if (pool != "none") dims.pop_back();
  dims.push_back(std::move(width));
  return Type::Tensor(DType::kF32, std::move(dims), pool == "none" ? ids.ragged_axis() : -1);
}

void InferLookup(InferContext& c) {
  const int64_t width = TableWidth(c);
  if (width < 0 || !WantBags(c, 0, 1) || !WantFeature(c)) return;
  c.SetResult(RowsType(c.type(0), c.op().attr("pool").AsWord(), Dim(width)));
}

void GradLookup(GradContext& c) {
  Emitter& e = c.emit();
  std::vector<NamedAttr> attrs = {{"pool", c.attr("pool")}};
  if (!c.attr("feature").empty()) attrs.push_back({"feature", c.attr("feature")});
  const Var ids = c.operand(0), weights = c.has_operand(1) ? c.operand(1) : Var();
  c.SetStateGrad(0, e.Emit("lookup_rows", {ids, c.grad(), weights}, attrs));
  if (weights && c.wanted(1)) {
    const Var operands[] = {ids, weights, c.result(), c.grad()};
    c.SetGrad(1, e.EmitWithStates("lookup_weights_grad", {c.op().states[0]}, operands, attrs));
  }
}

// --- lookup_rows: operands ids, dy, weights.

void InferLookupRows(InferContext& c) {
  if (!WantBags(c, 0, 2) || !c.WantDType(1, DType::kF32) || !c.WantMinRank(1, 1)) return;
  const Type& dy = c.type(1);
  const Dim& width = dy.dim(dy.rank() - 1);
  if (!c.UnifyTypes(RowsType(c.type(0), c.op().attr("pool").AsWord(), width), dy, "ids and dy")) {
    return;
  }
  c.SetResult(Type::Rows(DType::kF32, {width}));
}

KernelStatus RunLookupRows(KernelContext& c) {
  const LookupSizes& s = c.sizes<LookupSizes>();
  SetRows(c, c.in(0), c.in(1), c.has_in(2) ? &c.in(2) : nullptr, static_cast<Pool>(s.pool), s.width,
          static_cast<uint64_t>(s.salt));
  return KernelStatus::kDone;
}

// --- lookup_weights_grad: operands ids, weights, y, dy.

void FinishWeightsGrad(KernelContext& c) {
  const LookupSizes& s = c.sizes<LookupSizes>();
  const Bags bags = BagsOf(c.in(0));
  const Pool pool = static_cast<Pool>(s.pool);
  const float* weights = c.in(1).data<float>();
  const float* y = c.in(2).data<float>();
  const float* dy = c.in(3).data<float>();
  const float* pulled = Pulled(c);
  float* dw = c.out().data<float>();
  for (int64_t b = 0; b < bags.count; ++b) {
    const float factor = BagFactor(pool, weights, bags.begin(b), bags.end(b));
    const float* g = dy + b * s.width;
    float along = 0;  // dy · y
    for (int64_t i = 0; i < s.width; ++i) along += g[i] * y[b * s.width + i];
    for (int64_t k = bags.begin(b); k < bags.end(b); ++k) {
      float dot = 0;
      for (int64_t i = 0; i < s.width; ++i) dot += g[i] * pulled[k * s.width + i];
      // y = factor * sum of w row, and the factor itself depends on the weights.
      if (pool == Pool::kSum) dw[k] = dot;
      if (pool == Pool::kMean) dw[k] = factor * (dot - along);
      if (pool == Pool::kSqrt) dw[k] = factor * dot - weights[k] * factor * factor * along;
    }
  }
}

KernelStatus RunWeightsGrad(KernelContext& c) {
  const auto keys = LookupKeys(c);
  const size_t width = static_cast<size_t>(c.sizes<LookupSizes>().width);
  return PullThen(c, keys, {Pulled(c), keys.size() * width}, FinishWeightsGrad);
}

OpBuilder& AddPoolAndFeature(OpBuilder& op) {
  op.WordAttr("pool", {"none", "sum", "mean", "sqrt"}, "none",
              "one row an id, or one a bag: the sum, divided by the number of ids (or the "
              "sum of weights), or by its root (of the sum of squared weights)");
  return AddFeature(op);
}

void SetScratch(OpBuilder& op, std::function<size_t(const KernelQuery&)> scratch) {
  op.def().kernels.back().scratch = std::move(scratch);
}

}  // namespace

void DefineLookup(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.reads_state = true;
  OpBuilder op = ops.Define("lookup");
  op.Example(R"(table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
}
fn infer(ids: u64[B, 26]) -> f32[B, 416] {
  return reshape(lookup(@feat, ids), [B, 416])
})");
  op.Group("sparse")
      .Doc(
          "The rows of a table that the ids name. A key without a row reads what the table "
          "declares; no row is made. With pool, the rows of the last axis of ids (or of each "
          "sequence, for ragged ids) become one row; an empty bag gives zeros.")
      .Formula(
          "none: y[…, n, i] = t[ids[…, n], i]; sum: y[…, i] = sum over n of w[…, n] * "
          "t[ids[…, n], i]")
      .StateArg("table")
      .In("ids", "u64 or i64, dense or ragged")
      .OptionalIn("weights", "f32, as ids; with pool only");
  AddPoolAndFeature(op)
      .Traits(traits)
      .Infer(InferLookup)
      .Sizes("LookupSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, LastDim(*q.out[0]), words); })
      .Grad(GradLookup)
      .Reference("", RunLookup);
  op.def().kernels.back().prepare = PrepareBags;
  SetScratch(op, [](const KernelQuery& q) {
    return ScratchBytes(q, q.sizes->As<LookupSizes>().pool != static_cast<int64_t>(Pool::kNone));
  });
}

void DefineLookupRows(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.holds_operands = true;
  OpBuilder op = ops.Define("lookup_rows");
  op.Example(R"(fn gradient(ids: u64[B, N], dy: f32[B, 16]) -> rows<f32[16]> {
  return lookup_rows(ids, dy, pool=sum)
})");
  op.Group("sparse")
      .Doc("The gradient of lookup at its table: ids, bags and gradients, not yet expanded.")
      .Formula("none: row ids[…, n] gets dy[…, n]; sum: it gets weights[…, n] * dy[…]")
      .In("ids", "u64 or i64, dense or ragged")
      .In("dy", "as lookup's result")
      .OptionalIn("weights", "f32, as ids");
  AddPoolAndFeature(op)
      .Traits(traits)
      .Infer(InferLookupRows)
      .Sizes("LookupSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, LastDim(*q.in[1]), words); })
      .NoGrad("a sparse gradient is not differentiated again")
      .Reference("", RunLookupRows);
}

void DefineLookupWeightsGrad(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  traits.reads_state = true;
  OpBuilder op = ops.Define("lookup_weights_grad");
  op.Example(R"(table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
}
fn gradient(ids: u64[B, N], w: f32[B, N], dy: f32[B, 16]) -> f32[B, N] {
  y = lookup(@feat, ids, weights=w, pool=sum)
  return lookup_weights_grad(@feat, ids, w, y, dy, pool=sum)
})");
  op.Group("sparse")
      .Doc("The gradient of a pooled lookup at its weights.")
      .Formula("sum: dweights[…, n] = sum over i of dy[…, i] * t[ids[…, n], i]")
      .StateArg("table")
      .In("ids", "u64 or i64, dense or ragged")
      .In("weights", "f32, as ids")
      .In("y", "lookup's result")
      .In("dy", "its gradient");
  AddPoolAndFeature(op)
      .Traits(traits)
      .Infer([](InferContext& c) {
        const int64_t width = TableWidth(c);
        if (width < 0 || !WantBags(c, 0, 1) || !WantFeature(c)) return;
        const Type y = RowsType(c.type(0), c.op().attr("pool").AsWord(), Dim(width));
        if (c.UnifyTypes(y, c.type(2), "ids and y") && c.UnifyTypes(y, c.type(3), "ids and dy")) {
          c.SetResult(c.type(1));
        }
      })
      .Sizes("LookupSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, LastDim(*q.in[2]), words); })
      .NoGrad("the second derivative of a weighted lookup is not defined")
      .Reference("", RunWeightsGrad);
  SetScratch(op, [](const KernelQuery& q) { return ScratchBytes(q, true); });
}

}  // namespace catamaran
