// tensor/tensor_text.cc
//
// Tensors as text for people: error messages, tests, the command line.

#include <fmt/format.h>

#include <ostream>

#include "catamaran/tensor/tensor.h"

namespace catamaran {

namespace {

constexpr int64_t kShortenAbove = 1000;  // elements
constexpr int64_t kKept = 3;             // at each end of a shortened axis

template <class T>
void AppendElement(std::string& out, T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<float>(value));
  } else if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<int>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

// Appends the part of the tensor that begins at `data` and spans the axes from `axis` on.
template <class T>
void AppendAxis(std::string& out, const T* data, const Shape& shape, int axis, bool shorten) {
  if (axis == shape.rank()) return AppendElement(out, *data);
  int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
  const int64_t count = shape[axis];
  const bool innermost = axis == shape.rank() - 1;
  const std::string separator =
      innermost ? ", " : ",\n" + std::string(static_cast<size_t>(axis) + 1, ' ');
  out += '[';
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) out += separator;
    if (shorten && i == kKept && count > 2 * kKept) {
      out += "..." + separator;
      i = count - kKept;
    }
    AppendAxis(out, data + i * stride, shape, axis + 1, shorten);
  }
  out += ']';
}

}  // namespace

std::string Tensor::ToString() const {
  std::string out = fmt::format("{}{} ", Name(dtype_), shape_.ToString());
  const int64_t count = num_elements();
  if (count == 0) return out + "[]";
  DispatchAll(dtype_, [&]<class T>(T) {
    AppendAxis(out, data<T>().data(), shape_, 0, count > kShortenAbove);
  });
  return out;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.ToString();
}

}  // namespace catamaran
