// A run that ends in an error commits the state of whole steps, and goes on from there to the same
// bits as one that was never disturbed: every request for memory of a step is made to fail.

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "catamaran/base/failing_memory_test_util.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/train/metrics_log.h"
#include "catamaran/train/train_test_util.h"
#include "catamaran/train/trainer.h"

namespace catamaran {
namespace {

using ::catamaran::testing::FlatFrom;

constexpr const char* kTwoTables = R"(program shop
table @users : u64 -> f32[4] = normal(std=0.1) {
  optimizer = adagrad(lr=0.1)
}
table @items : u64 -> f32[4] = normal(std=0.1) {
  optimizer = adam(lr=0.1)
  admit     = count(2)
}
fc = linear(6, 1)
fn infer(user: u64[B], item: u64[B], x: f32[B, 2]) -> (p: f32[B]) {
  e = lookup(@users, user) * lookup(@items, item)
  return sigmoid(reshape(fc(concat(e, x, axis=1)), [B]))
}
fn loss(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(infer(user, item, x), label))
}
train = adam(clip(grad(loss), norm=1.0), lr=0.02)
)";

class TrainerFaults : public ::testing::Test {
 protected:
  TrainerFaults() { testing::WriteShopRows(fs_, Path("train.rec"), 320, 1); }
  std::string Path(const std::string& name) const { return JoinPath(scratch_.path(), name); }

  TrainerOptions Options(const std::string& out, int64_t steps) {
    TrainerOptions options;
    options.data.paths = {Path("train.rec")};
    options.data.pipeline.batch_rows = 64;
    options.data.pipeline.threads = 1;
    options.out = Path(out);
    options.resume = true;
    options.online = {.on = true, .window_rows = 128};
    options.event_time = 1'700'000'000'000'000'000;
    options.max_steps = steps;
    return options;
  }

  std::string StateBytes(const std::string& out) { return StateBytes(out, FlatFrom(kTwoTables)); }
  std::string StateBytes(const std::string& out, const Program& flat) {
    const LoadedState loaded = LoadState(fs_, Path(out + "/latest"), flat);
    std::string bytes = fmt::format("step {} ", loaded.state->step());
    loaded.state->ForEach([&](const StateInfo&, const Tensor& value) {
      bytes.append(static_cast<const char*>(value.raw_data()), value.num_bytes());
    });
    for (const char* name : {"users", "items"}) {
      DurableTable& table = loaded.state->table(name);
      auto cut = table.Cut(true);
      for (const RowClass c : {RowClass::kFull, RowClass::kNarrow, RowClass::kWaiting}) {
        cut->ForEachRow(c, [&](const uint32_t* record) {
          bytes.append(reinterpret_cast<const char*>(record), table.layout().bytes(c));
        });
      }
      table.EndCut(std::move(cut), true);
    }
    return bytes;
  }

  // Lines of metrics.jsonl without what depends on the clock.
  std::vector<std::string> Lines(const std::string& out) {
    std::vector<std::string> lines;
    for (MetricsLine line : ReadMetrics(fs_, Path(out + "/metrics.jsonl"))) {
      line.seconds = 0;
      line.rows_per_second = 0;
      if (line.kind == "window") lines.push_back(FormatLine(line));
    }
    return lines;
  }

  FileSystem& fs_ = PosixFileSystem();
  const ScratchDirectory scratch_{PosixFileSystem(), SystemScratch()};
};

TEST_F(TrainerFaults, WhatIsCommittedAfterAnErrorIsTheStateOfWholeSteps) {
  if (!FailingMemory::kPossible) GTEST_SKIP() << "sanitizers bring their own memory";
  constexpr int64_t kFails = 3, kSteps = 5;
  const auto run = [&](const std::string& out, int64_t steps) {
    Trainer trainer(fs_, FlatFrom(kTwoTables), Options(out, steps));
    trainer.Run();
  };
  run("before", kFails - 1);
  run("whole", kSteps);
  const std::string before = StateBytes("before"), with = [&] {
    run("with", kFails);
    return StateBytes("with");
  }();
  const std::string whole = StateBytes("whole");
  const auto lines = Lines("whole");
  ASSERT_FALSE(lines.empty());
  int failures = 0;
  for (int64_t n = 0;; ++n) {
    const std::string out = fmt::format("run{}", n);
    int64_t failed = 0;
    bool thrown = false;
    {
      Trainer trainer(fs_, FlatFrom(kTwoTables), Options(out, kSteps));
      trainer.hooks().before_step = [&](TrainStep& step) {
        if (step.number == kFails) FailingMemory::FailAt(n);
      };
      trainer.hooks().after_step = [&](TrainStep&) { failed += FailingMemory::Stop(); };
      try {
        trainer.Run();
      } catch (const std::exception& error) {
        thrown = true;
        EXPECT_EQ(CodeOf(error), ErrorCode::kResourceExhausted) << error.what();
      }
      failed += FailingMemory::Stop();
    }
    bool measured = true;
    if (thrown) {
      ++failures;
      const std::string kept = StateBytes(out);
      // The step failed, or what came after it: then its measurement may be missing.
      ASSERT_TRUE(kept == before || kept == with) << "request " << n;
      measured = kept == before;
      run(out, kSteps);
    }
    ASSERT_TRUE(StateBytes(out) == whole) << "request " << n;
    if (measured) {
      ASSERT_EQ(Lines(out), lines) << "request " << n;
    }
    if (failed == 0) break;
    ASSERT_LT(n, 5000);
  }
  EXPECT_GT(failures, 10);
}

TEST_F(TrainerFaults, AStepThatWasAppliedInPartIsNotCommitted) {
  static std::atomic<bool> fails = false;
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  OpTraits effect;
  effect.effect = true;
  ops->Define("test_bug")
      .StateArg("state")
      .Results(0)
      .Traits(effect)
      .Infer([](InferContext&) {})
      .Reference("", [](KernelContext&) -> KernelStatus {
        if (fails) throw std::logic_error("a bug");
        return KernelStatus::kDone;
      });
  const auto builders = StandardBuilders();
  std::string text(kTwoTables);
  text.replace(text.find("  return mean(binary"), 2, "  commit { test_bug(@bug) }\n  ");
  text.insert(text.find("fc = linear"), "var @bug : f32[] = 0\n");
  const auto flat = [&] { return Flatten(Parse(text, "test.ctm", ops, *builders), *builders); };
  TrainerOptions options = Options("bug", 5);
  options.commit_every = 1;
  {
    Trainer trainer(fs_, flat(), options);
    std::vector<std::string> warnings;
    trainer.hooks().warning = [&](const std::string& text) { warnings.push_back(text); };
    trainer.hooks().before_step = [](TrainStep& step) { fails = step.number == 3; };
    try {
      trainer.Run();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      EXPECT_NE(std::string(error.what()).find("step 3 was applied in part"), std::string::npos)
          << error.what();
    }
    EXPECT_THROW(trainer.state().CheckWhole(), Error);
  }
  fails = false;
  EXPECT_EQ(LoadState(fs_, Path("bug/latest"), flat()).state->step(), 2);
  Trainer(fs_, flat(), options).Run();
  options.out = Path("calm");
  Trainer(fs_, flat(), options).Run();
  const Program program = flat();
  EXPECT_TRUE(StateBytes("bug", program) == StateBytes("calm", program));
}

}  // namespace
}  // namespace catamaran
