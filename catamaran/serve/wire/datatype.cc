#include "catamaran/serve/wire/datatype.h"

#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::kF32, "FP32"}, {DType::kI64, "INT64"}, {DType::kU64, "UINT64"}, {DType::kI32, "INT32"},
    {DType::kF64, "FP64"}, {DType::kF16, "FP16"},  {DType::kBF16, "BF16"},  {DType::kI8, "INT8"},
    {DType::kU8, "UINT8"}, {DType::kBool, "BOOL"},
};

}  // namespace

std::string_view DatatypeName(DType dtype) {
  for (const auto& [of, name] : kNames) {
    if (of == dtype) return name;
  }
  return "";
}

DType ParseDatatype(std::string_view name, std::string_view input) {
  for (const auto& [dtype, known] : kNames) {
    if (known == name) return dtype;
  }
  Fail(
      "input '{}': datatype '{}' is none that models take here: BOOL, INT8, UINT8, INT32, INT64, "
      "UINT64, FP16, BF16, FP32, FP64 and BYTES are",
      input, name.substr(0, 40));
}

}  // namespace catamaran
