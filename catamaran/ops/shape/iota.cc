// ops/shape/iota.cc
//
// iota(size, start, step): start, start + step, …; linspace(start, stop, size): equal steps from
// the one to the other.

#include <fmt/format.h>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// Integers are counted as such, floats in double.
struct IotaSizes {
  int64_t count;
  int64_t start, step;
  double float_start, float_step;
  int64_t is_float;
};

template <class T>
void Iota(T* y, const IotaSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    y[i] = s.is_float != 0 ? static_cast<T>(s.float_start + static_cast<double>(i) * s.float_step)
                           : static_cast<T>(s.start + i * s.step);
  }
}

struct LinspaceSizes {
  int64_t count;
  double start, stop;
};

// The last element is exactly the stop.
template <class T>
void Linspace(T* y, const LinspaceSizes& s) {
  const double step = s.count > 1 ? (s.stop - s.start) / static_cast<double>(s.count - 1) : 0.0;
  for (int64_t i = 0; i < s.count; ++i) {
    y[i] = static_cast<T>(i > 0 && i == s.count - 1 ? s.stop
                                                    : s.start + static_cast<double>(i) * step);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

// The type of a vector whose length is the attribute `size`.
bool VectorType(InferContext& c, Type* type) {
  const Dim& size = c.op().attr("size").AsDim();
  if (size.is_constant() && size.constant() < 0) {
    return c.Fail(fmt::format("the size is {}", size.constant()));
  }
  *type = Type::Tensor(c.op().attr("dtype").AsDType(), {size});
  return true;
}

bool IsWhole(const Attr& number) {
  const double value = number.AsDouble();
  return value == std::floor(value);
}

int64_t WholeOf(const Attr& number) {
  return number.get<Dim>() ? number.AsInt() : static_cast<int64_t>(number.AsDouble());
}

void InferIota(InferContext& c) {
  Type type;
  if (!VectorType(c, &type)) return;
  if (type.dtype() == DType::kBool) return (void)c.Fail("counts numbers, not bool");
  if (!IsFloat(type.dtype()) && !(IsWhole(c.op().attr("start")) && IsWhole(c.op().attr("step")))) {
    return (void)c.Fail(fmt::format("start and step of {} are whole numbers, found {} and {}",
                                    Name(type.dtype()), c.op().attr("start").ToString(),
                                    c.op().attr("step").ToString()));
  }
  c.SetResult(type);
}

}  // namespace

void DefineIota(OpSet& ops) {
  ops.Define("iota")
      .Group("shape")
      .Doc("The vector start, start + step, start + 2 step, …")
      .Formula("y[i] = start + i * step")
      .RequiredAttr("size", AttrKind::kInt, "how many")
      .WithAttr("start", AttrKind::kAny, 0, "the first number")
      .WithAttr("step", AttrKind::kAny, 1, "from one to the next")
      .WithAttr("dtype", AttrKind::kDType, DType::kI64, "of the result; not bool")
      .Infer(InferIota)
      .Sizes("IotaSizes",
             [](const KernelQuery& q, Words& words) {
               const Attr &start = q.op->attr("start"), &step = q.op->attr("step");
               const bool is_float = IsFloat(q.op->attr("dtype").AsDType());
               words << q.out[0]->size() << (is_float ? 0 : WholeOf(start))
                     << (is_float ? 0 : WholeOf(step)) << start.AsDouble() << step.AsDouble()
                     << is_float;
             })
      .StopsGrad()
      .Reference("Iota",
                 [](KernelContext& c) {
                   reference::IotaSizes s = c.sizes<reference::IotaSizes>();
                   s.count = c.out().size();
                   DispatchNumber(c.out().tensor.dtype,
                                  [&]<class T>(T) { reference::Iota(c.out().data<T>(), s); });
                   return KernelStatus::kDone;
                 })
      .AddSample({.attrs = {{"size", 4}}})
      .AddSample({.attrs = {{"size", 5}, {"start", 10}, {"step", -3}, {"dtype", DType::kI32}}})
      .AddSample({.attrs = {{"size", 5}, {"start", 0.5}, {"step", 0.25}, {"dtype", DType::kF32}}})
      .AddSample({.attrs = {{"size", 3}, {"start", -1.0}, {"dtype", DType::kF64}}})
      .AddSample({.attrs = {{"size", 3}, {"step", 2}, {"dtype", DType::kF16}}})
      .AddSample({.attrs = {{"size", 0}}});
}

void DefineLinspace(OpSet& ops) {
  ops.Define("linspace")
      .Group("shape")
      .Doc(
          "`size` numbers from start to stop, both included, in equal steps; one alone is the "
          "start.")
      .Formula("y[i] = start + i (stop - start) / (size - 1)")
      .RequiredAttr("start", AttrKind::kFloat, "the first number")
      .RequiredAttr("stop", AttrKind::kFloat, "the last number")
      .RequiredAttr("size", AttrKind::kInt, "how many")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the result; a float")
      .Infer([](InferContext& c) {
        Type type;
        if (!VectorType(c, &type)) return;
        if (!IsFloat(type.dtype())) {
          return (void)c.Fail(fmt::format("makes floats, not {}", Name(type.dtype())));
        }
        c.SetResult(type);
      })
      .Sizes("LinspaceSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.out[0]->size() << q.op->attr("start").AsDouble()
                     << q.op->attr("stop").AsDouble();
             })
      .StopsGrad()
      .Reference("Linspace",
                 [](KernelContext& c) {
                   reference::LinspaceSizes s = c.sizes<reference::LinspaceSizes>();
                   s.count = c.out().size();
                   DispatchFloat(c.out().tensor.dtype,
                                 [&]<class T>(T) { reference::Linspace(c.out().data<T>(), s); });
                   return KernelStatus::kDone;
                 })
      .AddSample({.attrs = {{"start", 0.0}, {"stop", 1.0}, {"size", 5}}})
      .AddSample({.attrs = {{"start", 3.0}, {"stop", -1.0}, {"size", 4}, {"dtype", DType::kF64}}})
      .AddSample({.attrs = {{"start", 2.0}, {"stop", 7.0}, {"size", 1}}})
      .AddSample({.attrs = {{"start", 2.0}, {"stop", 7.0}, {"size", 0}}});
}

}  // namespace catamaran
