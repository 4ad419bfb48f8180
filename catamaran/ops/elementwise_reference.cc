// ops/elementwise_reference.cc
//
// Runs the formula of an elementwise op element by element: the meaning of the vector kernel.

#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/ops/elementwise_kernel.h"
#include "catamaran/ops/elementwise_plan.h"
#include "catamaran/ops/scalar_apply.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

template <class T>
void RunReference(KernelContext& context, const ScalarFunction& f) {
  const int count = f.num_inputs();
  const int root = f.root();
  const Shape& shape = context.out().shape();
  const int64_t total = shape.num_elements();
  std::vector<T> v(f.nodes().size());
  int64_t index[kMaxRank] = {};
  for (int64_t i = 0; i < total; ++i) {
    int64_t left = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[axis] = left % shape[axis];
      left /= shape[axis];
    }
    for (int n = 0; n <= root; ++n) {
      const ScalarNode& node = f.nodes()[n];
      if (node.kind == ScalarKind::kConstant) {
        v[n] = CastElement<T>(node.value);
      } else if (node.kind == ScalarKind::kInput) {
        CATAMARAN_CHECK(node.input < count);
        const Slot& in = context.in(node.input);
        const Shape& own = in.shape();
        int64_t at = 0;
        for (int axis = 0; axis < own.rank(); ++axis) {
          const int out_axis = axis + shape.rank() - own.rank();
          const int64_t here = own[axis] == 1 || out_axis < 0 ? 0 : index[out_axis];
          at = at * own[axis] + here;
        }
        v[n] =
            node.condition ? static_cast<T>(in.data<const uint8_t>()[at]) : in.data<const T>()[at];
      } else {
        const auto arg = [&](int k) { return node.args[k] < 0 ? T(0) : v[node.args[k]]; };
        v[n] = ApplyScalar<T>(node.kind, arg(0), arg(1), arg(2));
      }
    }
    if (f.result_is_condition()) {
      context.out().data<uint8_t>()[i] = v[root] != 0;
    } else {
      context.out().data<T>()[i] = v[root];
    }
  }
}

}  // namespace

KernelStatus RunElementwiseReference(KernelContext& context) {
  const ScalarFunction& f = *context.op->def().scalar;
  const DType dtype = ValueDType(f, context.ins);
  // Bool values are bytes.
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      dtype == DType::kBool ? DType::kU8 : dtype,
      [&](auto zero) { RunReference<decltype(zero)>(context, f); }, context.op->name());
  return KernelStatus::kDone;
}

}  // namespace catamaran
