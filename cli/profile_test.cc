#include "cli/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "catamaran/base/memory_sampler.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "cli/made_up_values.h"

namespace catamaran::cli {
namespace {

constexpr const char* kProgram = R"(program p
net = mlp([8, 16, 5])
fn loss(x: f32[B, 8], label: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(x), label))
}
train = adam(grad(loss), lr=0.001)
fn bags(ids: u64[B, *T], weight: f32[B, *T]) -> f32[B, *T] {
  return weight * 2
}
)";

Program Flat() {
  const auto builders = StandardBuilders();
  return Flatten(Parse(kProgram, "p.ctm", StandardOps(), *builders), *builders);
}

std::vector<FedValue> MadeUp(const Executable& executable, MadeUpOptions& options) {
  std::vector<FedValue> values(executable.num_inputs());
  MakeUpValues(executable, options, std::vector<bool>(values.size(), false), values);
  return values;
}

// What a viewer needs of every event, and that spans of a thread lie beside or inside each other.
void CheckEvents(const nlohmann::json& file, std::set<std::string>& spans,
                 std::set<std::string>& numbers) {
  std::map<int, std::vector<double>> open;  // by thread: the ends of the spans around
  std::map<int, double> before;
  for (const nlohmann::json& event : file.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    const int thread = event.at("tid").get<int>();
    ASSERT_EQ(event.at("pid").get<int>(), 1);
    ASSERT_TRUE(event.at("name").is_string());
    if (phase == "M") continue;
    const double begin = event.at("ts").get<double>();
    ASSERT_GE(begin, before[thread]) << event;
    before[thread] = begin;
    if (phase == "C") {
      numbers.insert(event.at("name"));
      ASSERT_GE(event.at("args").at("value").get<double>(), 0);
      continue;
    }
    ASSERT_EQ(phase, "X");
    spans.insert(event.at("name"));
    const double end = begin + event.at("dur").get<double>();
    std::vector<double>& around = open[thread];
    constexpr double kRounding = 1e-6;
    while (!around.empty() && around.back() <= begin + kRounding) around.pop_back();
    if (!around.empty()) {
      ASSERT_LE(end, around.back() + kRounding) << event;
    }
    around.push_back(end);
  }
}

TEST(Timeline, LoadsAndItsSpansAreNested) {
  const Program flat = Flat();
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto train = Compile(flat, "train", {.threads = 2, .schedule = schedule});
    MadeUpOptions options;
    const std::vector<FedValue> values = MadeUp(*train, options);
    std::vector<FeedValue> feeds;
    for (const FedValue& value : values) feeds.push_back(FeedOf(value));
    const auto state = State::Create(flat, 1);
    Trace trace;
    {
      const MemorySampler memory(trace, std::chrono::milliseconds(1));
      Profile profile({.every = 1, .trace = &trace});
      RunOptions run;
      run.profile = &profile;
      for (int i = 0; i < 50; ++i) {
        const ProfilePhase phase(&profile, "step");
        ASSERT_TRUE(train->Run(*state, feeds, run).committed);
      }
    }
    std::string text;
    trace.WriteJson([&](std::string_view part) { text += part; });
    std::set<std::string> spans, numbers;
    CheckEvents(nlohmann::json::parse(text), spans, numbers);
    EXPECT_TRUE(spans.contains("step"));
    EXPECT_TRUE(spans.contains("train"));
    EXPECT_TRUE(spans.contains("publish"));
    EXPECT_GT(spans.size(), 10u);
    EXPECT_TRUE(numbers.contains("memory (MB)"));
  }
}

TEST(MadeUpValues, LabelsAreClassesThatThereAre) {
  const Program flat = Flat();
  const auto loss = Compile(flat, "loss");
  MadeUpOptions options;
  options.dims["B"] = 200;
  const std::vector<FedValue> values = MadeUp(*loss, options);
  std::set<int64_t> labels;
  for (const int64_t label : values[1].values.data<int64_t>()) labels.insert(label);
  EXPECT_EQ(labels, (std::set<int64_t>{0, 1, 2, 3, 4}));
}

TEST(MadeUpValues, ArgumentsWithOneRaggedDimensionHaveTheSameOffsets) {
  const Program flat = Flat();
  const auto bags = Compile(flat, "bags");
  MadeUpOptions options;
  options.dims["B"] = 100;
  const std::vector<FedValue> values = MadeUp(*bags, options);
  EXPECT_TRUE(values[0].offsets.Equals(values[1].offsets));
  EXPECT_EQ(values[0].values.num_elements(), values[1].values.num_elements());
  EXPECT_NEAR(static_cast<double>(values[0].values.num_elements()) / 100, 8, 2);
  EXPECT_EQ(options.dims["T"], 8);
  const auto state = State::Create(flat, 1);
  const FeedValue feeds[] = {FeedOf(values[0]), FeedOf(values[1])};
  EXPECT_EQ(bags->Run(*state, feeds).outputs[0].num_elements(), values[1].values.num_elements());
}

TEST(MadeUpValues, SizesFollowArgumentsThatAreGiven) {
  const Program flat = Flat();
  const auto loss = Compile(flat, "loss");
  std::vector<FedValue> values(2);
  values[0].values = Tensor::Zeros(DType::kF32, {7, 8});
  MadeUpOptions options;
  MakeUpValues(*loss, options, {true, false}, values);
  EXPECT_EQ(values[1].values.num_elements(), 7);
  EXPECT_TRUE(options.dims.empty());
}

}  // namespace
}  // namespace catamaran::cli
