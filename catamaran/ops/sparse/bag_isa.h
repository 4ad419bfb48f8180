// ops/sparse/bag_isa.h
//
// Chooses the pooling code for an instruction set, and what else the ops on bags share.

#pragma once

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/sparse/bag_simd.h"

namespace catamaran {

// Of the code built for `isa`, or the nearest below it that was built.
const BagFunctions& BagFunctionsFor(Isa isa);

struct PreparedBags final : Prepared {
  const BagFunctions* functions = nullptr;
};

std::unique_ptr<Prepared> PrepareBags(const KernelQuery& query);

// A kernel named "vector" for floats of every width, f16 and bf16 as they are.
Kernel BagKernel(KernelFn run);
inline const BagFunctions& BagFunctionsOf(const KernelContext& c) {
  return *static_cast<const PreparedBags*>(c.prepared)->functions;
}

BagElement BagElementOf(DType dtype);

// The bags of ids: where bag b begins and ends. `stride` is the number of ids in each bag of dense
// ids, which may be 0.
struct Bags {
  const int64_t* offsets;
  int64_t stride, count;
  int64_t begin(int64_t b) const { return offsets ? offsets[b] : b * stride; }
  int64_t end(int64_t b) const { return offsets ? offsets[b + 1] : (b + 1) * stride; }
};
Bags BagsOf(const Slot& ids);
// The part of a job that says which ids belong to which bags.
BagJob JobOf(const Slot& ids, const Bags& bags);

// Runs the job over all its bags, on the pool when there is enough to do.
void PoolAll(const KernelContext& c, const BagJob& job, DType element, int64_t num_bags);

// Fails when an id is neither a row nor padding.
void CheckIds(const BagFunctions& functions, const Slot& ids, int64_t rows, int64_t has_padding = 0,
              int64_t padding = 0);

}  // namespace catamaran
