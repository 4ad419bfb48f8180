#include "catamaran/exec/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;

// Every value equals the number of the step.
constexpr std::string_view kCounting = R"(program p
param @a : f32[64] = 0
param @b : f32[1000] = 0
var @c : f32[] = 0
var @frozen : f32[8] = 5
param @slot : f32[64] = 0 { slot = true }
fn train(one: f32[]) {
  a = @a + one
  b = @b + one
  c = @c + one
  s = @slot + one
  commit {
    write(@a, a)
    write(@b, b)
    write(@c, c)
    write(@slot, s)
  }
  return c
}
fn look() { return @a, @b, @c, @frozen }
fn look_at_slot() { return @slot }
)";

TEST(Versions, EightReadersSeeOneVersionOfEverythingWhileOneTrains) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto look = Compile(flat, "look");
  std::atomic<bool> stop = false;
  std::atomic<int64_t> mixed = 0, backwards = 0, reads = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      std::vector<float> a(64), b(1000), frozen(8);
      float c = 0;
      FetchBuffer fetches[] = {
          {a.data(), 256, {}}, {b.data(), 4000, {}}, {&c, 4, {}}, {frozen.data(), 32, {}}};
      int64_t last = 0;
      while (!stop) {
        const RunStatus status = look->Run(*state, std::span<const FeedValue>(), fetches);
        const auto step = static_cast<float>(status.step);
        bool same = c == step && frozen[3] == 5;
        for (const float x : a) same = same && x == step;
        for (const float x : b) same = same && x == step;
        mixed += !same;
        backwards += status.step < last;
        last = status.step;
        ++reads;
      }
    });
  }
  const Tensor one = F32({}, {1});
  const FeedValue feeds[] = {one};
  constexpr int kSteps = 2000;
  while (reads < 8) std::this_thread::yield();
  for (int i = 0; i < kSteps; ++i) train->Run(*state, feeds, std::span<FetchBuffer>());
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(backwards, 0);
  EXPECT_EQ(state->step(), kSteps);
  EXPECT_EQ(state->publications() + state->skipped_publications(), kSteps + 1u);
  state->Publish();
  EXPECT_EQ(look->Run(*state).outputs[2].item<float>(), kSteps);
}

TEST(Versions, AStateWithoutReadersIsNeverCopied) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  for (int i = 0; i < 10; ++i) train->Run(*state, {{"one", F32({}, {1})}});
  EXPECT_EQ(state->publications(), 0u);
  EXPECT_EQ(state->bytes_copied(), 0u);
  EXPECT_EQ(Compile(flat, "look")->Run(*state).outputs[2].item<float>(), 10);
  EXPECT_EQ(state->publications(), 1u);
}

TEST(Versions, OnlyWhatChangedIsCopiedAndSlotsNeverAre) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  state->Pin();
  const uint64_t first = state->bytes_copied();
  EXPECT_EQ(first, 4u * (64 + 1000 + 1 + 8));
  train->Run(*state, {{"one", F32({}, {1})}});
  EXPECT_EQ(state->bytes_copied() - first, 4u * (64 + 1000 + 1));
}

TEST(Versions, AtTheCapThePublicationIsSkippedAndCounted) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1, {.max_versions = 3});
  const auto train = Compile(flat, "train");
  const auto step = [&] { train->Run(*state, {{"one", F32({}, {1})}}); };
  auto v0 = state->Pin();
  step();
  auto v1 = state->Pin();
  step();
  auto v2 = state->Pin();
  EXPECT_EQ(state->skipped_publications(), 0u);
  step();
  EXPECT_EQ(state->skipped_publications(), 1u);
  EXPECT_EQ(v0->step(), 0);
  EXPECT_EQ(v1->step(), 1);
  EXPECT_EQ(v2->step(), 2);
  EXPECT_EQ(*reinterpret_cast<const float*>(v0->data(0)), 0);
  EXPECT_EQ(*reinterpret_cast<const float*>(v1->data(0)), 1);
  v1.Release();
  step();
  EXPECT_EQ(state->skipped_publications(), 1u);
  const auto v4 = state->Pin();
  EXPECT_EQ(v4->step(), 4);
  EXPECT_EQ(*reinterpret_cast<const float*>(v4->data(1)), 4);
  EXPECT_EQ(*reinterpret_cast<const float*>(v0->data(1)), 0);
}

TEST(Versions, ThePolicySaysHowOftenAStepIsPublished) {
  const Program flat = FlatProgram(kCounting);
  ManualClock clock;
  const auto every_three = State::Create(flat, 1, {.publish = {.every_steps = 3}});
  const auto every_second =
      State::Create(flat, 1, {.publish = {.every_nanoseconds = 1'000'000'000}, .clock = &clock});
  const auto train = Compile(flat, "train");
  every_three->Pin();
  every_second->Pin();
  for (int i = 1; i <= 7; ++i) {
    train->Run(*every_three, {{"one", F32({}, {1})}});
    EXPECT_EQ(every_three->Pin()->step(), i / 3 * 3);
  }
  for (int i = 1; i <= 7; ++i) {
    clock.Advance(400'000'000);
    train->Run(*every_second, {{"one", F32({}, {1})}});
    EXPECT_EQ(every_second->Pin()->step(), i / 3 * 3);
  }
}

TEST(Versions, AFunctionThatReadsASlotReadsTheHead) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1, {.publish = {.every_steps = 100}});
  const auto train = Compile(flat, "train");
  const auto look = Compile(flat, "look_at_slot");
  EXPECT_EQ(look->Run(*state).outputs[0].data<float>()[0], 0);
  train->Run(*state, {{"one", F32({}, {1})}});
  EXPECT_EQ(look->Run(*state).outputs[0].data<float>()[0], 1);
}

}  // namespace
}  // namespace catamaran
