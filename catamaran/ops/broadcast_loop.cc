#include "catamaran/ops/broadcast_loop.h"

#include "catamaran/base/error.h"

namespace catamaran {

BroadcastLoop MakeBroadcastLoop(const Shape& out, std::span<const Shape* const> in) {
  constexpr int kMaxInputs = BroadcastLoop::kMaxInputs;
  const int count = static_cast<int>(in.size());
  CATAMARAN_CHECK(count <= kMaxInputs, "{} operands broadcast; at most {}", count, kMaxInputs);
  BroadcastLoop loop;
  loop.total = out.num_elements();
  loop.inner = loop.total;
  loop.outer = 1;
  if (loop.total == 0) return loop;

  // Axes from the innermost outwards, merged while every operand walks on evenly.
  int64_t dims[kMaxRank];
  int64_t strides[kMaxInputs][kMaxRank];
  int axes = 0;
  int64_t next[kMaxInputs];  // the stride of the operand's next axis outwards
  for (int k = 0; k < count; ++k) next[k] = 1;
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    const int64_t dim = out[axis];
    int64_t stride[kMaxInputs];
    bool merges = axes > 0;
    for (int k = 0; k < count; ++k) {
      const int own = axis - out.rank() + in[k]->rank();
      const int64_t own_dim = own >= 0 ? (*in[k])[own] : 1;
      CATAMARAN_CHECK(own_dim == dim || own_dim == 1, "{} does not broadcast to {}",
                      in[k]->ToString(), out.ToString());
      stride[k] = own_dim == 1 ? 0 : next[k];
      next[k] *= own_dim;
      if (axes > 0 && stride[k] != strides[k][axes - 1] * dims[axes - 1]) merges = false;
    }
    if (dim == 1) continue;
    if (merges) {
      dims[axes - 1] *= dim;
      continue;
    }
    dims[axes] = dim;
    for (int k = 0; k < count; ++k) strides[k][axes] = stride[k];
    ++axes;
  }
  if (axes == 0) return loop;  // one element
  loop.inner = dims[0];
  for (int k = 0; k < count; ++k) {
    if (strides[k][0] == 0) loop.scalars |= 1u << k;
  }
  loop.outer_rank = axes - 1;
  for (int a = 1; a < axes; ++a) {
    loop.outer *= dims[a];
    loop.outer_dims[axes - 1 - a] = dims[a];
    for (int k = 0; k < count; ++k) loop.strides[k][axes - 1 - a] = strides[k][a];
  }
  return loop;
}

}  // namespace catamaran
