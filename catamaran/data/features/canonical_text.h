// data/features/canonical_text.h
//
// Values as the texts that are hashed, counted and looked up, so that a column that is a number in
// one file and text in another gives the same ids. The texts are frozen: stored ids depend on them.
//
//   an integer          its digits: -17
//   a whole number      the same, also where it was an f32: 5, never 5.0
//   another number      the shortest decimal that is read back as the same f32, where it is one,
//                       else as the same f64: 0.1, 1e-07
//   NaN                 no text: missing

#pragma once

#include <charconv>
#include <cmath>
#include <string_view>

#include "catamaran/data/features/feature_value.h"

namespace catamaran {

inline constexpr size_t kCanonicalBytes = 40;

inline std::string_view CanonicalText(int64_t value, char (&room)[kCanonicalBytes]) {
  const auto end = std::to_chars(room, room + kCanonicalBytes, value).ptr;
  return {room, static_cast<size_t>(end - room)};
}

inline std::string_view CanonicalText(double value, char (&room)[kCanonicalBytes]) {
  if (std::isnan(value)) return {};
  if (value == std::floor(value) && std::fabs(value) < 0x1p63) {
    return CanonicalText(static_cast<int64_t>(value), room);
  }
  const auto narrow = static_cast<float>(value);
  const auto end = static_cast<double>(narrow) == value
                       ? std::to_chars(room, room + kCanonicalBytes, narrow).ptr
                       : std::to_chars(room, room + kCanonicalBytes, value).ptr;
  return {room, static_cast<size_t>(end - room)};
}

// Calls f(text) for each element of `values` in order: of all rows, lists one after another.
template <class F>
void ForEachText(const ValueType& type, const FeatureValues& values, F f) {
  char room[kCanonicalBytes];
  switch (type.kind) {
    case ValueKind::kNumber:
      for (const double value : values.numbers) f(CanonicalText(value, room));
      break;
    case ValueKind::kInteger:
    case ValueKind::kIds:
    case ValueKind::kWeightedIds:
      for (const int64_t value : values.ints) f(CanonicalText(value, room));
      break;
    case ValueKind::kText:
    case ValueKind::kTexts:
      for (const std::string_view value : values.texts) f(value);
      break;
  }
}

}  // namespace catamaran
