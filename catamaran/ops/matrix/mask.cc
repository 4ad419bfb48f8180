// ops/matrix/mask.cc
//
// triangular_mask(rows, columns): true on and below a diagonal. causal_mask(queries, keys): which
// keys a query may see when it must not look ahead.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// True where i + first <= j <= i + last.
struct MaskSizes {
  int64_t rows, columns, first, last;
};

template <class T>
void Mask(T* y, const MaskSizes& s) {
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < s.columns; ++j) {
      y[i * s.columns + j] = static_cast<T>(j >= i + s.first && j <= i + s.last);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::MaskSizes;

constexpr int64_t kFar = int64_t{1} << 40;  // beyond any side of a matrix

KernelStatus RunMask(KernelContext& c) {
  reference::Mask(c.out().data<bool>(), c.sizes<MaskSizes>());
  return KernelStatus::kDone;
}

// The two dimensions by the names of their attributes; the second is like the first when left out.
bool MaskType(InferContext& c, const char* rows, const char* columns) {
  const Dim m = c.op().attr(rows).AsDim();
  const Attr& second = c.op().attr(columns);
  const Dim n = second.empty() ? m : second.AsDim();
  for (const Dim& dim : {m, n}) {
    if (dim.is_constant() && dim.constant() < 0) return c.Fail("a size cannot be negative");
  }
  c.SetResult(Type::Tensor(DType::kBool, {m, n}));
  return true;
}

}  // namespace

void DefineTriangularMask(OpSet& ops) {
  ops.Define("triangular_mask")
      .Group("matrix")
      .Doc("True on the diagonal and below it; `diagonal` moves it to the right.")
      .Formula("y[i, j] = j <= i + diagonal")
      .RequiredAttr("rows", AttrKind::kInt)
      .OptionalAttr("columns", AttrKind::kInt, "as rows when left out")
      .WithAttr("diagonal", AttrKind::kInt, 0, "0: the main diagonal, 1: the one above it")
      .Infer([](InferContext& c) { MaskType(c, "rows", "columns"); })
      .Sizes("MaskSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& y = q.out[0]->shape();
               words << y[0] << y[1] << -kFar << q.op->attr("diagonal").AsInt();
             })
      .Reference("Mask", RunMask)
      .StopsGrad()
      .AddSample({.attrs = {{"rows", 3}}})
      .AddSample({.attrs = {{"rows", 2}, {"columns", 5}, {"diagonal", 1}}})
      .AddSample({.attrs = {{"rows", 5}, {"columns", 3}, {"diagonal", -2}}})
      .AddSample({.attrs = {{"rows", 0}, {"columns", 3}}});
}

void DefineCausalMask(OpSet& ops) {
  ops.Define("causal_mask")
      .Group("matrix")
      .Doc(
          "True where a query may see a key without looking ahead: the last query sees all keys, "
          "each one before it one less. With `window`, only that many of the nearest. This is "
          "what `causal` of attention means.")
      .Formula("y[t, s] = s <= t + keys - queries and s > t + keys - queries - window")
      .RequiredAttr("queries", AttrKind::kInt)
      .OptionalAttr("keys", AttrKind::kInt, "as queries when left out")
      .OptionalAttr("window", AttrKind::kInt, "how many keys a query sees at most")
      .Infer([](InferContext& c) {
        const Attr& window = c.op().attr("window");
        if (!window.empty() && window.AsInt() < 1) return (void)c.Fail("window must be at least 1");
        MaskType(c, "queries", "keys");
      })
      .Sizes("MaskSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& y = q.out[0]->shape();
               const int64_t last = y[1] - y[0];
               const Attr& window = q.op->attr("window");
               words << y[0] << y[1] << (window.empty() ? -kFar : last - window.AsInt() + 1)
                     << last;
             })
      .Reference("Mask", RunMask)
      .StopsGrad()
      .AddSample({.attrs = {{"queries", 3}}})
      .AddSample({.attrs = {{"queries", 2}, {"keys", 5}}})
      .AddSample({.attrs = {{"queries", 5}, {"keys", 3}}})
      .AddSample({.attrs = {{"queries", 4}, {"window", 2}}})
      .AddSample({.attrs = {{"queries", 0}, {"keys", 3}}});
}

}  // namespace catamaran
