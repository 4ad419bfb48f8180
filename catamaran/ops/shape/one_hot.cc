// ops/shape/one_hot.cc
//
// one_hot(indices, size): for each index a row of zeros with a one at that place.

#include <cstring>

#include "catamaran/ops/shape/indices.h"

// reference-begin
namespace catamaran::reference {

// y is [outer, size, inner]; indices are [outer, inner].
struct OneHotSizes {
  int64_t outer, size, inner;
};

template <class I, class T>
void OneHot(const I* indices, T* y, const OneHotSizes& s) {
  for (int64_t i = 0; i < s.outer * s.size * s.inner; ++i) y[i] = T(0);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      y[(o * s.size + static_cast<int64_t>(indices[o * s.inner + i])) * s.inner + i] = T(1);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::OneHotSizes;

void InferOneHot(InferContext& c) {
  int axis = 0;
  if (!WantIndices(c, 0)) return;
  const Type& indices = c.type(0);
  if (!c.Axis("axis", indices.rank() + 1, &axis) || !WantBehindRagged(c, indices, axis)) return;
  if (indices.rank() == kMaxRank) return (void)c.Fail("the result would have too many dimensions");
  const Dim& size = c.op().attr("size").AsDim();
  if (size.is_constant() && size.constant() < 0) return (void)c.Fail("the size is negative");
  std::vector<Dim> dims = DimsOf(indices);
  dims.insert(dims.begin() + axis, size);
  c.SetResult(Type::Tensor(c.op().attr("dtype").AsDType(), std::move(dims), indices.ragged_axis()));
}

OneHotSizes SizesOf(const Op& op, const Shape& y) {
  const int axis = StorageAxisOf(op, op.result()->type);
  return {Product(y, 0, axis), y[axis], Product(y, axis + 1, y.rank())};
}

KernelStatus RunOneHot(KernelContext& c) {
  const OneHotSizes s = SizesOf(*c.op, c.out().shape());
  WithIndices(c.in(0), s.size, [&](const auto* indices) {
    DispatchAll(c.out().tensor.dtype,
                [&]<class T>(T) { reference::OneHot(indices, c.out().data<T>(), s); });
  });
  return KernelStatus::kDone;
}

KernelStatus RunOneHotRows(KernelContext& c) {
  const OneHotSizes s = SizesOf(*c.op, c.out().shape());
  const int64_t row = s.size * s.inner;
  WithIndices(c.in(0), s.size, [&](const auto* indices) {
    DispatchAll(c.out().tensor.dtype, [&]<class T>(T) {
      Split(c.pool, s.outer, row / 4 + 2, [&](int64_t begin, int64_t end) {
        T* y = c.out().data<T>() + begin * row;
        std::memset(static_cast<void*>(y), 0, static_cast<size_t>((end - begin) * row) * sizeof(T));
        for (int64_t o = begin; o < end; ++o, y += row) {
          for (int64_t i = 0; i < s.inner; ++i) {
            y[static_cast<int64_t>(indices[o * s.inner + i]) * s.inner + i] = T(1);
          }
        }
      });
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineOneHot(OpSet& ops) {
  ops.Define("one_hot")
      .Group("shape")
      .Doc(
          "For each index zeros along a new axis, with a one at the place that it names. An index "
          "outside of [0, size) is an error.")
      .Formula("y[…, j] = 1 where j == indices[…], else 0")
      .In("indices", "integers; may be ragged")
      .RequiredAttr("size", AttrKind::kInt, "of the new axis")
      .WithAttr("axis", AttrKind::kInt, -1, "the new axis, of the result")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the result")
      .Traits(RaggedTraits())
      .Infer(InferOneHot)
      .Sizes("OneHotSizes",
             [](const KernelQuery& q, Words& words) {
               const OneHotSizes s = SizesOf(*q.op, q.out[0]->shape());
               words << s.outer << s.size << s.inner;
             })
      .StopsGrad()
      .Reference("OneHot", RunOneHot)
      .Fast(FastKernel("rows", RunOneHotRows, nullptr))
      .TakesHalf()
      .AddSample({.inputs = {Ints({3}, {2, 0, 1})}, .attrs = {{"size", 3}}})
      .AddSample({.inputs = {RandomInts({2, 3}, 0, 5, DType::kI32)},
                  .attrs = {{"size", 5}, {"axis", 1}, {"dtype", DType::kF64}}})
      .AddSample({.inputs = {RandomInts({2, 3}, 0, 5, DType::kU64)},
                  .attrs = {{"size", 5}, {"axis", 0}, {"dtype", DType::kBool}}})
      .AddSample({.inputs = {Ints({}, {1})}, .attrs = {{"size", 2}, {"dtype", DType::kI8}}})
      .AddSample({.inputs = {Ints({2}, {1, 0})}, .attrs = {{"size", 2}, {"dtype", DType::kBF16}}})
      .AddSample({.inputs = {Empty({0, 2}, DType::kI64)}, .attrs = {{"size", 4}}})
      .AddSample({.inputs = {Ints({4}, {1, 0, 0, 2})},
                  .attrs = {{"size", 3}},
                  .ragged_lengths = {{3, 0, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
