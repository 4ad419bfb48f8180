// ops/ragged/ragged_concat.cc
//
// ragged_concat(parts…, axis): sequences joined end to end, batch entry by batch entry, or batches
// one after another; and the gradient of one part as an op.

#include <fmt/format.h>

#include "catamaran/base/small_vector.h"
#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedConcatSizes {
  int64_t parts, axis, width;
};

// rows[p] is the number of sequences of part p; with axis 1 all have the same.
template <class T>
void RaggedConcat(const T* const* parts, const int64_t* const* offsets, const int64_t* rows, T* y,
                  int64_t* y_offsets, const RaggedConcatSizes& s) {
  int64_t at = 0;
  y_offsets[0] = 0;
  const auto put = [&](int64_t p, int64_t b) {
    const int64_t begin = offsets[p][b], count = offsets[p][b + 1] - begin;
    std::copy_n(parts[p] + begin * s.width, count * s.width, y + at * s.width);
    at += count;
  };
  if (s.axis == 1) {
    for (int64_t b = 0; b < rows[0]; ++b) {
      for (int64_t p = 0; p < s.parts; ++p) put(p, b);
      y_offsets[b + 1] = at;
    }
  } else {
    int64_t row = 0;
    for (int64_t p = 0; p < s.parts; ++p) {
      for (int64_t b = 0; b < rows[p]; ++b) {
        put(p, b);
        y_offsets[++row] = at;
      }
    }
  }
}

// The elements of dy that came from part `index`.
template <class T>
void RaggedConcatGrad(const T* dy, const int64_t* const* offsets, const int64_t* rows, T* dx,
                      int64_t index, const RaggedConcatSizes& s) {
  int64_t at = 0;
  const auto take = [&](int64_t p, int64_t b) {
    const int64_t begin = offsets[p][b], count = offsets[p][b + 1] - begin;
    if (p == index) std::copy_n(dy + at * s.width, count * s.width, dx + begin * s.width);
    at += count;
  };
  if (s.axis == 1) {
    for (int64_t b = 0; b < rows[0]; ++b) {
      for (int64_t p = 0; p < s.parts; ++p) take(p, b);
    }
  } else {
    for (int64_t p = 0; p < s.parts; ++p) {
      for (int64_t b = 0; b < rows[p]; ++b) take(p, b);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedConcatSizes;

// The operands from `first` on, as the reference wants them.
struct Parts {
  Parts(const KernelContext& c, int first) {
    for (int i = first; i < c.num_ins; ++i) {
      data.push_back(c.in(i).tensor.data);
      offsets.push_back(c.in(i).offsets);
      rows.push_back(c.in(i).num_rows);
    }
  }
  template <class T>
  const T* const* as() const {
    return reinterpret_cast<const T* const*>(data.data());
  }
  SmallVector<const void*, 8> data;
  SmallVector<const int64_t*, 8> offsets;
  SmallVector<int64_t, 8> rows;
};

KernelStatus RunConcat(KernelContext& c) {
  const RaggedConcatSizes& s = c.sizes<RaggedConcatSizes>();
  const Parts parts(c, 0);
  if (s.axis == 1) {
    for (const int64_t rows : parts.rows) {
      if (rows != parts.rows[0])
        Fail(ErrorCode::kBadData, "parts of {} and {} sequences", parts.rows[0], rows);
    }
  }
  DispatchWidth(c.out().tensor.dtype, [&]<class T>(T) {
    reference::RaggedConcat(parts.as<T>(), parts.offsets.data(), parts.rows.data(),
                            c.out().data<T>(), c.new_offsets, s);
  });
  int64_t total = 0;
  for (int i = 0; i < c.num_ins; ++i) total += c.in(i).shape()[0];
  c.DecideSize(total);
  return KernelStatus::kDone;
}

KernelStatus RunConcatGrad(KernelContext& c) {
  const RaggedConcatSizes& s = c.sizes<RaggedConcatSizes>();
  const Parts parts(c, 1);
  const int64_t index = c.op->attr("index").AsInt();
  DispatchWidth(c.out().tensor.dtype, [&]<class T>(T) {
    reference::RaggedConcatGrad(c.in(0).data<const T>(), parts.offsets.data(), parts.rows.data(),
                                c.out().data<T>(), index, s);
  });
  return KernelStatus::kDone;
}

int64_t AxisOf(const Op& op, const Type& x) {
  const int64_t axis = op.attr("axis").AsInt();
  return axis < 0 ? axis + x.rank() : axis;
}

// Checks the operands from `first` on and gives the number of sequences of the result.
bool WantParts(InferContext& c, int first, Dim* rows) {
  if (c.num_operands() <= first) return c.Fail("wants at least one ragged value");
  if (!WantRagged(c, first)) return false;
  const Type& x = c.type(first);
  int axis = 0;
  if (!c.Axis("axis", x.rank(), &axis)) return false;
  if (axis > 1) {
    return c.Fail("joins along axis 0 (batches) or 1 (sequences); concat joins along the others");
  }
  *rows = x.dim(0);
  for (int i = first + 1; i < c.num_operands(); ++i) {
    if (!WantRagged(c, i) || !c.WantSameDType(first, i) || !c.WantRank(i, x.rank())) return false;
    for (int k = 2; k < x.rank(); ++k) {
      if (!c.Unify(x.dim(k), c.type(i).dim(k), "dimensions of an element")) return false;
    }
    if (axis == 0) {
      *rows = *rows + c.type(i).dim(0);
    } else if (!c.Unify(x.dim(0), c.type(i).dim(0), "the numbers of sequences")) {
      return false;
    }
  }
  return true;
}

void FillSizes(const KernelQuery& q, int first, Words& words) {
  words << static_cast<int64_t>(q.in.size()) - first << AxisOf(*q.op, q.op->operand(first)->type)
        << RowWidth(*q.in[0]);
}

}  // namespace

void DefineRaggedConcat(OpSet& ops) {
  ops.Define("ragged_concat")
      .Group("ragged")
      .Doc(
          "With axis=1 the sequences of the parts joined end to end, one for each batch entry; "
          "with axis=0 all sequences of the first part, then those of the next. Features are "
          "joined by concat.")
      .Formula("axis 1: y[b] = parts[0][b], parts[1][b], …; axis 0: y = parts[0], parts[1], …")
      .VariadicIn("parts", "[B, *T, …], with different *T")
      .WithAttr("axis", AttrKind::kInt, 1, "0 or 1")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        Dim rows;
        if (WantParts(c, 0, &rows)) c.SetResult(Joined(c.type(0), {rows, c.FreshDim()}, 2, 1));
      })
      .SizeBound([](const Op& op) {
        Dim total = 0;
        for (int i = 0; i < op.num_operands(); ++i) total = total + op.operand(i)->type.dim(1);
        return total;
      })
      .Sizes("RaggedConcatSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, 0, words); })
      .Grad([](GradContext& c) {
        std::vector<Var> operands = {c.grad()};
        for (int i = 0; i < c.num_operands(); ++i) operands.push_back(c.operand(i));
        for (int i = 0; i < c.num_operands(); ++i) {
          if (!c.wanted(i)) continue;
          c.SetGrad(i, c.emit().Emit("ragged_concat_grad", operands,
                                     {{"axis", c.attr("axis")}, {"index", i}}));
        }
      })
      .Reference("RaggedConcat", RunConcat)
      .TakesHalf()
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({2}, {10, 20})},
                  .ragged_lengths = {{2, 1}, {0, 2}}})
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({2}, {10, 20})},
                  .attrs = {{"axis", 0}},
                  .ragged_lengths = {{2, 1}, {0, 2, 0}}})
      .AddSample(
          {.inputs = {Uniform({5, 3}, -1, 1), Uniform({4, 3}, -1, 1, 2), Uniform({5, 3}, -1, 1, 3)},
           .attrs = {{"axis", -2}},
           .ragged_lengths = {{2, 0, 3}, {0, 0, 4}, {2, 0, 3}}})
      .AddSample({.inputs = {RandomInts({3, 2}, 0, 9)}, .ragged_lengths = {{1, 2}}})
      .AddSample({.inputs = {Empty({0, 2}), Uniform({1, 2}, -1, 1)},
                  .attrs = {{"axis", 0}},
                  .ragged_lengths = {{0, 0}, {1}}});
}

void DefineRaggedConcatGrad(OpSet& ops) {
  ops.Define("ragged_concat_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_concat at one of its parts: the elements that came from it.")
      .Formula("axis 1: dx[b, t, …] = dy[b, lengths of parts before it in b + t, …]")
      .In("dy", "as the result of ragged_concat")
      .VariadicIn("parts", "as given to ragged_concat; only their lengths matter")
      .WithAttr("axis", AttrKind::kInt, 1, "0 or 1")
      .RequiredAttr("index", AttrKind::kInt, "which part")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        Dim rows;
        if (!WantRagged(c, 0) || !WantParts(c, 1, &rows)) return;
        const int64_t index = c.op().attr("index").AsInt();
        if (index < 0 || index + 1 >= c.num_operands()) {
          return (void)c.Fail(fmt::format("there is no part {}", index));
        }
        if (!c.Unify(c.type(0).dim(0), rows, "the numbers of sequences")) return;
        c.SetResult(c.type(static_cast<int>(index) + 1));
      })
      .Sizes("RaggedConcatSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, 1, words); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        std::vector<Var> parts;
        for (int i = 1; i < c.num_operands(); ++i) {
          parts.push_back(i - 1 == c.attr("index").AsInt()
                              ? c.grad()
                              : c.emit().Emit("zeros_like", {c.operand(i)}));
        }
        const Var joined = c.emit().Emit("ragged_concat", parts, {{"axis", c.attr("axis")}});
        c.SetGrad(0, AsRaggedLike(c.emit(), joined, c.operand(0)));
      })
      .Reference("RaggedConcatGrad", RunConcatGrad)
      .TakesHalf()
      .AddSample(
          {.inputs = {Floats({5}, {1, 2, 3, 4, 5}), Uniform({3}, -1, 1), Uniform({2}, -1, 1, 2)},
           .attrs = {{"index", 1}},
           .ragged_lengths = {{2, 3}, {2, 1}, {0, 2}}})
      .AddSample(
          {.inputs = {Uniform({5, 2}, -1, 1), Uniform({3, 2}, -1, 1), Uniform({2, 2}, -1, 1, 2)},
           .attrs = {{"axis", 0}, {"index", 0}},
           .ragged_lengths = {{2, 1, 0, 2}, {2, 1}, {0, 2}}});
}

}  // namespace catamaran
