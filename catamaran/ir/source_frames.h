// ir/source_frames.h
//
// The frames of a location's chain that flattening, inlining and differentiation make: how they are
// worded, and how tools recognise them again, also in a program that was stored.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catamaran/ir/location.h"

namespace catamaran {

std::string InstanceFrame(std::string_view path, std::string_view builder);  // "in fc = linear(…)"
std::string CallFrame(std::string_view function);                            // "called as loss"
std::string GradientFrame(std::string_view function);  // "in the gradient of loss"

enum class FrameKind : uint8_t { kOther, kInstance, kCall, kGradient };

struct FrameName {
  FrameKind kind = FrameKind::kOther;
  std::string name;  // the path of the instance, or the function
};
FrameName NameOf(const SourceFrame& frame);

// What an op belongs to, as its location says.
struct OpOwner {
  std::string layer;      // the innermost instance or function that made it; empty: the body itself
  bool backward = false;  // it computes a gradient
};
OpOwner OwnerOf(const SourceTable& sources, const Location& at);

}  // namespace catamaran
