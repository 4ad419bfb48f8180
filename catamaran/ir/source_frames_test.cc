#include "catamaran/ir/source_frames.h"

#include <gtest/gtest.h>

namespace catamaran {
namespace {

TEST(SourceFrames, AreRecognisedByTheirText) {
  const auto name = [](std::string what) { return NameOf({std::move(what), {}}); };
  EXPECT_EQ(name(InstanceFrame("net.fc1", "linear")).kind, FrameKind::kInstance);
  EXPECT_EQ(name(InstanceFrame("net.fc1", "linear")).name, "net.fc1");
  EXPECT_EQ(name(CallFrame("loss")).kind, FrameKind::kCall);
  EXPECT_EQ(name(CallFrame("loss")).name, "loss");
  EXPECT_EQ(name(GradientFrame("loss")).kind, FrameKind::kGradient);
  EXPECT_EQ(name(GradientFrame("loss")).name, "loss");
  EXPECT_EQ(name("imported as net").kind, FrameKind::kOther);
}

TEST(SourceFrames, TheInnermostNameOwnsAnOp) {
  SourceTable sources;
  const uint32_t train = sources.AddFrame(InstanceFrame("train", "adam"), {1, 9, 1, 0});
  const uint32_t gradient = sources.AddFrame(GradientFrame("loss"), {1, 9, 1, train});
  const uint32_t call = sources.AddFrame(CallFrame("net"), {1, 5, 1, gradient});
  const uint32_t layer = sources.AddFrame(InstanceFrame("net.fc1", "linear"), {1, 3, 1, call});
  const OpOwner owner = OwnerOf(sources, {1, 3, 1, layer});
  EXPECT_EQ(owner.layer, "net.fc1");
  EXPECT_TRUE(owner.backward);
  EXPECT_EQ(OwnerOf(sources, {1, 9, 1, train}).layer, "train");
  EXPECT_FALSE(OwnerOf(sources, {1, 9, 1, train}).backward);
  EXPECT_EQ(OwnerOf(sources, {1, 2, 1, 0}).layer, "");
}

}  // namespace
}  // namespace catamaran
