#include "catamaran/ops/sparse/bag_isa.h"

namespace catamaran {

const BagFunctions& BagFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kBagFunctions;
  if (isa == Isa::kAvx2) return avx2::kBagFunctions;
#endif
  return plain::kBagFunctions;
}

std::unique_ptr<Prepared> PrepareBags(const KernelQuery& query) {
  auto prepared = std::make_unique<PreparedBags>();
  prepared->functions = &BagFunctionsFor(query.isa);
  return prepared;
}

Kernel BagKernel(KernelFn run) {
  Kernel kernel = FastKernel("vector", run, {});
  kernel.prepare = PrepareBags;
  kernel.half = true;
  return kernel;
}

BagElement BagElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return kBagF64;
    case DType::kF16:
      return kBagF16;
    case DType::kBF16:
      return kBagBF16;
    default:
      return kBagF32;
  }
}

Bags BagsOf(const Slot& ids) {
  if (ids.offsets != nullptr) return {ids.offsets, 0, ids.num_rows};
  const Shape& shape = ids.shape();
  int64_t count = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) count *= shape[i];
  return {nullptr, LastDim(ids), count};
}

BagJob JobOf(const Slot& ids, const Bags& bags) {
  BagJob job{};
  job.ids = ids.tensor.data;
  job.id_bytes = static_cast<int64_t>(SizeOf(ids.tensor.dtype));
  job.offsets = bags.offsets;
  job.stride = bags.stride;
  job.num_ids = ids.size();
  return job;
}

void PoolAll(const KernelContext& c, const BagJob& job, DType element, int64_t num_bags) {
  const auto pool = BagFunctionsOf(c).pool[BagElementOf(element)];
  const int64_t ids_a_bag = job.num_ids / std::max<int64_t>(1, num_bags);
  Split(c.pool, num_bags, (job.width + 16) * (ids_a_bag + 1), [&](int64_t first, int64_t last) {
    BagJob part = job;
    part.first = first;
    part.last = last;
    pool(part);
  });
}

void CheckIds(const BagFunctions& functions, const Slot& ids, int64_t rows, int64_t has_padding,
              int64_t padding) {
  const auto find =
      ids.tensor.dtype == DType::kI32 ? functions.find_outside_i32 : functions.find_outside_i64;
  const int64_t at = find(ids.tensor.data, ids.size(), rows, has_padding, padding);
  if (at < 0) return;
  DispatchIndex(
      ids.tensor.dtype,
      [&]<class I>(I) {
        Fail(ErrorCode::kBadData, "id {} at position {} is outside of the {} rows",
             ids.data<I>()[at], at, rows);
      },
      "ids");
}

}  // namespace catamaran
