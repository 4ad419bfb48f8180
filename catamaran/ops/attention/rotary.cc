// ops/attention/rotary.cc
//
// rotary(x, positions): pairs of features turned by an angle that grows with the position, so that
// products of queries and keys depend on their distance.

#include <fmt/format.h>

#include <cstring>

#include "catamaran/ops/attention/rotary_simd.h"
#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// Dense: [outer, rows, width], `outer` of which share positions in groups of `per_positions`.
// Ragged: rows of `heads` times width. The first 2 * pairs features are turned.
struct RotarySizes {
  int64_t outer, rows, width, pairs, heads, per_positions, interleaved, ragged;
  double base, sign;
};

// x and y are one row; `position` is where it stands.
template <class T>
void RotaryRow(const T* x, T* y, double position, const RotarySizes& s) {
  for (int64_t i = 0; i < s.pairs; ++i) {
    const double power = static_cast<double>(i) / static_cast<double>(s.pairs);
    const double angle = s.sign * position * std::pow(s.base, -power);
    const T c = static_cast<T>(std::cos(angle)), d = static_cast<T>(std::sin(angle));
    const int64_t first = s.interleaved ? 2 * i : i;
    const int64_t second = s.interleaved ? 2 * i + 1 : i + s.pairs;
    const T a = x[first], b = x[second];
    y[first] = a * c - b * d;
    y[second] = b * c + a * d;
  }
  for (int64_t i = 2 * s.pairs; i < s.width; ++i) y[i] = x[i];
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RotarySizes;

// The sizes of this run.
RotarySizes RunSizes(const KernelContext& c) {
  RotarySizes s = c.sizes<RotarySizes>();
  const Shape& x = c.in(0).shape();
  s.rows = s.ragged ? x[0] : x[x.rank() - 2];
  s.outer = 1;
  for (int i = 0; i < x.rank() - 2 && !s.ragged; ++i) s.outer *= x[i];
  return s;
}

int64_t PositionAt(const Slot& positions, int64_t i) {
  return positions.tensor.dtype == DType::kI32 ? positions.data<const int32_t>()[i]
                                               : positions.data<const int64_t>()[i];
}

// Calls turn(first row in memory, number of rows, their distance, position) for all rows that
// follow each other and share a position, over the pool.
template <class F>
void ForEachPosition(const KernelContext& c, const RotarySizes& s, F&& turn) {
  const bool given = c.has_in(1);
  if (s.ragged) {
    Split(c.pool, c.in(0).num_rows, 8 * s.rows * s.heads * s.width / (c.in(0).num_rows + 1),
          [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) {
              const int64_t first = c.in(0).offsets[b];
              for (int64_t t = first; t < c.in(0).offsets[b + 1]; ++t) {
                turn(t * s.heads, s.heads, 1, given ? PositionAt(c.in(1), t) : t - first);
              }
            }
          });
    return;
  }
  // Without own positions for each sequence, all of them share those of one.
  const bool shared = !given || s.per_positions == 0;
  const int64_t groups = shared ? 1 : s.outer / std::max<int64_t>(1, s.per_positions);
  const int64_t heads = shared ? s.outer : s.per_positions;
  Split(c.pool, groups * s.rows, 4 * heads * s.width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / s.rows, t = i % s.rows;
      turn(group * heads * s.rows + t, heads, s.rows, given ? PositionAt(c.in(1), i) : t);
    }
  });
}

KernelStatus RunReference(KernelContext& c) {
  const RotarySizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        ForEachPosition(c, s, [&](int64_t row, int64_t count, int64_t step, int64_t position) {
          for (int64_t k = 0; k < count; ++k, row += step) {
            reference::RotaryRow(c.in(0).data<const T>() + row * s.width,
                                 c.out().data<T>() + row * s.width, static_cast<double>(position),
                                 s);
          }
        });
      },
      "rotary");
  return KernelStatus::kDone;
}

struct PreparedRotary final : Prepared {
  const RotaryFunctions* functions = nullptr;
  std::vector<double> frequencies;
  // Cosines and then sines of the first positions.
  std::vector<float> angles;

  void Fill(int64_t position, float* cosines, float* sines) const {
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      cosines[i] = static_cast<float>(std::cos(angle));
      sines[i] = static_cast<float>(std::sin(angle));
    }
  }
};

constexpr int64_t kMostPairs = 512;
constexpr int64_t kMostAngles = 1 << 20;  // kept for positions; others are computed when they come

const RotaryFunctions& FunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kRotaryFunctions;
  if (isa == Isa::kAvx2) return avx2::kRotaryFunctions;
#endif
  return plain::kRotaryFunctions;
}

std::unique_ptr<Prepared> Prepare(const KernelQuery& q) {
  const RotarySizes s = q.sizes->As<RotarySizes>();
  auto prepared = std::make_unique<PreparedRotary>();
  prepared->functions = &FunctionsFor(q.isa);
  for (int64_t i = 0; i < s.pairs; ++i) {
    const double power = static_cast<double>(i) / static_cast<double>(s.pairs);
    prepared->frequencies.push_back(s.sign * std::pow(s.base, -power));
  }
  if (s.pairs == 0) return prepared;
  const int64_t known = std::min(s.rows, kMostAngles / s.pairs);
  prepared->angles.resize(static_cast<size_t>(2 * known * s.pairs));
  for (int64_t t = 0; t < known; ++t) {
    float* row = prepared->angles.data() + 2 * t * s.pairs;
    prepared->Fill(t, row, row + s.pairs);
  }
  return prepared;
}

KernelStatus RunVector(KernelContext& c) {
  const RotarySizes s = RunSizes(c);
  const auto& prepared = *static_cast<const PreparedRotary*>(c.prepared);
  const auto run = s.interleaved ? prepared.functions->interleaved : prepared.functions->halves;
  const float* x = c.in(0).data<const float>();
  float* y = c.out().data<float>();
  const size_t rest = static_cast<size_t>(s.width - 2 * s.pairs) * sizeof(float);
  const int64_t known =
      s.pairs == 0 ? 0 : static_cast<int64_t>(prepared.angles.size()) / (2 * s.pairs);
  ForEachPosition(c, s, [&](int64_t row, int64_t count, int64_t step, int64_t position) {
    float computed[2 * kMostPairs];
    const float* angles = computed;
    if (position >= 0 && position < known) {
      angles = prepared.angles.data() + 2 * position * s.pairs;
    } else {
      prepared.Fill(position, computed, computed + s.pairs);
    }
    for (int64_t k = 0; k < count; ++k, row += step) {
      run(x + row * s.width, angles, angles + s.pairs, y + row * s.width, s.pairs);
      if (rest > 0) {
        std::memcpy(y + row * s.width + 2 * s.pairs, x + row * s.width + 2 * s.pairs, rest);
      }
    }
  });
  return KernelStatus::kDone;
}

// Features that are turned: the attribute, or all.
bool TurnedWidth(InferContext& c, const Dim& width) {
  const Attr& attr = c.op().attr("width");
  const Dim turned = attr.empty() ? width : Dim(attr.AsInt());
  if (!turned.is_constant() || !width.is_constant()) {
    return c.Fail("the last dimension must be a number");
  }
  if (turned.constant() < 0 || turned.constant() > width.constant() || turned.constant() % 2 != 0) {
    return c.Fail(fmt::format("turns an even number of the {} features, found {}", width.constant(),
                              turned.constant()));
  }
  return true;
}

void Infer(InferContext& c) {
  if (!c.WantFloat(0)) return;
  const Type& x = c.type(0);
  if (x.rank() < (x.is_ragged() ? 3 : 2)) {
    return (void)c.Fail("wants […, T, D], or ragged [B, *T, D] or [B, *T, H, D]");
  }
  if (!TurnedWidth(c, x.dim(x.rank() - 1))) return;
  if (c.has(1)) {
    const Type& p = c.type(1);
    if (!c.WantTensor(1)) return;
    if (p.dtype() != DType::kI32 && p.dtype() != DType::kI64) {
      return (void)c.Fail("positions are i32 or i64, found " + p.ToString());
    }
    const std::vector<Dim> ragged(x.dims().begin(), x.dims().begin() + 2);
    if (x.is_ragged()) {
      if (!c.UnifyTypes(Type::Tensor(p.dtype(), ragged, 1), p, "sequences and positions")) return;
    } else if (p.rank() == 1) {
      if (!c.Unify(x.dim(x.rank() - 2), p.dim(0), "rows and positions")) return;
    } else if (p.rank() == 2 && x.rank() > 2 && !p.is_ragged()) {
      if (!c.Unify(x.dim(0), p.dim(0), "batches of x and positions")) return;
      if (!c.Unify(x.dim(x.rank() - 2), p.dim(1), "rows and positions")) return;
    } else {
      return (void)c.Fail("positions are [T] or [B, T], found " + p.ToString());
    }
  }
  c.SetResult(x);
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Op& op = *q.op;
  const Shape& x = q.in[0]->shape();
  RotarySizes s{};
  s.ragged = op.operand(0)->type.is_ragged();
  s.width = x[x.rank() - 1];
  s.rows = s.ragged ? x[0] : x[x.rank() - 2];
  s.outer = 1, s.heads = 1;
  if (s.ragged) {
    for (int i = 1; i < x.rank() - 1; ++i) s.heads *= x[i];
  } else {
    for (int i = 0; i < x.rank() - 2; ++i) s.outer *= x[i];
  }
  const bool own = op.num_operands() > 1 && op.operand(1) && op.operand(1)->type.rank() == 2;
  if (own && !s.ragged) {
    s.per_positions = 1;
    for (int i = 1; i < x.rank() - 2; ++i) s.per_positions *= x[i];
  }
  const Attr& turned = op.attr("width");
  s.pairs = (turned.empty() ? s.width : turned.AsInt()) / 2;
  s.interleaved = op.attr("interleaved").AsBool();
  s.base = op.attr("base").AsDouble();
  s.sign = op.attr("inverse").AsBool() ? -1 : 1;
  words << s.outer << s.rows << s.width << s.pairs << s.heads << s.per_positions << s.interleaved
        << s.ragged << s.base << s.sign;
}

void Grad(GradContext& c) {
  std::vector<NamedAttr> attrs = {{"base", c.attr("base")},
                                  {"interleaved", c.attr("interleaved")},
                                  {"inverse", !c.attr("inverse").AsBool()}};
  if (!c.attr("width").empty()) attrs.push_back({"width", c.attr("width")});
  const Var positions = c.has_operand(1) ? c.operand(1) : Var();
  c.SetGrad(0, c.emit().Emit("rotary", {c.grad(), positions}, attrs));
}

}  // namespace

void DefineRotary(OpSet& ops) {
  Kernel vector = FastKernel("vector", RunVector, [](const KernelQuery& q) {
    return IsF32(q) && q.sizes->As<RotarySizes>().pairs <= kMostPairs;
  });
  vector.prepare = Prepare;
  ops.Define("rotary")
      .Group("attention")
      .Doc(
          "Turns pairs of features by an angle proportional to the position, the first pair "
          "fastest. A pair is feature i and the one half the width behind it, or neighbours when "
          "interleaved. Positions count from 0 in each sequence when left out.")
      .Formula(
          "(y[i], y[j]) = (x[i] cos(a) - x[j] sin(a), x[j] cos(a) + x[i] sin(a)), a = position / "
          "base^(2i / width)")
      .In("x", "[…, T, D]; ragged [B, *T, D] or [B, *T, H, D]")
      .OptionalIn("positions", "i32 or i64: [T] or [B, T]; ragged [B, *T]")
      .WithAttr("base", AttrKind::kFloat, 10000.0, "how much slower the last pair turns, nearly")
      .WithAttr("interleaved", AttrKind::kBool, false, "neighbours are pairs")
      .OptionalAttr("width", AttrKind::kInt, "how many features turn, from the first on; all")
      .WithAttr("inverse", AttrKind::kBool, false, "turns back: what the gradient does")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("RotarySizes", FillSizes)
      .Fast(std::move(vector))
      .Reference("RotaryRow", RunReference)
      .Grad(Grad)
      .AddSample({.inputs = {Floats({1, 3, 2}, {1, 0, 1, 0, 0, 1})}})
      .AddSample({.inputs = {Uniform({2, 3, 5, 6}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 5, 6}, -1, 1)}, .attrs = {{"interleaved", true}}})
      .AddSample({.inputs = {Uniform({5, 34}, -1, 1)}, .attrs = {{"base", 100.0}}})
      .AddSample({.inputs = {Uniform({2, 2, 3, 4}, -1, 1), Ints({3}, {7, 0, -2})}})
      .AddSample({.inputs = {Uniform({2, 2, 3, 4}, -1, 1),
                             Ints({2, 3}, {7, 0, 2, 1000, 1, 5}, DType::kI32)}})
      .AddSample(
          {.inputs = {Uniform({2, 3, 7}, -1, 1)}, .attrs = {{"width", 4}, {"inverse", true}}})
      .AddSample({.inputs = {Empty({0, 3, 4})}})
      .AddSample({.inputs = {Empty({2, 0, 4})}})
      .AddSample({.inputs = {Uniform({6, 4}, -1, 1)}, .ragged_lengths = {{2, 0, 3, 1}}})
      .AddSample({.inputs = {Uniform({6, 2, 4}, -1, 1), Ints({6}, {3, 4, 0, 1, 2, 9})},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}}});
}

}  // namespace catamaran
