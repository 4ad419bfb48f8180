// What goes wrong with a step and is not its examples' fault: nothing is learned by half, nothing
// is refused that could be learned, answers go on, and a restart learns what is left, to the same
// bits.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "catamaran/base/failing_memory_test_util.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/replay.h"

namespace catamaran {
namespace {

using testing::CommitNow;
using testing::ExampleOf;
using ::testing::HasSubstr;
using testing::TrainNow;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

// Two tables and dense parameters; test_fault passes its operand on, and is where a step goes
// wrong.
constexpr const char* kProgram = R"(program shop
table @taste : u64 -> f32[4] = normal(std=0.1) {
  optimizer  = adagrad(lr=0.1)
  admit      = count(2)
  unadmitted = shared
}
table @price : u64 -> f32[1] = 0.1 {
  optimizer = sgd(lr=0.1)
}
fc = linear(7, 1)
fn infer(user: u64[B], item: u64[B], x: f32[B, 2]) -> (p: f32[B]) {
  e = lookup(@taste, user) * lookup(@taste, item)
  return sigmoid(reshape(fc(concat(e, lookup(@price, item), x, axis=1)), [B]))
}
fn loss(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(infer(user, item, x), test_fault(label)))
}
train = adam(clip(grad(loss), norm=1.0), lr=0.02)
)";

// What test_fault does when it runs next: throws an Error of this code, so many times; or lets the
// n-th request for memory from there on fail.
struct Fault {
  std::atomic<int> errors = 0;
  std::atomic<ErrorCode> code = ErrorCode::kUnavailable;
  std::atomic<int64_t> memory_at = FailingMemory::kNever;
};
Fault fault;

KernelStatus RunFault(KernelContext& c) {
  std::copy_n(c.in(0).data<float>(), c.in(0).size(), c.out().data<float>());
  if (fault.errors > 0) {
    --fault.errors;
    Fail(fault.code, "the rows cannot be had");
  }
  if (const int64_t n = fault.memory_at.exchange(FailingMemory::kNever); n >= 0) {
    FailingMemory::FailAt(n);
  }
  return KernelStatus::kDone;
}

Vocabulary FaultyWords() {
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  ops->Define("test_fault")
      .In("x")
      .Infer([](InferContext& c) { c.SetResult(c.type(0)); })
      .StopsGrad()
      .Reference("", &RunFault);
  return {ops, StandardBuilders()};
}

class LearnerFaults : public ::testing::Test {
 protected:
  ~LearnerFaults() override {
    fault.errors = 0;
    fault.memory_at = FailingMemory::kNever;
  }

  HostedModel Load(const std::string& directory) {
    fs.MakeDirectories(directory);
    const std::string program = JoinPath(directory, "program.ctm");
    if (!fs.Exists(program)) WriteFileAtomically(fs, program, kProgram);
    return LoadModel(fs, words, "shop", testing::LearningConfig(program, settings), directory);
  }
  void Start(const std::string& directory = "m") {
    learner.reset();
    learner = std::make_unique<Learner>(Load(directory));
  }
  void TrainMany(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      const auto [status, reply] =
          TrainNow(*learner, ExampleOf(i, kStart + static_cast<int64_t>(i) * kSecond));
      ASSERT_TRUE(status.ok()) << status.message;
    }
  }
  template <class Condition>
  bool WaitUntil(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  }
  // A replay learns everything in the log in peace.
  std::string DifferenceFromReplay(const std::string& directory) {
    HostedModel model = Load(directory);
    model.state = State::Create(*model.flat, testing::kLearningSeed);
    Replay(model, *LogReader::Open(fs, JoinPath(directory, "log")), {});
    return DifferenceOfStates(*model.state, *learner->state());
  }

  FaultyFileSystem fs;
  const Vocabulary words = FaultyWords();
  std::map<std::string, std::string> settings = {
      {"batch_rows", "8"}, {"batch_wait", "1h"}, {"commit_every", "0"}, {"event_clock", "yes"}};
  std::unique_ptr<Learner> learner;
};

TEST_F(LearnerFaults, MemoryThatRunsOutInAStepHaltsLearningAndNothingIsLost) {
  if (!FailingMemory::kPossible) GTEST_SKIP() << "sanitizers bring their own memory";
  int failures = 0;
  for (int64_t n = 0; n < 1000; ++n) {
    const std::string directory = fmt::format("m{}", n);
    Start(directory);
    TrainMany(0, 8);
    ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 1; }));
    fault.memory_at = n;
    TrainMany(8, 16);
    ASSERT_TRUE(WaitUntil([&] {
      return !learner->status().running || learner->status().step == 2;
    })) << n;
    const LearningStatus status = learner->status();
    const bool halted = !status.running;
    if (halted) {
      ++failures;
      EXPECT_THAT(status.problem, HasSubstr("out of memory")) << n;
      EXPECT_EQ(status.refused_steps, 0);
      // Answers go on, with the state of whole steps.
      const auto infer = Compile(*Load(directory).flat, "infer");
      std::map<std::string, Tensor> feeds;
      for (const NamedTensor& input : testing::FeaturesOf(1)) feeds[input.name] = input.tensor;
      EXPECT_EQ(infer->Run(*learner->state(), feeds).outputs.size(), 1u);
      EXPECT_FALSE(CommitNow(*learner).first.ok()) << "a commit would hold what is not whole";
    }
    Start(directory);
    TrainMany(16, 24);
    ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 3; })) << n;
    ASSERT_TRUE(CommitNow(*learner).first.ok());
    ASSERT_EQ(DifferenceFromReplay(directory), "") << n;
    EXPECT_EQ(learner->status().refused_steps, 0);
    EXPECT_EQ(learner->status().examples, 24);
    // One request beyond the last of the step.
    if (!halted && n > 20) break;
  }
  EXPECT_GT(failures, 5);
}

TEST_F(LearnerFaults, AStepThatNeedsWhatDoesNotAnswerIsTriedAgain) {
  Start();
  TrainMany(0, 8);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 1; }));
  fault.errors = 3;
  fault.code = ErrorCode::kUnavailable;
  TrainMany(8, 16);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().retried_steps > 0; }));
  EXPECT_THAT(learner->status().problem, HasSubstr("the rows cannot be had"));
  EXPECT_TRUE(learner->status().running);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 2; }));
  ASSERT_TRUE(WaitUntil([&] { return learner->status().problem.empty(); }));
  EXPECT_EQ(learner->status().retried_steps, 3);
  EXPECT_EQ(learner->status().refused_steps, 0);
  ASSERT_TRUE(CommitNow(*learner).first.ok());
  EXPECT_EQ(DifferenceFromReplay("m"), "");
}

TEST_F(LearnerFaults, AStopWhileAStepWaitsLeavesItToTheNextStart) {
  Start();
  TrainMany(0, 8);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 1; }));
  fault.errors = 1'000'000;
  fault.code = ErrorCode::kUnavailable;
  TrainMany(8, 16);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().retried_steps > 0; }));
  learner->Stop();
  fault.errors = 0;
  Start();
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 2; }));
  ASSERT_TRUE(CommitNow(*learner).first.ok());
  EXPECT_EQ(DifferenceFromReplay("m"), "");
}

TEST_F(LearnerFaults, StorageThatFailsInAStepHaltsLearningAndTheExamplesAreNotRefused) {
  Start();
  TrainMany(0, 8);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 1; }));
  fault.errors = 1;
  fault.code = ErrorCode::kStorage;
  TrainMany(8, 16);
  ASSERT_TRUE(WaitUntil([&] { return !learner->status().running; }));
  EXPECT_THAT(learner->status().problem, HasSubstr("the rows cannot be had"));
  const auto [status, reply] = TrainNow(*learner, ExampleOf(16, kStart + 100 * kSecond));
  EXPECT_FALSE(status.ok());
  Start();
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 2; }));
  EXPECT_EQ(learner->status().refused_steps, 0);
  ASSERT_TRUE(CommitNow(*learner).first.ok());
  EXPECT_EQ(DifferenceFromReplay("m"), "");
}

TEST_F(LearnerFaults, ABatchThatTheProgramCannotTakeIsRefusedAndOthersGoOn) {
  Start();
  fault.errors = 1;
  fault.code = ErrorCode::kBadData;
  TrainMany(0, 8);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().refused_steps == 1; }));
  TrainMany(8, 16);
  ASSERT_TRUE(WaitUntil([&] { return learner->status().step == 1; }));
  EXPECT_TRUE(learner->status().running);
}

}  // namespace
}  // namespace catamaran
