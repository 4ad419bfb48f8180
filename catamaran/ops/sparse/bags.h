// ops/sparse/bags.h
//
// What the ops that read rows by ids share in their type rules and gradients.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/sparse/bag_isa.h"
#include "catamaran/tensor/rows_value.h"

namespace catamaran {

// Ids of rows of a parameter.
inline bool WantIds(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64) return true;
  return c.Fail("ids are i32, i64 or u64, found " + std::string(Name(dtype)));
}

// A sparse gradient is f32 or f64.
inline bool WantRowsFloat(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  if (!IsHalf(c.type(i).dtype())) return c.WantFloat(i);
  return c.Fail("a sparse gradient is f32 or f64, found " + std::string(Name(c.type(i).dtype())) +
                "; train an f32 parameter and keep the narrow one for inference");
}

// Dimensions of a row of w.
inline std::vector<Dim> RowDims(const Type& w) { return {w.dims().begin() + 1, w.dims().end()}; }

// The type of one row a bag: the dimensions of the ids but the last, then those of a row.
inline Type BagsType(const Type& ids, DType dtype, const std::vector<Dim>& row) {
  std::vector<Dim> dims(ids.dims().begin(), ids.dims().end() - 1);
  dims.insert(dims.end(), row.begin(), row.end());
  return Type::Tensor(dtype, std::move(dims));
}
// And of one row an id.
inline Type IdsType(const Type& ids, DType dtype, const std::vector<Dim>& row) {
  std::vector<Dim> dims(ids.dims().begin(), ids.dims().end());
  dims.insert(dims.end(), row.begin(), row.end());
  return Type::Tensor(dtype, std::move(dims), ids.ragged_axis());
}

// A sparse gradient of one segment: ids with a gradient row for each bag (or each id, kNone).
// `salt` is that of the feature whose ids they are.
void SetRows(const KernelContext& c, const Slot& ids, const Slot& gradients, const Slot* weights,
             Pool pool, int64_t width, uint64_t salt = 0);

}  // namespace catamaran
