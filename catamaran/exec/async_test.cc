#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using test::MessageOf;
using testing::HasSubstr;

// A thread that completes kernels when it is told to.
class Completer {
 public:
  Completer() : thread_([this] { Work(); }) {}
  ~Completer() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push(std::move(work));
    }
    changed_.notify_all();
  }
  void Hold(bool hold) {
    {
      const std::lock_guard lock(mutex_);
      hold_ = hold;
    }
    changed_.notify_all();
  }
  // Until a kernel waits.
  void AwaitOne() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty(); });
  }

 private:
  void Work() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || (!hold_ && !queue_.empty()); });
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop();
      }
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> queue_;
  bool stop_ = false, hold_ = false;
  std::thread thread_;
};

Completer* completer = nullptr;  // of the test that runs

KernelStatus Later(KernelContext& c) {
  completer->Add([&c] {
    const float x = *c.in(0).data<float>();
    if (x < 0) {
      c.Fail(std::make_exception_ptr(Error(fmt::format("found {}", x))));
      return;
    }
    *c.out().data<float>() = x + 1;
    c.Complete();
  });
  return KernelStatus::kPending;
}

// Completes before it returns.
KernelStatus AtOnce(KernelContext& c) {
  *c.out().data<float>() = *c.in(0).data<float>() + 1;
  c.Complete();
  return KernelStatus::kPending;
}

class Async : public testing::Test {
 protected:
  Async() { completer = &completer_; }
  ~Async() override { completer = nullptr; }

  static std::shared_ptr<const OpSet> Ops() {
    auto ops = test::Ops();
    const auto same = [](InferContext& c) { c.SetResult(c.type(0)); };
    ops->Define("later").In("x").Infer(same).Reference("", &Later);
    ops->Define("at_once").In("x").Infer(same).Reference("", &AtOnce);
    return ops;
  }

  Completer completer_;
};

constexpr std::string_view kProgram = R"(program p
var @w : f32[] = 0
fn chain(x: f32[]) {
  a = later(x)
  b = later(x * 2.0)
  c = at_once(a + b)
  y = for i in range(10) with (y = c) {
    z = if y < 1e9 { yield later(y) } else { yield y }
    yield at_once(z)
  }
  return y
}
fn train(x: f32[]) {
  y = later(x)
  commit { write(@w, y) }
  return y
}
fn endless(x: f32[]) {
  y = while y < 1e30 with (y = x) { yield y * 1.0 }
  return y
}
fn empty_loop(x: f32[]) {
  y = while x < 1e30 with (y = x) { yield y }
  return y
}
)";

TEST_F(Async, KernelsMayCompleteLaterInBlocksAndOnOtherThreads) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    for (const int threads : {1, 2}) {
      const auto f = Compile(flat, "chain", {.threads = threads, .schedule = schedule});
      for (int repeat = 0; repeat < 50; ++repeat) {
        EXPECT_EQ(f->Run(*state, {{"x", F32({}, {1})}}).outputs[0].item<float>(), 2 + 3 + 1 + 20);
      }
    }
  }
}

TEST_F(Async, AFailureThatComesLaterNamesTheLine) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto f = Compile(flat, "chain", {.threads = 2, .schedule = schedule});
    EXPECT_EQ(MessageOf([&] {
                f->Run(*state, {{"x", F32({}, {-1})}});
              }),
              "test.ctm:4: later: found -1");
  }
}

TEST_F(Async, RunAsyncReturnsBeforeTheRunIsDone) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  const auto f = Compile(flat, "chain");
  completer_.Hold(true);
  const Tensor x = F32({}, {1});
  const FeedValue feeds[] = {x};
  float y = 0;
  FetchBuffer fetches[] = {{&y, sizeof(y), {}}};
  std::promise<void> done;
  f->RunAsync(*state, feeds, fetches, {},
              {[](void* context, const RunStatus&, std::exception_ptr error) {
                 EXPECT_EQ(error, nullptr);
                 static_cast<std::promise<void>*>(context)->set_value();
               },
               &done});
  EXPECT_EQ(y, 0);
  completer_.Hold(false);
  done.get_future().wait();
  EXPECT_EQ(y, 26);
}

TEST_F(Async, ASuspendedTrainKeepsItsTurnAndOthersTimeOut) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  completer_.Hold(true);
  const Tensor x = F32({}, {1});
  const FeedValue feeds[] = {x};
  std::promise<void> done;
  train->RunAsync(*state, feeds, {}, {},
                  {[](void* context, const RunStatus& status, std::exception_ptr) {
                     EXPECT_TRUE(status.committed);
                     static_cast<std::promise<void>*>(context)->set_value();
                   },
                   &done});
  RunOptions options;
  options.deadline = state->clock().Now() + 20'000'000;
  EXPECT_THAT(MessageOf([&] { train->Run(*state, feeds, options); }), HasSubstr("deadline"));
  completer_.Hold(false);
  done.get_future().wait();
  EXPECT_EQ(state->GetTensor("w").item<float>(), 2);
}

TEST_F(Async, ACancelledTrainChangesNothing) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  completer_.Hold(true);
  CancelToken cancel;
  RunOptions options;
  options.cancel = &cancel;
  std::thread canceller([&] {
    completer_.AwaitOne();
    cancel.Cancel();
    completer_.Hold(false);
  });
  EXPECT_THAT(MessageOf([&] {
                train->Run(*state, {{"x", F32({}, {1})}}, options);
              }),
              HasSubstr("train: the run was cancelled"));
  canceller.join();
  EXPECT_EQ(state->step(), 0);
  EXPECT_EQ(state->GetTensor("w").item<float>(), 0);
}

TEST_F(Async, AnEndlessLoopEndsByTokenOrDeadline) {
  const Program flat = FlatProgram(kProgram, Ops());
  const auto state = State::Create(flat, 1);
  for (const char* name : {"endless", "empty_loop"}) {
    const auto f = Compile(flat, name);
    RunOptions options;
    options.deadline = state->clock().Now() + 20'000'000;
    EXPECT_THAT(MessageOf([&] {
                  f->Run(*state, {{"x", F32({}, {1})}}, options);
                }),
                HasSubstr("deadline"));
    CancelToken cancel;
    RunOptions cancellable;
    cancellable.cancel = &cancel;
    std::thread canceller([&] { cancel.Cancel(); });
    EXPECT_THAT(MessageOf([&] {
                  f->Run(*state, {{"x", F32({}, {1})}}, cancellable);
                }),
                HasSubstr("cancelled"));
    canceller.join();
  }
}

}  // namespace
}  // namespace catamaran
