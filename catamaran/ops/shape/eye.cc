// ops/shape/eye.cc
//
// eye(n, m, offset): ones on a diagonal, zeros elsewhere.

#include <fmt/format.h>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct EyeSizes {
  int64_t n, m, offset;
};

template <class T>
void Eye(T* y, const EyeSizes& s) {
  for (int64_t i = 0; i < s.n * s.m; ++i) y[i] = T(0);
  for (int64_t i = 0; i < s.n; ++i) {
    if (i + s.offset >= 0 && i + s.offset < s.m) y[i * s.m + i + s.offset] = T(1);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

void DefineEye(OpSet& ops) {
  ops.Define("eye")
      .Group("shape")
      .Doc("An n by m matrix with ones on a diagonal and zeros elsewhere.")
      .Formula("y[i, j] = 1 where j == i + offset, else 0")
      .RequiredAttr("n", AttrKind::kInt, "rows")
      .OptionalAttr("m", AttrKind::kInt, "columns; n when left out")
      .WithAttr("offset", AttrKind::kInt, 0, "how far above the main diagonal; negative: below")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the result")
      .Infer([](InferContext& c) {
        const Dim& n = c.op().attr("n").AsDim();
        const Dim& m = c.op().attr("m").empty() ? n : c.op().attr("m").AsDim();
        for (const Dim& dim : {n, m}) {
          if (dim.is_constant() && dim.constant() < 0) {
            return (void)c.Fail(fmt::format("a size is {}", dim.constant()));
          }
        }
        c.SetResult(Type::Tensor(c.op().attr("dtype").AsDType(), {n, m}));
      })
      .Sizes("EyeSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.out[0]->shape()[0] << q.out[0]->shape()[1]
                     << q.op->attr("offset").AsInt();
             })
      .StopsGrad()
      .Reference(
          "Eye",
          [](KernelContext& c) {
            const auto& s = c.sizes<reference::EyeSizes>();
            DispatchAll(c.out().tensor.dtype, [&]<class T>(T) {
              reference::Eye(c.out().data<T>(), {c.out().shape()[0], c.out().shape()[1], s.offset});
            });
            return KernelStatus::kDone;
          })
      .AddSample({.attrs = {{"n", 3}}})
      .AddSample({.attrs = {{"n", 2}, {"m", 4}, {"offset", 1}, {"dtype", DType::kI64}}})
      .AddSample({.attrs = {{"n", 4}, {"m", 2}, {"offset", -2}, {"dtype", DType::kBool}}})
      .AddSample({.attrs = {{"n", 3}, {"offset", 5}, {"dtype", DType::kF64}}})
      .AddSample({.attrs = {{"n", 0}, {"m", 3}}});
}

}  // namespace catamaran
