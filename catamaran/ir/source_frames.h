// ir/source_frames.h
//
// The frames of a location's chain that flattening, inlining and differentiation make: how they are
// worded, and how tools recognise them again, also in a program that was stored.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

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

// Puts a frame behind others: at the end of the way from an op to the user's text.
class FrameAppender {
 public:
  FrameAppender(SourceTable& sources, uint32_t last)
      : sources_(sources), last_(last), behind_{{last, last}} {}

  // The chain that begins with `frame`, with the frame at its end, once.
  uint32_t Behind(uint32_t frame);
  Location Behind(Location at) {
    at.frame = Behind(at.frame);
    return at;
  }

 private:
  SourceTable& sources_;
  const uint32_t last_;
  std::unordered_map<uint32_t, uint32_t> behind_;  // chains that were made, and what of
};

// What an op belongs to, as its location says.
struct OpOwner {
  std::string layer;      // the innermost instance or function that made it; empty: the body itself
  bool backward = false;  // it computes a gradient
};
OpOwner OwnerOf(const SourceTable& sources, const Location& at);

}  // namespace catamaran
