// A step is whole: all of it is applied, or nothing. Every request for memory of a step is made to
// fail, rows on disk that it needs cannot be read, its gradient is not finite; the dense state, its
// slots and both tables are then what they were before, and the step can be taken again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <new>

#include "catamaran/base/failing_memory_test_util.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"
#include "catamaran/ir/infer.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using test::FlatProgram;
using test::MessageOf;
using ::testing::HasSubstr;

// Once a run has come to test_unreadable, the thread that it is on then cannot read files, while a
// test wants that: look-ups are behind it, the commit region is before it.
std::atomic<bool> wanted = false;
std::atomic<long> unreadable_for = 0;  // a thread

KernelStatus RunUnreadable(KernelContext& c) {
  std::copy_n(c.in(0).data<float>(), c.in(0).size(), c.out().data<float>());
  if (wanted) unreadable_for = syscall(SYS_gettid);
  return KernelStatus::kDone;
}

std::shared_ptr<OpSet> FaultyOps() {
  auto ops = test::Ops();
  ops->Define("test_unreadable")
      .In("x")
      .Infer([](InferContext& c) { c.SetResult(c.type(0)); })
      .StopsGrad()
      .Reference("", &RunUnreadable);
  // An effect with a bug: it fails while it is applied.
  OpTraits effect;
  effect.effect = true;
  ops->Define("test_throw")
      .StateArg("state")
      .In("x")
      .Results(0)
      .Traits(effect)
      .Infer([](InferContext&) {})
      .Reference("", [](KernelContext& c) -> KernelStatus {
        if (*c.in(0).data<float>() > 0) throw std::bad_alloc();
        return KernelStatus::kDone;
      });
  return ops;
}

constexpr std::string_view kTwoTables = R"(program p
table @user : u64 -> f32[4] = normal(std=0.1) {
  optimizer = rowwise_adagrad(lr=0.1)
}
table @item : u64 -> f32[4] = normal(std=0.1) {
  optimizer  = adam(lr=0.1)
  admit      = count(2)
  unadmitted = shared
  expire     = unseen(seconds=30)
}
param @w : f32[4, 3]
param @v : f32[3]
var @seen : i64[] = 0
fn infer(user: u64[B], item: u64[B]) -> f32[B] {
  e = lookup(@user, user) * lookup(@item, item)
  return sum(tanh(matmul(e, @w)) * @v, axes=[1])
}
fn loss(user: u64[B], item: u64[B], also: u64[B], y: f32[B]) -> f32[] {
  d = square(infer(user, item) - test_unreadable(y))
  next = @seen + 1
  commit {
    observe(@user, user)
    observe(@user, also)
    observe(@item, item)
    write(@seen, next)
  }
  return mean(d)
}
train = adam(clip(grad(loss), norm=1.0), lr=0.02)
)";

std::map<std::string, Tensor> Feeds(int64_t step, float label = 0.5f) {
  std::vector<uint64_t> users, items, also;
  std::vector<float> y;
  for (uint64_t i = 0; i < 48; ++i) {
    also.push_back(i);
    users.push_back(Mix64(i + 100 * static_cast<uint64_t>(step)) % 500);
    items.push_back(Mix64(i + 7000 * static_cast<uint64_t>(step)) % 60);
    y.push_back(label);
  }
  return {{"user", Tensor::FromVector<uint64_t>(users)},
          {"item", Tensor::FromVector<uint64_t>(items)},
          {"also", Tensor::FromVector<uint64_t>(also)},
          {"y", Tensor::FromVector<float>(y)}};
}

RunOptions At(int64_t step) {
  RunOptions options;
  options.event_time = step * 5'000'000'000;
  return options;
}

// All that a state holds, as bytes.
std::string Bytes(State& state) {
  std::string bytes = fmt::format("step {} time {} ", state.step(), state.event_time());
  state.ForEach([&](const StateInfo&, const Tensor& value) {
    bytes.append(static_cast<const char*>(value.raw_data()), value.num_bytes());
  });
  for (const char* name : {"user", "item"}) {
    DurableTable& table = state.table(name);
    bytes += fmt::format(" {} {} ", name, table.size());
    auto cut = table.Cut(true);
    for (int k = 0; k < kRowClasses; ++k) {
      const auto c = static_cast<RowClass>(k);
      cut->ForEachRow(c, [&](const uint32_t* record) {
        bytes.append(reinterpret_cast<const char*>(record), table.layout().bytes(c));
      });
    }
    for (const auto& [extra, value] : cut->extras()) bytes += extra + value;
    table.EndCut(std::move(cut), false);
  }
  return bytes;
}

TEST(StepFaults, AStepThatFindsNoMemoryHasChangedNothing) {
  if (!FailingMemory::kPossible) GTEST_SKIP() << "sanitizers bring their own memory";
  const Program flat = FlatProgram(kTwoTables, FaultyOps());
  const auto undisturbed = State::Create(flat, 3), state = State::Create(flat, 3);
  int failures = 0;
  for (int64_t step = 1; step <= 12; ++step) {
    const auto feeds = Feeds(step);
    const std::string before = Bytes(*undisturbed);
    const auto calm = Compile(flat, "train");
    // Its first run asks for the most.
    const auto train = Compile(flat, "train");
    ASSERT_TRUE(calm->Run(*undisturbed, feeds, At(step)).committed);
    for (int64_t n = 0;; ++n) {
      FailingMemory::FailAt(n);
      bool done = false;
      try {
        done = train->Run(*state, feeds, At(step)).committed;
      } catch (const std::exception& error) {
        FailingMemory::Stop();
        EXPECT_EQ(CodeOf(error), ErrorCode::kResourceExhausted) << error.what();
        ASSERT_EQ(Bytes(*state) == before, true) << "request " << n << " of step " << step;
        ++failures;
      }
      FailingMemory::Stop();
      // Some failures are handled inside (a publication that is skipped).
      if (done) break;
      ASSERT_LT(n, 10'000);
    }
    ASSERT_EQ(Bytes(*state) == Bytes(*undisturbed), true) << step;
  }
  EXPECT_GT(failures, 100);
}

// The thread sanitizer does not see how RocksDB agrees with itself.
#if CATAMARAN_WITH_ROCKSDB && !defined(__SANITIZE_THREAD__)
TEST(StepFaults, RowsOnDiskThatCannotBeReadLeaveTheDenseStateWhereItWas) {
  std::string text(kTwoTables);
  text.insert(text.find("  optimizer = rowwise"), "  home = disk(memory=\"1MB\")\n");
  const Program flat = FlatProgram(text, FaultyOps());
  const ScratchDirectory scratch(PosixFileSystem(), SystemScratch());
  const auto make = [&](const std::string& name) {
    StateOptions options;
    options.tables.scratch = JoinPath(scratch.path(), name);
    PosixFileSystem().MakeDirectories(options.tables.scratch);
    return State::Create(flat, 3, options);
  };
  const auto undisturbed = make("undisturbed"), state = make("state");
  const auto train = Compile(flat, "train");
  const auto feeds_of = [&](int64_t step) {
    std::vector<uint64_t> users, items, also;  // those are not looked up, so the step reads them
    std::vector<float> y;
    for (uint64_t i = 0; i < 4000; ++i) {
      also.push_back(Mix64(i + 9000 * static_cast<uint64_t>(step)) % 60'000);
      users.push_back(Mix64(i + 4000 * static_cast<uint64_t>(step)) % 60'000);
      items.push_back(i % 60);
      y.push_back(0.5f);
    }
    return std::map<std::string, Tensor>{{"user", Tensor::FromVector<uint64_t>(users)},
                                         {"also", Tensor::FromVector<uint64_t>(also)},
                                         {"item", Tensor::FromVector<uint64_t>(items)},
                                         {"y", Tensor::FromVector<float>(y)}};
  };
  int failures = 0;
  for (int64_t step = 1; step <= 24; ++step) {
    const auto feeds = feeds_of(step);
    ASSERT_TRUE(train->Run(*undisturbed, feeds, At(step)).committed);
    if (step % 3 == 0) {
      const Tensor w = state->GetTensor("w").Clone();
      const int64_t before = state->step(), seen = state->GetTensor("seen").item<int64_t>();
      wanted = true;
      try {
        // Where all rows are in caches this is a step like any other.
        ASSERT_TRUE(train->Run(*state, feeds, At(step)).committed);
        wanted = false;
        unreadable_for = 0;
        continue;
      } catch (const Error& error) {
        wanted = false;
        unreadable_for = 0;
        EXPECT_EQ(error.code(), ErrorCode::kStorage);
        EXPECT_THAT(error.what(), HasSubstr("test.ctm:"));
        EXPECT_EQ(state->step(), before);
        EXPECT_TRUE(state->GetTensor("w").Equals(w));
        EXPECT_EQ(state->GetTensor("seen").item<int64_t>(), seen);
        ++failures;
      }
    }
    ASSERT_TRUE(train->Run(*state, feeds, At(step)).committed);
  }
  EXPECT_GT(failures, 0);
  EXPECT_GT(state->table("user").Info().cold_rows, 0);
  std::vector<uint64_t> keys(60'000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  EXPECT_TRUE(state->GetTensor("w").Equals(undisturbed->GetTensor("w")));
  EXPECT_TRUE(state->GetTensor("train.m.w").Equals(undisturbed->GetTensor("train.m.w")));
  std::vector<uint32_t> a(64), b(64);
  RowClass c, d;
  int64_t rows = 0;
  for (const uint64_t key : keys) {
    const bool there = undisturbed->table("user").Get(key, &c, a.data());
    ASSERT_EQ(state->table("user").Get(key, &d, b.data()), there) << key;
    if (!there) continue;
    ++rows;
    a[row_words::kTag] &= 0xff;
    b[row_words::kTag] &= 0xff;
    ASSERT_EQ(a, b) << key;
  }
  EXPECT_GT(rows, 30'000);
}

#endif  // CATAMARAN_WITH_ROCKSDB

TEST(StepFaults, TheDerivativeOfTheRootOfZeroMadeEveryLaterAnswerNaN) {
  const Program flat = FlatProgram(R"(program p
param @w : f32[] = 2
fn infer(x: f32[B]) -> f32[B] { return x * @w }
fn loss(x: f32[B], y: f32[B]) -> f32[] { return mean(sqrt(infer(x) - y)) }
train = sgd(grad(loss), lr=0.1)
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const Tensor two = Tensor::From<float>({1}, {2}), one = Tensor::From<float>({1}, {1});
  const RunResult result = train->Run(*state, {{"x", one}, {"y", two}});
  EXPECT_EQ(result.outputs[0].item<float>(), 0);  // the loss is finite, its gradient is not
  EXPECT_TRUE(result.refused);
  EXPECT_FALSE(result.committed);
  EXPECT_THAT(result.why, HasSubstr("test.ctm:5"));
  EXPECT_THAT(result.why, HasSubstr("the gradient of @w is not finite"));
  EXPECT_EQ(state->GetTensor("w").item<float>(), 2);
  EXPECT_EQ(state->step(), 0);
}

TEST(StepFaults, AGradientOfRowsThatIsNotFiniteRefusesTheWholeStep) {
  const Program flat = FlatProgram(R"(program p
table @t : u64 -> f32[4] = 0.5 {
  optimizer = sgd(lr=0.1)
}
param @w : f32[4] = 1
fn loss(ids: u64[B], y: f32[B]) -> f32[] {
  return mean(sqrt(sum(lookup(@t, ids) * @w, axes=[1]) - y))
}
train = adam(grad(loss), lr=0.1)
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto run = [&](float y) {
    return train->Run(
        *state, {{"ids", Tensor::From<uint64_t>({1}, {7})}, {"y", Tensor::From<float>({1}, {y})}});
  };
  EXPECT_TRUE(run(2).refused);  // sqrt(0)
  EXPECT_EQ(state->table("t").size(), 0);
  EXPECT_TRUE(run(1).committed);
  EXPECT_EQ(state->table("t").size(), 1);
}

TEST(StepFaults, AnAbsurdLabelFrozeItsKey) {
  const Program flat = FlatProgram(R"(program p
table @t : u64 -> f32[4] = 0.5 {
  optimizer = adagrad(lr=0.1)
}
fn loss(ids: u64[B], y: f32[B]) -> f32[] {
  return mean(square(sum(lookup(@t, ids), axes=[1]) - y))
}
train = sgd(grad(loss), lr=0.1)
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto run = [&](float y) {
    return train->Run(
        *state, {{"ids", Tensor::From<uint64_t>({1}, {7})}, {"y", Tensor::From<float>({1}, {y})}});
  };
  EXPECT_TRUE(run(1e17f).refused);
  const float first = run(1).outputs[0].item<float>();
  float last = first;
  for (int i = 0; i < 50; ++i) last = run(1).outputs[0].item<float>();
  EXPECT_LT(last, first / 2);
}

TEST(StepFaults, AWriteThatIsNotFiniteRefusesTheStep) {
  const Program flat = FlatProgram(R"(program p
var @mean : f32[2] = 0
var @least : f32[] = inf
fn train(x: f32[2], y: f32[]) {
  next = @mean * 0.9 + x * 0.1
  least = minimum(@least, y)
  commit {
    write(@mean, next)
    write(@least, least)
  }
  return
}
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto run = [&](float x, float y) {
    return train->Run(*state, {{"x", Tensor::From<float>({2}, {1, x})}, {"y", Tensor::Scalar(y)}});
  };
  EXPECT_TRUE(run(INFINITY, 3).refused);
  EXPECT_EQ(state->GetTensor("mean").data<float>()[0], 0);
  EXPECT_TRUE(run(1, INFINITY).committed) << "what is not finite may stay so";
  EXPECT_TRUE(run(1, 3).committed);
  EXPECT_EQ(state->GetTensor("least").item<float>(), 3);
}

TEST(StepFaults, AWriteOfHalvesIsLookedAtToo) {
  const Program flat = FlatProgram(R"(program p
var @h : f16[2] = 0
fn train(x: f16[2]) {
  commit {
    write(@h, x)
  }
  return
}
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto run = [&](float x) {
    return train->Run(*state, {{"x", Cast(Tensor::From<float>({2}, {1, x}), DType::kF16)}});
  };
  EXPECT_TRUE(run(3).committed);
  EXPECT_TRUE(run(1e9f).refused);  // infinite as f16
  EXPECT_EQ(Cast(state->GetTensor("h"), DType::kF32).data<float>()[1], 3);
}

TEST(StepFaults, NumbersThatWouldOverflowStayAndAreCounted) {
  const Program flat = FlatProgram(R"(program p
table @t : u64 -> f32[4] = 0.5 {
  optimizer = sgd(lr=1.0)
}
param @w : f32[3] = 1
fn train(ids: u64[B], g: f32[3], dy: f32[B, 4]) {
  commit {
    update(@w, [], g, 1e30, sgd)
    push(@t, lookup_rows(ids, dy), lr_scale=1e30)
  }
  return
}
)");
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const RunResult result =
      train->Run(*state, {{"ids", Tensor::From<uint64_t>({2}, {1, 2})},
                          {"g", Tensor::From<float>({3}, {0, 1e14f, 1e-30f})},
                          {"dy", Tensor::From<float>({2, 4}, {0, 0, 0, 0, 1e14f, 0, 0, 1e-30f})}});
  EXPECT_TRUE(result.committed);
  EXPECT_EQ(result.unwritten, 2);  // @w, and one row
  const Tensor w = state->GetTensor("w");
  EXPECT_EQ(w.data<float>()[1], 1);
  EXPECT_FLOAT_EQ(w.data<float>()[2], 0);
}

TEST(StepFaults, AStateThatIsNotWholeIsNeitherTrainedNorSaved) {
  const Program flat = FlatProgram(R"(program p
var @count : f32[] = 0
param @w : f32[] = 1
fn infer() -> f32[] { return @w }
fn train(x: f32[]) {
  next = @count + 1.0
  commit {
    write(@count, next)
    test_throw(@w, x)
  }
  return
}
)",
                                   FaultyOps());
  const auto state = State::Create(flat, 3);
  const auto train = Compile(flat, "train");
  const auto run = [&](float x) { return train->Run(*state, {{"x", Tensor::Scalar(x)}}); };
  ASSERT_TRUE(run(0).committed);
  ASSERT_NO_THROW(state->CheckWhole());
  try {
    run(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("step 2 was applied in part"));
  }
  EXPECT_THAT(MessageOf([&] { run(0); }), HasSubstr("the state is not whole"));
  // Whoever saves asks this first (commit/coordinator.cc).
  EXPECT_THAT(MessageOf([&] { state->CheckWhole(); }), HasSubstr("applied in part"));
  EXPECT_EQ(Compile(flat, "infer")->Run(*state).outputs[0].item<float>(), 1);  // it answers
  EXPECT_EQ(state->step(), 1);
}

}  // namespace

bool ReadsFail() { return unreadable_for != 0 && unreadable_for == syscall(SYS_gettid); }

}  // namespace catamaran

// Instead of the C library's, for RocksDB too.
extern "C" ssize_t pread(int file, void* out, size_t bytes, off_t offset) {
  if (catamaran::ReadsFail()) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, file, out, bytes, offset);
}
extern "C" ssize_t pread64(int file, void* out, size_t bytes, off64_t offset) {
  return pread(file, out, bytes, offset);
}
