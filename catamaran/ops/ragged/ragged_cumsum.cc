// ops/ragged/ragged_cumsum.cc
//
// ragged_cumsum(x): running sums within each sequence.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedCumsumSizes {
  int64_t rows, width, exclusive, reverse;
};

template <class T>
void RaggedCumsum(const T* x, const int64_t* offsets, T* y, const RaggedCumsumSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t length = offsets[b + 1] - offsets[b];
    const int64_t step = s.reverse ? -s.width : s.width;
    const int64_t first = (s.reverse ? offsets[b + 1] - 1 : offsets[b]) * s.width;
    for (int64_t t = 0; t < length; ++t) {
      const int64_t at = first + t * step;
      for (int64_t i = at; i < at + s.width; ++i) {
        const T before = t == 0 ? T(0) : y[i - step];
        const T added = s.exclusive ? (t == 0 ? T(0) : x[i - step]) : x[i];
        y[i] = static_cast<T>(before + added);
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedCumsumSizes;

KernelStatus RunCumsum(KernelContext& c) {
  const Slot& x = c.in(0);
  const RaggedCumsumSizes& s = c.sizes<RaggedCumsumSizes>();
  DispatchAmong<double, float, int32_t, int64_t, uint64_t>(
      x.tensor.dtype,
      [&]<class T>(T) {
        Split(c.pool, x.num_rows, SequenceCost(x), [&](int64_t begin, int64_t end) {
          reference::RaggedCumsum(x.data<const T>(), x.offsets + begin, c.out().data<T>(),
                                  {end - begin, s.width, s.exclusive, s.reverse});
        });
      },
      "ragged_cumsum");
  return KernelStatus::kDone;
}

}  // namespace

void DefineRaggedCumsum(OpSet& ops) {
  ops.Define("ragged_cumsum")
      .Group("ragged")
      .Doc(
          "Running sums within each sequence: of an element and all before it, or with exclusive "
          "of those before it only; with reverse, of those behind it.")
      .Formula("y[b, t, …] = x[b, 0, …] + … + x[b, t, …]")
      .In("x", "[B, *T, …]: floats, i32, i64 or u64")
      .WithAttr("exclusive", AttrKind::kBool, false, "whether an element is left out of its sum")
      .WithAttr("reverse", AttrKind::kBool, false, "whether sums run from the end")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantRagged(c, 0, "; cumsum works on dense ones")) return;
        const DType dtype = c.type(0).dtype();
        if (SizeOf(dtype) == 1) {
          return (void)c.Fail("adds up floats, i32, i64 or u64, found " + std::string(Name(dtype)));
        }
        c.SetResult(c.type(0));
      })
      .Sizes("RaggedCumsumSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[0]->num_rows << RowWidth(*q.in[0]) << q.op->attr("exclusive").AsBool()
                     << q.op->attr("reverse").AsBool();
             })
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_cumsum", {c.grad()},
                                   {{"exclusive", c.attr("exclusive")},
                                    {"reverse", !c.attr("reverse").AsBool()}}));
      })
      .Reference("RaggedCumsum", RunCumsum)
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5})}, .ragged_lengths = {{3, 0, 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"exclusive", true}},
                  .ragged_lengths = {{1, 5}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"reverse", true}},
                  .ragged_lengths = {{1, 5}}})
      .AddSample({.inputs = {RandomInts({4, 2}, 0, 9)},
                  .attrs = {{"exclusive", true}, {"reverse", true}},
                  .ragged_lengths = {{0, 4}}})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

}  // namespace catamaran
