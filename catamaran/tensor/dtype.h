// tensor/dtype.h
//
// The element types of tensors: the run-time tag DType, the C++ type behind each tag, and the
// way from one to the other. Every dtype has a fixed size and one name, the same in program
// text, C++, bindings and documentation.
//
// The numbers of the tags are stored in files: new ones go to the end, none is ever reused.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "catamaran/tensor/half.h"

namespace catamaran {

enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kI8, kU8, kI32, kI64, kU64, kBool };

inline constexpr DType kAllDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                       DType::kI8,  DType::kU8,  DType::kI32, DType::kI64,
                                       DType::kU64, DType::kBool};

// Bytes of one element; 0 for a value that is no DType.
constexpr size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

// "f64", "f32", "f16", "bf16", "i8", "u8", "i32", "i64", "u64", "bool".
std::string_view Name(DType dtype);

// The inverse of Name; nothing for any other text.
std::optional<DType> ParseDType(std::string_view name);

constexpr bool IsFloat(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

// The two that are for storage: arithmetic on them is done in f32.
constexpr bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Bool is neither a float nor an integer.
constexpr bool IsInteger(DType dtype) { return !IsFloat(dtype) && dtype != DType::kBool; }

constexpr bool IsSigned(DType dtype) {
  return dtype != DType::kU8 && dtype != DType::kU64 && dtype != DType::kBool;
}

// Prints the name; GoogleTest uses it.
std::ostream& operator<<(std::ostream& out, DType dtype);

namespace dtype_internal {

template <class T>
struct TagOf;
template <DType dtype>
struct TypeOf;

template <class T, DType tag>
struct Pair {
  static constexpr DType kTag = tag;
  using Type = T;
  static_assert(sizeof(T) == SizeOf(tag));
};

#define CATAMARAN_DTYPE(T, tag)             \
  template <>                               \
  struct TagOf<T> : Pair<T, DType::tag> {}; \
  template <>                               \
  struct TypeOf<DType::tag> : Pair<T, DType::tag> {}
CATAMARAN_DTYPE(double, kF64);
CATAMARAN_DTYPE(float, kF32);
CATAMARAN_DTYPE(F16, kF16);
CATAMARAN_DTYPE(BF16, kBF16);
CATAMARAN_DTYPE(int8_t, kI8);
CATAMARAN_DTYPE(uint8_t, kU8);
CATAMARAN_DTYPE(int32_t, kI32);
CATAMARAN_DTYPE(int64_t, kI64);
CATAMARAN_DTYPE(uint64_t, kU64);
CATAMARAN_DTYPE(bool, kBool);
#undef CATAMARAN_DTYPE

// Throws "<what>: dtype i32 is not supported here; wanted f32 or f64".
[[noreturn]] void FailUnsupported(std::string_view what, DType found,
                                  std::span<const DType> wanted);

template <class Result, class F>
Result Among(DType dtype, F&, std::string_view what, std::span<const DType> wanted) {
  FailUnsupported(what, dtype, wanted);
}

template <class Result, class T, class... Rest, class F>
Result Among(DType dtype, F& f, std::string_view what, std::span<const DType> wanted) {
  if (dtype == TagOf<T>::kTag) return f(T{});
  return Among<Result, Rest...>(dtype, f, what, wanted);
}

}  // namespace dtype_internal

// The tag of a C++ type (DTypeOf<float> == DType::kF32) and the C++ type of a tag. Other types
// do not compile.
template <class T>
inline constexpr DType DTypeOf = dtype_internal::TagOf<T>::kTag;
template <DType dtype>
using TypeOf = typename dtype_internal::TypeOf<dtype>::Type;

// Dispatch: calls `f` with a zero of the C++ type that `dtype` names, and returns what it
// returns (the same type for all of them):
//
//   DispatchFloating(x.dtype(), [&]<class T>(T) { Softmax(x.data<T>().data(), ...); }, "softmax");
//
// A dtype that is not on the list is an Error that begins with `what` and names both sides.
template <class First, class... Rest, class F>
decltype(auto) DispatchAmong(DType dtype, F&& f, std::string_view what) {
  static constexpr DType kWanted[] = {DTypeOf<First>, DTypeOf<Rest>...};
  using Result = decltype(f(First{}));
  return dtype_internal::Among<Result, First, Rest...>(dtype, f, what, kWanted);
}

// Every dtype.
template <class F>
decltype(auto) DispatchAll(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<double, float, F16, BF16, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      dtype, std::forward<F>(f), what);
}

// Every dtype but bool.
template <class F>
decltype(auto) DispatchNumber(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<double, float, F16, BF16, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      dtype, std::forward<F>(f), what);
}

// f64, f32, f16, bf16.
template <class F>
decltype(auto) DispatchFloat(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<double, float, F16, BF16>(dtype, std::forward<F>(f), what);
}

// f64, f32: what arithmetic is done in.
template <class F>
decltype(auto) DispatchFloating(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<double, float>(dtype, std::forward<F>(f), what);
}

// i8, u8, i32, i64, u64.
template <class F>
decltype(auto) DispatchInteger(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<int8_t, uint8_t, int32_t, int64_t, uint64_t>(dtype, std::forward<F>(f),
                                                                    what);
}

// i32, i64, u64: what may index.
template <class F>
decltype(auto) DispatchIndex(DType dtype, F&& f, std::string_view what = "dispatch") {
  return DispatchAmong<int32_t, int64_t, uint64_t>(dtype, std::forward<F>(f), what);
}

}  // namespace catamaran
