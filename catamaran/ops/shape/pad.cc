// ops/shape/pad.cc
//
// pad(x, before, after, mode): x with a border; and pad_grad, which folds the border of a
// gradient back.

#include <fmt/format.h>

#include <cstring>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/move.h"

// reference-begin
namespace catamaran::reference {

struct PadSizes {
  int64_t rank;
  int64_t mode;       // 0 constant, 1 reflect, 2 edge, 3 wrap
  int64_t dims[8];    // without the border
  int64_t before[8];  // of each axis
  int64_t after[8];
  double value;  // of a constant border
};

// The entry that stands at place i, counted from the first one behind the border, of an axis of n;
// -1 for the constant.
inline int64_t PadSource(int64_t i, int64_t n, int64_t mode) {
  if (i >= 0 && i < n) return i;
  if (mode == 0) return -1;
  if (mode == 2) return i < 0 ? 0 : n - 1;
  const int64_t period = mode == 3 ? n : n > 1 ? 2 * (n - 1) : 1;
  const int64_t at = (i % period + period) % period;
  return at < n ? at : period - at;
}

// The element of the inner tensor that stands at element i of the padded one, or -1.
inline int64_t PadPosition(int64_t i, const PadSizes& s) {
  int64_t at = 0, stride = 1;
  bool inside = true;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    const int64_t whole = s.dims[a] + s.before[a] + s.after[a];
    const int64_t from = PadSource(i % whole - s.before[a], s.dims[a], s.mode);
    inside = inside && from >= 0;
    at += from * stride;
    stride *= s.dims[a];
    i /= whole;
  }
  return inside ? at : -1;
}

inline int64_t PaddedCount(const PadSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a] + s.before[a] + s.after[a];
  return count;
}

template <class T>
void Pad(const T* x, T* y, const PadSizes& s) {
  const int64_t count = PaddedCount(s);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = PadPosition(i, s);
    y[i] = at < 0 ? static_cast<T>(s.value) : x[at];
  }
}

template <class T, class L>
void PadGrad(const T* g, const L*, T* dx, const PadSizes& s) {
  int64_t inner = 1;
  for (int64_t a = 0; a < s.rank; ++a) inner *= s.dims[a];
  for (int64_t i = 0; i < inner; ++i) dx[i] = T(0);
  const int64_t count = PaddedCount(s);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = PadPosition(i, s);
    if (at >= 0) dx[at] += g[i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::PadSizes;

constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};

int64_t ModeOf(const Op& op) {
  const std::string word = op.attr("mode").AsWord();
  int64_t mode = 0;
  while (word != kModes[mode]) ++mode;
  return mode;
}

// The dimensions of x with its border.
bool PaddedDims(InferContext& c, const Type& x, std::vector<Dim>* dims) {
  const std::vector<int64_t> before = c.op().attr("before").AsInts();
  const std::vector<int64_t> after = c.op().attr("after").AsInts();
  const auto rank = static_cast<size_t>(x.rank());
  if (before.size() != rank || after.size() != rank) {
    return c.Fail(fmt::format("before has {} numbers and after {} for {} dimensions", before.size(),
                              after.size(), rank));
  }
  *dims = DimsOf(x);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (before[axis] < 0 || after[axis] < 0) {
      return c.Fail(fmt::format("the border of axis {} is {} and {}; slice makes an axis shorter",
                                axis, before[axis], after[axis]));
    }
    if (before[axis] == 0 && after[axis] == 0) continue;
    if (!WantBehindRagged(c, x, static_cast<int>(axis))) return false;
    if ((*dims)[axis] == Dim(0) && ModeOf(c.op()) != 0) {
      return c.Fail(fmt::format("axis {} has no entries to fill its border with", axis));
    }
    (*dims)[axis] = (*dims)[axis] + Dim(before[axis] + after[axis]);
  }
  return true;
}

void InferPad(InferContext& c) {
  std::vector<Dim> dims;
  if (!c.WantTensor(0) || !PaddedDims(c, c.type(0), &dims)) return;
  const double value = c.op().attr("value").AsDouble();
  if (!IsFloat(c.type(0).dtype()) && value != std::floor(value)) {
    return (void)c.Fail(fmt::format("{} is no {}", value, Name(c.type(0).dtype())));
  }
  c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis()));
}

void InferPadGrad(InferContext& c) {
  std::vector<Dim> dims;
  if (!c.WantFloat(0) || !c.WantTensor(1) || !PaddedDims(c, c.type(1), &dims)) return;
  const Type& g = c.type(0);
  if (c.UnifyTypes(g, Type::Tensor(g.dtype(), std::move(dims), c.type(1).ragged_axis()),
                   "the padded shapes")) {
    c.SetResult(c.type(1).WithDType(g.dtype()));
  }
}

// `x` is the side without border.
PadSizes SizesOf(const Op& op, const Type& type, const Shape& x) {
  const std::vector<int64_t> before = op.attr("before").AsInts();
  const std::vector<int64_t> after = op.attr("after").AsInts();
  PadSizes s{};
  s.rank = x.rank();
  s.mode = ModeOf(op);
  const auto skipped = static_cast<size_t>(type.rank() - x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[axis];
    s.before[axis] = before[static_cast<size_t>(axis) + skipped];
    s.after[axis] = after[static_cast<size_t>(axis) + skipped];
    if (s.mode != 0 && x[axis] == 0 && s.before[axis] + s.after[axis] > 0) {
      Fail("{}: axis {} has no entries to fill its border with", op.name(), axis);
    }
  }
  if (op.def().FindArg("value")) s.value = op.attr("value").AsDouble();
  return s;
}

// The side without border, of pad and pad_grad.
PadSizes PadSizesOf(const Op& op, const Shape& x) { return SizesOf(op, op.operand(0)->type, x); }
PadSizes GradSizesOf(const Op& op, const Shape& dx) { return SizesOf(op, op.operand(1)->type, dx); }

void FillSizes(const PadSizes& s, Words& words) {
  words << s.rank << s.mode;
  for (const auto* list : {&s.dims, &s.before, &s.after}) {
    for (int64_t number : *list) words << number;
  }
  words << s.value;
}

// What was made before, with the leading size of this run.
PadSizes SizesNow(const KernelContext& c, const Shape& x) {
  PadSizes s = c.sizes<PadSizes>();
  if (s.rank > 0) s.dims[0] = x[0];
  return s;
}

KernelStatus RunPad(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.in(0).shape());
  DispatchAll(c.in(0).tensor.dtype,
              [&]<class T>(T) { reference::Pad(c.in(0).data<const T>(), c.out().data<T>(), s); });
  return KernelStatus::kDone;
}

// Row by row of the last axis that has a border; what lies behind it is one block.
template <class T>
void PadRows(const T* x, T* y, const PadSizes& s, ThreadPool* pool) {
  int64_t last = s.rank - 1, block = 1;
  while (last > 0 && s.before[last] + s.after[last] == 0) block *= s.dims[last--];
  if (s.rank == 0) {
    *y = *x;
    return;
  }
  const int64_t n = s.dims[last], before = s.before[last], after = s.after[last];
  int64_t rows = 1;
  for (int64_t a = 0; a < last; ++a) rows *= s.dims[a] + s.before[a] + s.after[a];
  const int64_t row = (n + before + after) * block;
  const auto value = static_cast<T>(s.value);
  const auto entry = [&](const T* from, T* to, int64_t i) {
    const int64_t at = reference::PadSource(i, n, s.mode);
    if (block == 1) {
      *to = from[at];
    } else {
      std::copy_n(from + at * block, block, to);
    }
  };
  // Rows of the axis before stand next to each other; only their own place changes.
  const int64_t near = last > 0 ? s.dims[last - 1] : 1;
  const int64_t near_before = last > 0 ? s.before[last - 1] : 0;
  const int64_t group = last > 0 ? near + near_before + s.after[last - 1] : 1;
  PadSizes groups = s;
  groups.rank = std::max<int64_t>(0, last - 1);
  Split(pool, rows, row, [&](int64_t begin, int64_t end) {
    int64_t base = -1;
    for (int64_t r = begin; r < end; ++r) {
      T* to = y + r * row;
      const int64_t within = r % group;
      if (r == begin || within == 0) base = reference::PadPosition(r / group, groups);
      const int64_t own = reference::PadSource(within - near_before, near, s.mode);
      if (base < 0 || own < 0) {
        std::fill_n(to, row, value);
        continue;
      }
      const T* from = x + (base * near + own) * n * block;
      if (s.mode == 0) {
        std::fill_n(to, before * block, value);
        std::fill_n(to + (before + n) * block, after * block, value);
      } else {
        for (int64_t i = 0; i < before; ++i) entry(from, to + i * block, i - before);
        for (int64_t i = 0; i < after; ++i) entry(from, to + (before + n + i) * block, n + i);
      }
      std::copy_n(from, n * block, to + before * block);
    }
  });
}

KernelStatus RunPadRows(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.in(0).shape());
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchAll(c.in(0).tensor.dtype,
              [&]<class T>(T) { PadRows(c.in(0).data<const T>(), c.out().data<T>(), s, c.pool); });
  return KernelStatus::kDone;
}

KernelStatus RunPadGrad(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.out().shape());
  DispatchFloating(c.in(0).tensor.dtype, [&]<class T>(T) {
    reference::PadGrad(c.in(0).data<const T>(), c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// Row by row of the last axis; the middle of each row in one go.
template <class T>
void FoldRows(const T* g, T* dx, const PadSizes& s) {
  const int64_t last = s.rank - 1;
  const int64_t n = s.dims[last], before = s.before[last];
  const int64_t row = n + before + s.after[last];
  PadSizes outer = s;  // of rows
  outer.rank = last;
  const int64_t rows = reference::PaddedCount(outer);
  for (int64_t r = 0; r < rows; ++r, g += row) {
    const int64_t at = reference::PadPosition(r, outer);
    if (at < 0) continue;
    T* __restrict to = dx + at * n;
    for (int64_t i = 0; i < row; ++i) {
      if (i == before && n > 0) {
        for (int64_t k = 0; k < n; ++k) to[k] += g[before + k];
        i += n - 1;
        continue;
      }
      const int64_t from = reference::PadSource(i - before, n, s.mode);
      if (from >= 0) to[from] += g[i];
    }
  }
}

KernelStatus RunPadGradRows(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.out().shape());
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchFloating(c.in(0).tensor.dtype, [&]<class T>(T) {
    std::fill_n(c.out().data<T>(), c.out().size(), T(0));
    if (c.in(0).size() > 0) FoldRows(c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

void GradOfPad(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  std::vector<NamedAttr> attrs;
  if (ModeOf(c.op()) != 0) {
    for (const char* name : {"before", "after", "mode"}) attrs.push_back({name, c.attr(name)});
    return c.SetGrad(0, c.emit().Emit("pad_grad", {c.grad(), c.operand(0)}, std::move(attrs)));
  }
  const std::vector<int64_t> before = c.attr("before").AsInts();
  const std::vector<int64_t> after = c.attr("after").AsInts();
  Attr::List axes, begin, size;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto k = static_cast<size_t>(axis);
    if (before[k] == 0 && after[k] == 0) continue;
    axes.emplace_back(axis);
    begin.emplace_back(before[k]);
    size.emplace_back(x.dim(axis));
  }
  if (axes.empty()) return c.SetGrad(0, c.grad());
  c.SetGrad(0, c.emit().Emit("strided_slice", {c.grad()},
                             {{"begin", Attr(std::move(begin))},
                              {"size", Attr(std::move(size))},
                              {"axes", Attr(std::move(axes))}}));
}

}  // namespace

void DefinePad(OpSet& ops) {
  ops.Define("pad")
      .Group("shape")
      .Doc(
          "x with a border: a constant, its own entries mirrored without repeating the outermost "
          "(reflect), the outermost again (edge), or those of the other side (wrap). A border may "
          "be wider than x. A ragged value has 0 for its ragged dimension and what is before it.")
      .Formula("y[…, i, …] = x[…, i - before, …], or the border")
      .In("x")
      .RequiredAttr("before", AttrKind::kInts, "how many entries in front, for each axis")
      .RequiredAttr("after", AttrKind::kInts, "how many entries behind, for each axis")
      .WordAttr("mode", {"constant", "reflect", "edge", "wrap"}, "constant",
                "what the border holds")
      .WithAttr("value", AttrKind::kFloat, 0.0, "of a constant border")
      .Traits(RaggedTraits())
      .Infer(InferPad)
      .Sizes("PadSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(PadSizesOf(*q.op, q.in[0]->shape()), words);
             })
      .Reference("Pad", RunPad)
      .Fast(FastKernel("rows", RunPadRows, nullptr))
      .TakesHalf()
      .Grad(GradOfPad)
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})},
                  .attrs = {{"before", Attr::Ints({2})}, {"after", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({0, 3})},
                            {"value", 0.5}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 2, 1})},
                            {"after", Attr::Ints({0, 1, 3})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {Uniform({2, 3, 2}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2, 0})},
                            {"after", Attr::Ints({2, 1, 0})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 3})},
                            {"after", Attr::Ints({4, 0})},
                            {"mode", Attr::Word("wrap")}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 5})},
                            {"after", Attr::Ints({0, 7})},
                            {"mode", Attr::Word("reflect")}},
                  .note = "a border wider than the axis"})
      .AddSample({.inputs = {Uniform({1}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({2})},
                            {"after", Attr::Ints({1})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {RandomInts({2, 2}, 0, 9, DType::kI32)},
                  .attrs = {{"before", Attr::Ints({1, 0})},
                            {"after", Attr::Ints({0, 1})},
                            {"value", -7.0}}})
      .AddSample({.inputs = {Bools({2}, {true, true})},
                  .attrs = {{"before", Attr::Ints({1})}, {"after", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({})}, {"after", Attr::Ints({})}}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({2, 0})}, {"after", Attr::Ints({0, 1})}}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({0, 1})},
                            {"after", Attr::Ints({0, 1})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 0, 1})},
                            {"after", Attr::Ints({0, 0, 2})},
                            {"mode", Attr::Word("reflect")}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 0, 1})}, {"after", Attr::Ints({0, 0, 2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefinePadGrad(OpSet& ops) {
  ops.Define("pad_grad")
      .Group("shape")
      .Doc(
          "The shape of `like`: each element the sum of those of g that pad would fill with it. "
          "The "
          "gradient of pad.")
      .Formula("dx[j] = sum of g[i] over i where pad reads x[j]")
      .In("g", "the gradient of pad's result")
      .In("like", "only its shape matters")
      .RequiredAttr("before", AttrKind::kInts, "how many entries in front, for each axis")
      .RequiredAttr("after", AttrKind::kInts, "how many entries behind, for each axis")
      .WordAttr("mode", {"constant", "reflect", "edge", "wrap"}, "constant", "what the border held")
      .Traits(RaggedTraits())
      .Infer(InferPadGrad)
      .Sizes("PadSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(GradSizesOf(*q.op, q.out[0]->shape()), words);
             })
      .Reference("PadGrad", RunPadGrad)
      .Fast(FastKernel("rows", RunPadGradRows,
                       [](const KernelQuery& q) { return q.out[0]->shape().rank() > 0; }))
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        std::vector<NamedAttr> attrs;
        for (const char* name : {"before", "after", "mode"}) attrs.push_back({name, c.attr(name)});
        c.SetGrad(0, c.emit().Emit("pad", {c.grad()}, std::move(attrs)));
      })
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5}), Floats({3}, {0, 0, 0})},
                  .attrs = {{"before", Attr::Ints({1})},
                            {"after", Attr::Ints({1})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({1, 3})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({1, 3})},
                            {"mode", Attr::Word("wrap")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})}, {"after", Attr::Ints({1, 3})}}})
      .AddSample({.inputs = {Empty({0, 5}), Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({0, 1})},
                            {"after", Attr::Ints({0, 1})},
                            {"mode", Attr::Word("edge")}}});
}

}  // namespace catamaran
