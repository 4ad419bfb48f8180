// ops/attention/positions.cc
//
// sinusoidal_positions(length, width): waves of falling frequency for each position.
// alibi_bias(heads, queries, keys): a penalty for distance that attention takes as its mask.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct SinusoidSizes {
  int64_t length, width;
  double base;
};

template <class T>
void Sinusoids(T* y, const SinusoidSizes& s) {
  for (int64_t t = 0; t < s.length; ++t) {
    for (int64_t i = 0; i < s.width; ++i) {
      const double power = static_cast<double>(i / 2 * 2) / static_cast<double>(s.width);
      const double angle = static_cast<double>(t) * std::pow(s.base, -power);
      y[t * s.width + i] = static_cast<T>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
}

struct AlibiSizes {
  int64_t heads, queries, keys;
};

// The slopes are a geometric sequence for a power of two; the heads beyond one take every second
// slope of twice as many.
inline double AlibiSlope(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  const double n = static_cast<double>(power);
  if (head < power) return std::pow(2.0, -8.0 * static_cast<double>(head + 1) / n);
  return std::pow(2.0, -4.0 * static_cast<double>(2 * (head - power) + 1) / n);
}

template <class T>
void Alibi(T* y, const AlibiSizes& s) {
  for (int64_t h = 0; h < s.heads; ++h) {
    const double slope = AlibiSlope(h, s.heads);
    for (int64_t t = 0; t < s.queries; ++t) {
      for (int64_t u = 0; u < s.keys; ++u) {
        const int64_t distance = t + s.keys - s.queries - u;
        *y++ = static_cast<T>(-slope * static_cast<double>(distance < 0 ? -distance : distance));
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::AlibiSizes;
using reference::SinusoidSizes;

KernelStatus RunSinusoids(KernelContext& c) {
  DispatchFloating(
      c.out().tensor.dtype,
      [&]<class T>(T) { reference::Sinusoids(c.out().data<T>(), c.sizes<SinusoidSizes>()); },
      "sinusoidal_positions");
  return KernelStatus::kDone;
}

KernelStatus RunAlibi(KernelContext& c) {
  DispatchFloating(
      c.out().tensor.dtype,
      [&]<class T>(T) { reference::Alibi(c.out().data<T>(), c.sizes<AlibiSizes>()); },
      "alibi_bias");
  return KernelStatus::kDone;
}

// Sets the result's type from attributes that are dimensions, and the attribute dtype.
void InferFromAttrs(InferContext& c, std::initializer_list<const char*> names) {
  std::vector<Dim> dims;
  for (const char* name : names) {
    const Attr& attr = c.op().attr(name);
    dims.push_back(attr.empty() ? dims.back() : attr.AsDim());
    if (dims.back().is_constant() && dims.back().constant() < 0) {
      return (void)c.Fail(std::string(name) + " cannot be negative");
    }
  }
  const DType dtype = c.op().attr("dtype").AsDType();
  if (!IsFloat(dtype)) return (void)c.Fail("dtype must be a float");
  c.SetResult(Type::Tensor(dtype, std::move(dims)));
}

}  // namespace

void DefineSinusoidalPositions(OpSet& ops) {
  ops.Define("sinusoidal_positions")
      .Group("attention")
      .Doc(
          "For each position a row of sines and cosines in turn, whose wavelengths grow from 2 pi "
          "to base * 2 pi; to be added to embeddings.")
      .Formula("y[t, 2i] = sin(t / base^(2i / width)), y[t, 2i + 1] = cos(t / base^(2i / width))")
      .RequiredAttr("length", AttrKind::kInt, "the number of positions")
      .RequiredAttr("width", AttrKind::kInt, "of a row")
      .WithAttr("base", AttrKind::kFloat, 10000.0, "how much longer the longest wave is")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the result: a float")
      .Infer([](InferContext& c) {
        InferFromAttrs(c, {"length", "width"});
      })
      .Sizes("SinusoidSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& y = q.out[0]->shape();
               words << y[0] << y[1] << q.op->attr("base").AsDouble();
             })
      .Reference("Sinusoids", RunSinusoids)
      .StopsGrad()
      .AddSample({.attrs = {{"length", 3}, {"width", 4}}})
      .AddSample({.attrs = {{"length", 5}, {"width", 7}, {"base", 100.0}}})
      .AddSample({.attrs = {{"length", 2}, {"width", 4}, {"dtype", DType::kF64}}})
      .AddSample({.attrs = {{"length", 2}, {"width", 4}, {"dtype", DType::kBF16}}})
      .AddSample({.attrs = {{"length", 0}, {"width", 4}}})
      .AddSample({.attrs = {{"length", 3}, {"width", 0}}});
}

void DefineAlibiBias(OpSet& ops) {
  ops.Define("alibi_bias")
      .Group("attention")
      .Doc(
          "A mask for attention that lowers scores by the distance of key and query, with another "
          "slope for each head. The last query stands at the last key.")
      .Formula("y[h, t, s] = -slope[h] * |t + keys - queries - s|, slope[h] = 2^(-8 (h + 1) / H)")
      .RequiredAttr("heads", AttrKind::kInt, "any number; the slopes are exact for powers of two")
      .RequiredAttr("queries", AttrKind::kInt)
      .OptionalAttr("keys", AttrKind::kInt, "as queries when left out")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the result: a float")
      .Infer([](InferContext& c) {
        InferFromAttrs(c, {"heads", "queries", "keys"});
      })
      .Sizes("AlibiSizes",
             [](const KernelQuery& q, Words& words) {
               const Shape& y = q.out[0]->shape();
               words << y[0] << y[1] << y[2];
             })
      .Reference("Alibi", RunAlibi)
      .StopsGrad()
      .AddSample({.attrs = {{"heads", 2}, {"queries", 2}}})
      .AddSample({.attrs = {{"heads", 6}, {"queries", 2}, {"keys", 3}}})
      .AddSample({.attrs = {{"heads", 1}, {"queries", 3}, {"keys", 2}, {"dtype", DType::kF64}}})
      .AddSample({.attrs = {{"heads", 0}, {"queries", 2}}});
}

}  // namespace catamaran
