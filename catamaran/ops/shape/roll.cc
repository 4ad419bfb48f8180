// ops/shape/roll.cc
//
// roll(x, shifts, axes): entries moved along axes; those that leave at one end come back at the
// other.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

struct RollSizes {
  int64_t rank;
  int64_t dims[8];
  int64_t shifts[8];  // of each axis, in [0, dims)
};

template <class T>
void Roll(const T* x, T* y, const RollSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a];
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, at = 0, stride = 1;
    for (int64_t a = s.rank - 1; a >= 0; --a) {
      at += (left % s.dims[a] + s.shifts[a]) % s.dims[a] * stride;
      stride *= s.dims[a];
      left /= s.dims[a];
    }
    y[at] = x[i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RollSizes;

void InferRoll(InferContext& c) {
  std::vector<int> axes;
  if (!c.WantTensor(0) || !WantAxes(c, c.type(0), "axes", &axes)) return;
  const size_t shifts = c.op().attr("shifts").AsInts().size();
  if (shifts != axes.size()) {
    return (void)c.Fail(fmt::format("{} shifts for {} axes", shifts, axes.size()));
  }
  c.SetResult(c.type(0));
}

RollSizes SizesOf(const Op& op, const Shape& x) {
  const Type& type = op.operand(0)->type;
  const std::vector<int64_t> shifts = op.attr("shifts").AsInts(), axes = op.attr("axes").AsInts();
  RollSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) s.dims[axis] = x[axis];
  for (size_t k = 0; k < axes.size(); ++k) {
    const int axis = StorageAxis(type, AxisOf(axes[k], type.rank()));
    const int64_t n = std::max<int64_t>(1, x[axis]);
    s.shifts[axis] = (shifts[k] % n + n) % n;
  }
  return s;
}

RollSizes SizesNow(const KernelContext& c) {
  const auto& made = c.sizes<RollSizes>();
  if (made.rank == 0 || made.dims[0] == c.in(0).shape()[0]) return made;
  return SizesOf(*c.op, c.in(0).shape());
}

KernelStatus RunReference(KernelContext& c) {
  const RollSizes s = SizesNow(c);
  DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    reference::Roll(c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// Each rolled axis falls into two parts that move as blocks, so k axes make 2^k moves.
KernelStatus RunBlocks(KernelContext& c) {
  const RollSizes s = SizesNow(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  const size_t element = SizeOf(c.in(0).tensor.dtype);
  int rolled[8];
  int count = 0;
  int64_t strides[8] = {};
  int64_t stride = 1;
  for (auto a = static_cast<int>(s.rank) - 1; a >= 0; --a) {
    strides[a] = stride;
    stride *= s.dims[a];
    if (s.shifts[a] != 0) rolled[count++] = a;
  }
  if (count == 1) {
    const int a = rolled[0];
    const int64_t inner = strides[a] * static_cast<int64_t>(element);
    const int64_t row = s.dims[a] * inner, back = s.shifts[a] * inner;
    RowMover mover(c.out().size() / (s.dims[a] * strides[a]), c, MovesOf(c));
    mover.Add({c.in(0).data<const char>() + row - back, c.out().data<char>(), row, row, back});
    mover.Add({c.in(0).data<const char>(), c.out().data<char>() + back, row, row, row - back});
    return KernelStatus::kDone;
  }
  for (unsigned which = 0; which < (1u << count); ++which) {
    StridedMove move;
    for (int a = 0; a < s.rank; ++a) move.Axis(s.dims[a], strides[a], strides[a]);
    int64_t from = 0, to = 0;
    for (int k = 0; k < count; ++k) {
      const int a = rolled[k];
      const bool end = (which >> k & 1) != 0;  // the part that comes back at the front
      move.dims[a] = end ? s.shifts[a] : s.dims[a] - s.shifts[a];
      from += end ? (s.dims[a] - s.shifts[a]) * strides[a] : 0;
      to += end ? 0 : s.shifts[a] * strides[a];
    }
    const auto width = static_cast<int64_t>(element);
    Move(move, element, c.in(0).data<const char>() + from * width,
         c.out().data<char>() + to * width, MovesOf(c), c.pool);
  }
  return KernelStatus::kDone;
}

}  // namespace

void DefineRoll(OpSet& ops) {
  ops.Define("roll")
      .Group("shape")
      .Doc(
          "The entries of each named axis moved by its shift, towards the end when that is "
          "positive; what leaves at one end comes back at the other.")
      .Formula("y[…, (i + shift) mod n, …] = x[…, i, …]")
      .In("x")
      .RequiredAttr("shifts", AttrKind::kInts, "one for each of `axes`")
      .RequiredAttr("axes", AttrKind::kInts, "negative ones count from the end")
      .Traits(RaggedTraits())
      .Infer(InferRoll)
      .Sizes("RollSizes",
             [](const KernelQuery& q, Words& words) {
               const RollSizes s = SizesOf(*q.op, q.in[0]->shape());
               words << s.rank;
               for (int64_t dim : s.dims) words << dim;
               for (int64_t shift : s.shifts) words << shift;
             })
      .Reference("Roll", RunReference)
      .Fast(MoveKernel("blocks", RunBlocks))
      .TakesHalf()
      .Grad([](GradContext& c) {
        Attr::List back;
        for (int64_t shift : c.attr("shifts").AsInts()) back.emplace_back(-shift);
        c.SetGrad(0, c.emit().Emit("roll", {c.grad()},
                                   {{"shifts", Attr(std::move(back))}, {"axes", c.attr("axes")}}));
      })
      .AddSample({.inputs = {Floats({4}, {1, 2, 3, 4})},
                  .attrs = {{"shifts", Attr::Ints({1})}, {"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({3, 5}, -1, 1)},
                  .attrs = {{"shifts", Attr::Ints({-2})}, {"axes", Attr::Ints({-1})}}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1)},
                  .attrs = {{"shifts", Attr::Ints({1, 13, -9})}, {"axes", Attr::Ints({2, 0, 1})}}})
      .AddSample({.inputs = {RandomInts({5}, 0, 9, DType::kI8)},
                  .attrs = {{"shifts", Attr::Ints({5})}, {"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)},
                  .attrs = {{"shifts", Attr::Ints({})}, {"axes", Attr::Ints({})}}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"shifts", Attr::Ints({1, 1})}, {"axes", Attr::Ints({0, 1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"shifts", Attr::Ints({1})}, {"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran
