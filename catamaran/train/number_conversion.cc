// train/number_conversion.cc

#include "catamaran/train/number_conversion.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Calls `f` with a value of the C++ type of a column's dtype.
template <class F>
auto WithColumnType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    default:
      Fail("a column is f32, i64 or u8, not {}", Name(dtype));
  }
}

// The same with an argument's.
template <class F>
auto WithArgumentType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f(double{});
    case DType::kF32:
      return f(float{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kBool:
      return f(bool{});
    default:
      Fail("no column feeds an argument of {}", Name(dtype));
  }
}

template <class From, class To>
bool Fits(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value == From(0) || value == From(1);
  } else if constexpr (std::is_floating_point_v<To>) {
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    // 2^24 is where f32 ends to hold all whole numbers.
    constexpr From kWhole = 16777216;
    const From lowest = std::is_signed_v<To> ? -kWhole : From(0);
    const From highest = sizeof(To) == 1 ? From(std::numeric_limits<To>::max()) : kWhole;
    return value >= lowest && value <= highest &&
           value == static_cast<From>(static_cast<To>(value));
  } else if constexpr (sizeof(To) < sizeof(From)) {
    return value >= From(std::numeric_limits<To>::lowest()) &&
           value <= From(std::numeric_limits<To>::max());
  } else {
    return true;  // i64 as u64: the same bits
  }
}

}  // namespace

bool CanConvert(DType from, DType to) {
  if (to == DType::kF16 || to == DType::kBF16 || to == DType::kI8) return false;
  return from == DType::kF32 || from == DType::kI64 || from == DType::kU8;
}

bool SameBits(DType from, DType to) {
  return from == to || (from == DType::kI64 && to == DType::kU64);
}

int64_t ConvertNumbers(DType from, const void* source, DType to, void* target, int64_t count) {
  if (SameBits(from, to)) {
    if (count > 0) std::memcpy(target, source, static_cast<size_t>(count) * SizeOf(to));
    return -1;
  }
  return WithColumnType(from, [&]<class From>(From) {
    return WithArgumentType(to, [&]<class To>(To) -> int64_t {
      const From* in = static_cast<const From*>(source);
      To* out = static_cast<To*>(target);
      bool all = true;
      for (int64_t i = 0; i < count; ++i) all &= Fits<From, To>(in[i]);
      if (!all) {
        for (int64_t i = 0; i < count; ++i) {
          if (!Fits<From, To>(in[i])) return i;
        }
      }
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
      return -1;
    });
  });
}

std::string NumberText(DType dtype, const void* source, int64_t index) {
  return WithColumnType(dtype, [&]<class T>(T) {
    const T value = static_cast<const T*>(source)[index];
    if constexpr (std::is_same_v<T, float>) {
      return fmt::format("{}", value);
    } else {
      return fmt::format("{}", static_cast<int64_t>(value));
    }
  });
}

}  // namespace catamaran
