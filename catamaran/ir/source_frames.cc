#include "catamaran/ir/source_frames.h"

#include <fmt/format.h>

namespace catamaran {
namespace {

constexpr std::string_view kIn = "in ", kIs = " = ", kCalled = "called as ";
constexpr std::string_view kGradient = "in the gradient of ";

}  // namespace

std::string InstanceFrame(std::string_view path, std::string_view builder) {
  return fmt::format("{}{}{}{}(…)", kIn, path, kIs, builder);
}

std::string CallFrame(std::string_view function) { return fmt::format("{}{}", kCalled, function); }

std::string GradientFrame(std::string_view function) {
  return fmt::format("{}{}", kGradient, function);
}

FrameName NameOf(const SourceFrame& frame) {
  const std::string_view what = frame.what;
  if (what.starts_with(kCalled)) {
    return {FrameKind::kCall, std::string(what.substr(kCalled.size()))};
  }
  if (what.starts_with(kGradient)) {
    return {FrameKind::kGradient, std::string(what.substr(kGradient.size()))};
  }
  const size_t is = what.find(kIs);
  if (what.starts_with(kIn) && is != what.npos) {
    return {FrameKind::kInstance, std::string(what.substr(kIn.size(), is - kIn.size()))};
  }
  return {};
}

uint32_t FrameAppender::Behind(uint32_t frame) {
  if (frame == 0) return last_;
  if (const auto found = behind_.find(frame); found != behind_.end()) return found->second;
  SourceFrame copy = sources_.frame(frame);
  copy.at.frame = Behind(copy.at.frame);
  const uint32_t made = sources_.AddFrame(std::move(copy.what), copy.at);
  behind_[frame] = made;
  behind_[made] = made;
  return made;
}

OpOwner OwnerOf(const SourceTable& sources, const Location& at) {
  OpOwner owner;
  for (uint32_t index = at.frame; index != 0;) {
    const SourceFrame frame = sources.frame(index);
    FrameName name = NameOf(frame);
    owner.backward = owner.backward || name.kind == FrameKind::kGradient;
    // What comes after the first name is the way to it.
    if (owner.layer.empty()) owner.layer = std::move(name.name);
    index = frame.at.frame;
  }
  return owner;
}

}  // namespace catamaran
