// train/number_conversion.h
//
// Numbers of columns as numbers of arguments: exact, or refused.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catamaran/tensor/dtype.h"

namespace catamaran {

// Whether a column of numbers of type `from` (f32, i64 or u8) can feed an argument of type `to` at
// all; single values may still not fit.
bool CanConvert(DType from, DType to);

// Whether the bytes are the same.
bool SameBits(DType from, DType to);

// Converts `count` numbers. Returns the index of the first that does not fit, or -1.
// REQUIRES: CanConvert(from, to).
int64_t ConvertNumbers(DType from, const void* source, DType to, void* target, int64_t count);

// The number at `index`, as text for errors.
std::string NumberText(DType dtype, const void* source, int64_t index);

}  // namespace catamaran
