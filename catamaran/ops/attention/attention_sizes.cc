// The type rule's checks and the sizes that attention and its gradients share.

#include <fmt/format.h>

#include "catamaran/ops/attention/attention.h"
#include "catamaran/ops/kernel_support.h"

namespace catamaran {

using reference::AttentionSizes;

namespace {

// Axes of a value: [B, T, D], [B, H, T, D]; ragged: [B, *T, D], [B, *T, H, D].
int HeadAxis(const Type& type) { return type.rank() < 4 ? -1 : type.is_ragged() ? 2 : 1; }
int RowAxis(const Type& type) { return type.rank() < 4 || type.is_ragged() ? 1 : 2; }

bool WantHeads(InferContext& c) {
  const int axis = HeadAxis(c.type(0));
  if (axis < 0) return true;
  const Dim& q = c.type(0).dim(axis);
  const Dim& k = c.type(1).dim(axis);
  if (!c.Unify(k, c.type(2).dim(axis), "heads of k and v")) return false;
  if (q.is_constant() && k.is_constant()) {
    const int64_t heads = q.constant(), shared = k.constant();
    if (heads == shared || (shared > 0 && heads % shared == 0)) return true;
    return c.Fail(fmt::format("{} heads of q cannot share {} heads of k and v", heads, shared));
  }
  return c.Unify(q, k, "heads of q and k");
}

bool WantMask(InferContext& c, int mask) {
  if (!c.has(mask)) return true;
  const Type& q = c.type(0);
  const Type& type = c.type(mask);
  if (q.is_ragged()) {
    return c.Fail("ragged sequences take no mask: each already attends within itself only");
  }
  if (!c.WantTensor(mask) || !c.WantDense(mask)) return false;
  if (type.dtype() != DType::kBool && type.dtype() != q.dtype()) {
    return c.Fail(fmt::format("a mask is bool (true: seen) or {} (added to the scores), found {}",
                              Name(q.dtype()), type.ToString()));
  }
  std::vector<Dim> wanted(q.dims().begin(), q.dims().end());
  wanted.back() = c.type(1).dim(RowAxis(q));
  if (type.rank() > q.rank()) {
    return c.Fail(fmt::format("a mask broadcasts to the scores, which have {} axes", q.rank()));
  }
  for (int i = 1; i <= type.rank(); ++i) {
    const Dim& dim = type.dim(type.rank() - i);
    if (dim.is_constant() && dim.constant() == 1) continue;
    if (!c.Unify(wanted[wanted.size() - static_cast<size_t>(i)], dim,
                 "dimensions of the scores and the mask")) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool WantAttention(InferContext& c, int mask) {
  for (int i = 0; i < 3; ++i) {
    if (!c.WantFloat(i) || !c.WantSameDType(0, i)) return false;
  }
  const Type &q = c.type(0), &k = c.type(1), &v = c.type(2);
  const bool ragged = q.is_ragged();
  if (q.rank() < 3 || q.rank() > 4 || k.rank() != q.rank() || v.rank() != q.rank() ||
      k.is_ragged() != ragged || v.is_ragged() != ragged) {
    return c.Fail(
        "wants q, k and v alike: [B, T, D] or [B, H, T, D], or ragged [B, *T, D] or "
        "[B, *T, H, D]");
  }
  const int last = q.rank() - 1, row = RowAxis(q);
  if (!c.Unify(q.dim(0), k.dim(0), "batches of q and k")) return false;
  if (!c.Unify(k.dim(0), v.dim(0), "batches of k and v")) return false;
  if (!c.Unify(q.dim(last), k.dim(last), "widths of q and k")) return false;
  if (ragged && k.ragged_name() != v.ragged_name()) {
    return c.Fail(fmt::format("k and v have different sequences: *{} and *{}", k.ragged_name(),
                              v.ragged_name()));
  }
  if (!ragged && !c.Unify(k.dim(row), v.dim(row), "rows of k and v")) return false;
  return WantHeads(c) && WantMask(c, mask);
}

Type AttentionLseType(const Type& q) {
  const DType dtype = IsHalf(q.dtype()) ? DType::kF32 : q.dtype();
  return Type::Tensor(dtype, {q.dims().begin(), q.dims().end() - 1}, q.ragged_axis());
}

AttentionSizes AttentionSizesOf(const KernelQuery& query, int mask_operand) {
  AttentionSizes s{};
  const Op& op = *query.op;
  const Slot &q = *query.in[0], &v = *query.in[2];
  const bool has_mask = op.num_operands() > mask_operand && op.operand(mask_operand);
  const Slot* mask = has_mask ? query.in[static_cast<size_t>(mask_operand)] : nullptr;
  const Type& type = op.operand(0)->type;
  const Shape &q_shape = q.shape(), &k_shape = query.in[1]->shape();
  const int rank = q_shape.rank();
  s.ragged = type.is_ragged();
  s.width = q_shape[rank - 1];
  s.value_width = v.shape()[v.shape().rank() - 1];
  const bool heads = type.rank() == 4;
  if (s.ragged) {
    s.batch = q.num_rows;
    s.heads = heads ? q_shape[1] : 1;
    s.kv_heads = heads ? k_shape[1] : 1;
    s.queries = q_shape[0];  // of all sequences together
    s.keys = k_shape[0];
  } else {
    s.batch = q_shape[0];
    s.heads = heads ? q_shape[1] : 1;
    s.kv_heads = heads ? k_shape[1] : 1;
    s.queries = q_shape[rank - 2];
    s.keys = k_shape[rank - 2];
  }
  s.causal = op.attr("causal").AsBool();
  const Attr& scale = op.attr("scale");
  s.scale = scale.empty() ? 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, s.width)))
                          : scale.AsDouble();
  if (mask == nullptr) return s;
  s.masked = mask->tensor.dtype == DType::kBool ? 1 : 2;
  const Shape& shape = mask->shape();
  const auto strides = shape.RowMajorStrides();
  // From the last axis: keys, queries, heads (where there are any), batch.
  const int places[] = {3, 2, heads ? 1 : 0, 0};
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = shape.rank() - 1 - i;
    s.mask_step[places[i]] = shape[axis] == 1 ? 0 : strides[static_cast<size_t>(axis)];
  }
  return s;
}

void WriteAttentionSizes(const AttentionSizes& s, Words& words) {
  words << s.batch << s.heads << s.kv_heads << s.queries << s.keys << s.width << s.value_width
        << s.causal << s.ragged << s.masked;
  for (int64_t step : s.mask_step) words << step;
  words << s.scale;
}

AttentionSizes AttentionRunSizes(const KernelContext& c, int mask) {
  AttentionSizes s = c.sizes<AttentionSizes>();
  const Shape& q = c.in(0).shape();
  s.batch = s.ragged ? c.in(0).num_rows : q[0];
  s.queries = s.ragged ? q[0] : q[q.rank() - 2];
  if (s.ragged) s.keys = c.in(1).shape()[0];
  if (!c.has_in(mask)) s.masked = 0;
  return s;
}

}  // namespace catamaran
