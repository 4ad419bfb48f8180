// tensor/dtype.cc

#include "catamaran/tensor/dtype.h"

#include <ostream>
#include <string>

#include "catamaran/base/error.h"

namespace catamaran {

std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU64:
      return "u64";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (Name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << Name(dtype); }

namespace dtype_internal {

void FailUnsupported(std::string_view what, DType found, std::span<const DType> wanted) {
  std::string list;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0) list += i + 1 == wanted.size() ? " or " : ", ";
    list += Name(wanted[i]);
  }
  Fail("{}: dtype {} is not supported here; wanted {}", what, Name(found), list);
}

}  // namespace dtype_internal

}  // namespace catamaran
