#include "catamaran/ops/convolution/window.h"

#include <fmt/format.h>

namespace catamaran {
namespace {

struct Padding {
  std::vector<int64_t> begin, end;
};

bool IsWord(const Attr& attr, const char* word) {
  return (attr.get<AttrWord>() != nullptr || attr.get<std::string>() != nullptr) &&
         attr.AsWord() == word;
}

// `1`, `[1, 2]` (both sides alike), `[1, 2, 0, 1]` (all beginnings, then all ends), `valid`, or
// `same`, for which the size of the filter must be known.
Padding PaddingOf(const Attr& attr, int rank, const std::vector<int64_t>& kernel,
                  const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation) {
  const size_t n = static_cast<size_t>(rank);
  if (IsWord(attr, "valid")) return {std::vector<int64_t>(n, 0), std::vector<int64_t>(n, 0)};
  if (IsWord(attr, "same")) {
    Padding padding;
    for (size_t i = 0; i < n; ++i) {
      if (stride[i] != 1) Fail("padding=same wants stride 1, found {}", stride[i]);
      const int64_t total = dilation[i] * (kernel[i] - 1);
      padding.begin.push_back(total / 2);
      padding.end.push_back(total - total / 2);
    }
    return padding;
  }
  if (attr.list() != nullptr && attr.list()->size() == 2 * n) {
    const std::vector<int64_t> both = attr.AsInts();
    const auto half = both.begin() + rank;
    return {{both.begin(), half}, {half, both.end()}};
  }
  if (attr.list() == nullptr && (attr.get<AttrWord>() || attr.get<std::string>())) {
    Fail("padding wants numbers, same or valid, found {}", attr.ToString());
  }
  const std::vector<int64_t> sides = PerAxis(attr, rank, "padding");
  return {sides, sides};
}

std::vector<int64_t> StrideOf(const Op& op, int rank, const std::vector<int64_t>& kernel) {
  const Attr& attr = op.attr("stride");
  return attr.empty() ? kernel : PerAxis(attr, rank, "stride");
}

}  // namespace

Triple TripleOf(const std::vector<int64_t>& values, int64_t fill) {
  Triple triple;
  triple.fill(fill);
  std::copy(values.begin(), values.end(),
            triple.end() - static_cast<std::ptrdiff_t>(values.size()));
  return triple;
}

Triple SpatialOf(const Shape& shape) {
  Triple triple{1, 1, 1};
  for (int i = 2; i < shape.rank(); ++i)
    triple[static_cast<size_t>(i + 3 - shape.rank())] = shape[i];
  return triple;
}

Words& operator<<(Words& words, const Triple& triple) {
  return words << triple[0] << triple[1] << triple[2];
}

std::vector<int64_t> PerAxis(const Attr& attr, int rank, const char* what) {
  if (attr.list() == nullptr) {
    return std::vector<int64_t>(static_cast<size_t>(rank), attr.AsInt());
  }
  std::vector<int64_t> values = attr.AsInts();
  if (static_cast<int>(values.size()) != rank) {
    Fail("{} wants one number, or {} for the {} spatial axes; found {}", what, rank, rank,
         attr.ToString());
  }
  return values;
}

Window WindowOf(const Op& op, int rank, const Triple& kernel) {
  const std::vector<int64_t> sizes(kernel.end() - rank, kernel.end());
  const std::vector<int64_t> stride = StrideOf(op, rank, sizes);
  const std::vector<int64_t> dilation = PerAxis(op.attr("dilation"), rank, "dilation");
  const Padding padding = PaddingOf(op.attr("padding"), rank, sizes, stride, dilation);
  return {kernel, TripleOf(stride, 1), TripleOf(padding.begin, 0), TripleOf(padding.end, 0),
          TripleOf(dilation, 1)};
}

bool CheckWindow(InferContext& c, int rank, const std::vector<Dim>& kernel) {
  std::vector<int64_t> sizes;
  const bool same = IsWord(c.op().attr("padding"), "same");
  for (const Dim& k : kernel) {
    if (same && !k.is_constant()) {
      return c.Fail("padding=same wants a filter of known size, found " + k.ToString());
    }
    sizes.push_back(k.is_constant() ? k.constant() : 1);
    if (sizes.back() < 1) return c.Fail("the window must have at least one element");
  }
  Window w;
  try {
    w = WindowOf(c.op(), rank, TripleOf(sizes, 1));
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  for (size_t i = 0; i < 3; ++i) {
    if (w.stride[i] < 1) return c.Fail("stride must be at least 1");
    if (w.dilation[i] < 1) return c.Fail("dilation must be at least 1");
    if (w.begin[i] < 0 || w.end[i] < 0) return c.Fail("padding must not be negative");
  }
  return true;
}

bool PlacesOf(InferContext& c, const std::vector<Dim>& in, const std::vector<Dim>& kernel,
              std::vector<Dim>* out, bool ceil_mode) {
  const int rank = static_cast<int>(in.size());
  std::vector<int64_t> sizes;
  for (const Dim& k : kernel) sizes.push_back(k.is_constant() ? k.constant() : 1);
  const Window w = WindowOf(c.op(), rank, TripleOf(sizes, 1));
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t a = i + 3 - in.size();
    const Dim padded = in[i] + w.begin[a] + w.end[a];
    const Dim extent = (kernel[i] - 1) * w.dilation[a] + 1;
    const Dim spare = padded - extent;
    if (spare.is_constant() && spare.constant() < 0) {
      return c.Fail(
          fmt::format("the window spans {} elements of spatial axis {}, which has {} "
                      "with its padding",
                      extent.ToString(), i, padded.ToString()));
    }
    if (!ceil_mode) {
      out->push_back(spare / w.stride[a] + 1);
      continue;
    }
    // A last window must still begin within the axis or the padding before it.
    if (!in[i].is_constant() && w.stride[a] != 1) {
      return c.Fail("ceil_mode wants spatial axes of known size, found " + in[i].ToString());
    }
    Dim places = (spare + (w.stride[a] - 1)) / w.stride[a] + 1;
    if (places.is_constant() && in[i].is_constant() &&
        (places.constant() - 1) * w.stride[a] >= in[i].constant() + w.begin[a]) {
      places = places - 1;
    }
    out->push_back(places);
  }
  return true;
}

std::vector<Dim> SpatialDims(const Type& type) {
  std::vector<Dim> dims;
  for (int i = 2; i < type.rank(); ++i) dims.push_back(type.dim(i));
  return dims;
}

OpBuilder& AddWindowAttrs(OpBuilder& op, bool defaults_to_kernel) {
  if (defaults_to_kernel) {
    op.OptionalAttr("stride", AttrKind::kAny,
                    "steps between windows, one number or one an axis; the window's size when left "
                    "out");
  } else {
    op.WithAttr("stride", AttrKind::kAny, 1, "steps between windows: one number, or one an axis");
  }
  return op
      .WithAttr("padding", AttrKind::kAny, 0,
                "what is added around each axis: one number, one an axis, or all beginnings and "
                "then all ends; or `same` (as many places as elements) or `valid` (none)")
      .WithAttr("dilation", AttrKind::kAny, 1,
                "steps between the elements of a window: one number, or one an axis");
}

std::vector<NamedAttr> WindowAttrs(const GradContext& c) {
  std::vector<NamedAttr> attrs;
  for (const char* name : {"stride", "padding", "dilation"}) {
    if (!c.attr(name).empty()) attrs.push_back({name, c.attr(name)});
  }
  return attrs;
}

}  // namespace catamaran
