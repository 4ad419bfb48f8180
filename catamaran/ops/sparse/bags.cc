#include "catamaran/ops/sparse/bags.h"

namespace catamaran {

void SetRows(const KernelContext& c, const Slot& ids, const Slot& gradients, const Slot* weights,
             Pool pool, int64_t width, uint64_t salt) {
  auto* rows = static_cast<RowsValue*>(c.out().object);
  rows->dtype = gradients.tensor.dtype;
  rows->width = width;
  rows->segments.clear();
  RowsSegment segment;
  segment.keys = ids.tensor.data;
  segment.key_type = ids.tensor.dtype;
  segment.num_keys = ids.size();
  segment.pool = pool;
  segment.salt = salt;
  if (pool != Pool::kNone) {
    const Bags bags = BagsOf(ids);
    segment.offsets = bags.offsets;
    segment.num_bags = bags.count;
    segment.stride = bags.stride;
    segment.weights = weights ? weights->tensor.data : nullptr;
  }
  segment.gradients = gradients.tensor.data;
  rows->segments.push_back(segment);
}

}  // namespace catamaran
