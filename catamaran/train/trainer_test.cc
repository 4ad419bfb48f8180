#include "catamaran/train/trainer.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/train/evaluation_form.h"
#include "catamaran/train/train_test_util.h"

namespace catamaran {
namespace {

using ::catamaran::testing::FlatFrom;
using ::catamaran::testing::kShop;
using ::testing::HasSubstr;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    testing::WriteShopRows(fs_, Path("train.rec"), 700, 1);
    testing::WriteShopRows(fs_, Path("valid.rec"), 300, 2);
  }
  std::string Path(const std::string& name) const { return JoinPath(scratch_.path(), name); }

  // 11 batches an epoch, 4 epochs, shuffled.
  TrainerOptions Options(const std::string& out) {
    TrainerOptions options;
    options.data.paths = {Path("train.rec")};
    options.data.pipeline.batch_rows = 64;
    options.data.pipeline.epochs = 4;
    options.data.pipeline.shuffle_window = 200;
    options.data.pipeline.seed = 3;
    options.valid.emplace().paths = {Path("valid.rec")};
    if (!out.empty()) options.out = Path(out);
    options.resume = true;
    options.log_every = 5;
    options.valid_every = 6;
    options.event_time = 1'700'000'000'000'000'000;
    return options;
  }

  // Stops after the step of that number; 0: never.
  TrainSummary Run(TrainerOptions options, int64_t stop_after = 0) {
    Trainer trainer(fs_, FlatFrom(kShop), std::move(options));
    trainer.hooks().after_step = [&](TrainStep& step) {
      if (step.number == stop_after) trainer.Stop();
    };
    return trainer.Run();
  }

  // All that a state holds, as bytes: dense values, rows by key, step.
  std::string StateBytes(const std::string& directory) {
    const Program flat = FlatFrom(kShop);
    const LoadedState loaded = LoadState(fs_, directory, flat);
    std::string bytes = fmt::format("step {} ", loaded.state->step());
    loaded.state->ForEach([&](const StateInfo&, const Tensor& value) {
      bytes.append(static_cast<const char*>(value.raw_data()), value.num_bytes());
    });
    DurableTable& table = loaded.state->table("taste");
    auto cut = table.Cut(true);
    for (const RowClass c : {RowClass::kFull, RowClass::kNarrow, RowClass::kWaiting}) {
      cut->ForEachRow(c, [&](const uint32_t* record) {
        bytes.append(reinterpret_cast<const char*>(record),
                     sizeof(uint32_t) *
                         static_cast<size_t>(table.layout().classes[static_cast<size_t>(c)].words));
      });
    }
    table.EndCut(std::move(cut), true);
    return bytes;
  }

  // Lines of metrics.jsonl without what depends on the clock.
  std::vector<std::string> Lines(const std::string& out) {
    std::vector<std::string> lines;
    for (MetricsLine line : ReadMetrics(fs_, Path(out + "/metrics.jsonl"))) {
      line.seconds = 0;
      line.rows_per_second = 0;
      lines.push_back(FormatLine(line));
    }
    return lines;
  }

  void ExpectSameRun(const std::string& a, const std::string& b) {
    EXPECT_EQ(Lines(a), Lines(b));
    EXPECT_EQ(StateBytes(Path(a + "/latest")), StateBytes(Path(b + "/latest")));
    EXPECT_EQ(StateBytes(Path(a + "/best")), StateBytes(Path(b + "/best")));
  }

  FileSystem& fs_ = PosixFileSystem();
  ScratchDirectory scratch_{PosixFileSystem(), SystemScratch()};
};

TEST_F(TrainerTest, LearnsAndKeepsTheBest) {
  const TrainSummary summary = Run(Options("a"));
  EXPECT_EQ(summary.end, TrainEnd::kDone);
  EXPECT_EQ(summary.counters.batches, 44);
  EXPECT_EQ(summary.counters.rows, 2800);
  EXPECT_EQ(summary.best_metric, "auc");
  EXPECT_GT(summary.counters.best.value, 0.7);
  EXPECT_TRUE(fs_.Exists(Path("a/report.html")));
  const Program flat = FlatFrom(kShop);
  EXPECT_EQ(LoadState(fs_, Path("a/best"), flat).state->step(), summary.counters.best.step);
}

TEST_F(TrainerTest, ARunThatWasCutAnywhereEqualsOneThatWasNot) {
  Run(Options("whole"));
  // At a line, at a validation, at the end of an epoch, in the middle, twice.
  int number = 0;
  for (const std::vector<int64_t>& cuts :
       {std::vector<int64_t>{5}, {6}, {11}, {17}, {3, 29}, {43}}) {
    const std::string out = fmt::format("cut{}", number++);
    for (const int64_t cut : cuts) {
      EXPECT_EQ(Run(Options(out), cut).end, TrainEnd::kStopped);
      EXPECT_EQ(Lines(out).size(), [&] {
        size_t n = 0;
        for (const std::string& line : Lines("whole")) {
          const MetricsLine l = ParseLine(line, "");
          n += l.step < cut || (l.step == cut && l.kind == "train" && cut % 5 == 0);
        }
        return n;
      }()) << cut;
    }
    EXPECT_EQ(Run(Options(out)).end, TrainEnd::kDone);
    ExpectSameRun("whole", out);
  }
}

TEST_F(TrainerTest, ACrashGoesBackToTheLastCommitAndComesToTheSameEnd) {
  struct ProcessDies {};  // no std::exception, after which a trainer commits
  TrainerOptions options = Options("whole");
  options.commit_every = 4;
  Run(options);
  options.out = Path("crash");
  {
    Trainer trainer(fs_, FlatFrom(kShop), options);
    trainer.hooks().after_step = [](TrainStep& step) {
      if (step.number == 23) throw ProcessDies();
    };
    EXPECT_THROW(trainer.Run(), ProcessDies);
  }
  EXPECT_LT(LoadState(fs_, Path("crash/latest"), FlatFrom(kShop)).state->step(), 23);
  Run(options);
  ExpectSameRun("whole", "crash");
}

TEST_F(TrainerTest, EarlyStoppingCountsAcrossACut) {
  TrainerOptions options = Options("whole");
  options.patience = 2;
  options.best = "loss";
  options.best_is_higher = true;  // it falls, so the first is the best
  const TrainSummary whole = Run(options);
  EXPECT_EQ(whole.end, TrainEnd::kEarly);
  EXPECT_EQ(whole.counters.best.worse, 2);
  options.out = Path("cut");
  Run(options, 13);
  EXPECT_EQ(Run(options).end, TrainEnd::kEarly);
  ExpectSameRun("whole", "cut");
}

TEST_F(TrainerTest, OnlineWindowsGoOnAcrossACut) {
  const auto online = [&](const std::string& out) {
    TrainerOptions options = Options(out);
    options.valid.reset();
    options.valid_every = 0;
    options.online.on = true;
    options.online.window_rows = 0;
    options.online.window_ns = 300'000'000'000;
    options.time_column = "when";
    options.data.pipeline.shuffle_window = 0;
    options.data.pipeline.epochs = 1;
    return options;
  };
  Run(online("whole"));
  Run(online("cut"), 7);
  Run(online("cut"));
  EXPECT_EQ(Lines("whole"), Lines("cut"));
  EXPECT_EQ(StateBytes(Path("whole/latest")), StateBytes(Path("cut/latest")));
  int64_t rows = 0;
  for (const MetricsLine& line : ReadMetrics(fs_, Path("whole/metrics.jsonl"))) {
    if (line.kind != "window") continue;
    rows += line.rows;
    EXPECT_NE(FindMetric(line.metrics, "auc"), nullptr);
  }
  EXPECT_EQ(rows, 700);
}

TEST_F(TrainerTest, OtherSettingsAreNotGoneOnWith) {
  TrainerOptions options = Options("a");
  options.settings["batch"] = "64";
  Run(options, 3);
  options.settings["batch"] = "128";
  try {
    Run(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("batch was 64 and is 128"));
  }
  options.allow_other_settings = true;
  EXPECT_EQ(Run(options).end, TrainEnd::kDone);
}

TEST_F(TrainerTest, HooksFetchFeedAndReplaceAnyValue) {
  TrainerOptions options = Options("");
  options.valid.reset();
  options.fetch = {"h", "loss"};
  options.feed.given = {"x"};
  options.max_steps = 2;
  Trainer trainer(fs_, FlatFrom(kShop), options);
  int64_t steps = 0;
  trainer.hooks().before_step = [&](TrainStep& step) {
    step.Feed("x", Tensor::Zeros(DType::kF32, {step.rows->rows(), 2}));
  };
  trainer.hooks().after_step = [&](TrainStep& step) {
    ++steps;
    const Tensor& h = step.Fetched("h");
    EXPECT_EQ(h.shape(), Shape({64, 6}));
    EXPECT_EQ(h.data<float>()[4], 0.0f);
    EXPECT_EQ(step.Fetched("loss").item<float>(), static_cast<float>(step.results[0].second));
    EXPECT_TRUE(step.status.committed);
  };
  trainer.Run();
  EXPECT_EQ(steps, 2);
}

TEST_F(TrainerTest, SchedulesThatWaitHearOfEveryValidation) {
  std::string text = kShop;
  text.replace(text.find("train = adam"), std::string::npos,
               "rate = plateau(0.02, patience=0, factor=0.5, threshold=1000.0)\n"
               "train = adam(grad(loss), lr=rate)\n");
  TrainerOptions options = Options("a");
  Trainer trainer(fs_, FlatFrom(text), options);
  trainer.Run();
  // The first is the best, and no other is better by the threshold: the rate falls with each.
  std::vector<double> losses;
  for (const MetricsLine& line : ReadMetrics(fs_, Path("a/metrics.jsonl"))) {
    if (line.kind == "valid") losses.push_back(*FindMetric(line.metrics, "loss"));
  }
  ASSERT_GT(losses.size(), 3u);
  EXPECT_NEAR(trainer.state().GetTensor("rate.best").data<double>()[0], losses[0], 1e-6);
  EXPECT_DOUBLE_EQ(trainer.state().GetTensor("rate.scale").data<double>()[0],
                   std::pow(0.5, static_cast<double>(losses.size() - 1)));
  options.out = Path("b");
  options.valid.reset();
  try {
    const Trainer without(fs_, FlatFrom(text), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rate.observe waits for what validations say"));
  }
}

TEST_F(TrainerTest, ATrainerMayGoWhileBatchesAreStillMade) {
  TrainerOptions options = Options("");
  options.valid.reset();
  options.valid_every = 0;
  options.data.pipeline.ahead = [](const RowBlock&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_EQ(Run(options, 1).end, TrainEnd::kStopped);
}

TEST_F(TrainerTest, StepsThatAreRefusedAreCountedAndTooManyAreAnError) {
  constexpr const char* kBad = R"(program bad
param @w : f32[2] = 1.0
fn loss(x: f32[B, 2], label: f32[B]) -> (loss: f32[]) { return mean(log(sum(x * @w * 0.0, axes=[1]) - 1.0)) }
train = sgd(grad(loss), lr=0.1)
)";
  TrainerOptions options = Options("a");
  options.valid.reset();
  options.valid_every = 0;
  options.max_refused = 3;
  Trainer trainer(fs_, FlatFrom(kBad), options);
  try {
    trainer.Run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("train: 4 steps in a row were refused"));
  }
  EXPECT_EQ(trainer.counters().refused, 4);
  EXPECT_EQ(trainer.state().step(), 0);
}

TEST_F(TrainerTest, KeysOfComingBatchesAreThoseThatLookupAsksFor) {
  const Program flat = FlatFrom(kShop);
  const auto lookups = FindArgumentLookups(flat, *flat.items.FindFunction("train"));
  ASSERT_EQ(lookups.size(), 2u);
  EXPECT_EQ(lookups[0].table, "taste");
  EXPECT_EQ(lookups[0].argument, 0);
  EXPECT_EQ(lookups[0].salt, FeatureSalt("user"));
  EXPECT_EQ(lookups[1].salt, FeatureSalt("item"));
}

TEST_F(TrainerTest, ALabelThatNoLossTakesWasLearnedFrom) {
  WriteFileAtomically(fs_, Path("bad.csv"),
                      "user,item,x0,x1,label\n1,2,0,1,1\n3,4,1,0,1e30\n5,6,1,1,0\n");
  TrainerOptions options = Options("");
  options.resume = false;
  options.valid.reset();
  options.data.paths = {Path("bad.csv")};
  options.feed.bind["x"] = {"x0", "x1"};
  options.data.pipeline.epochs = 1;
  const auto train = [&] { return Trainer(fs_, FlatFrom(kShop), options).Run(); };
  try {
    train();
    ADD_FAILURE() << "it was learned from";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.what(), HasSubstr("bad.csv:3: column 'label': found 1e+30, wanted a number "
                                        "from 0 to 1 (binary_cross_entropy, "));
  }
  options.data.reader.bad_rows.limit = 1;
  EXPECT_EQ(train().counters.rows, 2);
}

// kShop without its function evaluate, so that validations run the loss.
std::string ShopWithoutEvaluate() {
  std::string text = kShop;
  const size_t begin = text.find("fn evaluate"), end = text.find("train = ");
  return text.erase(begin, end - begin);
}

TEST_F(TrainerTest, ALossThatSaysTrainingWasEvaluatedWithDropout) {
  Program flat = FlatFrom(ShopWithoutEvaluate());
  const EntryPoints entry = FindEntryPoints(flat);
  const auto state = State::Create(flat, 1, {});
  const auto measure = [&](const std::string& function) {
    EntryPoints of = entry;
    of.evaluate = function;
    const TrainData data{.paths = {Path("valid.rec")}};
    const OpenedData opened = OpenTrainData(fs_, data, flat, {function}, {}, {});
    Evaluator evaluator(flat, of, opened.pipeline->schema(), {{"log_loss"}, {}, {}});
    while (const Batch* batch = opened.pipeline->Next()) evaluator.Add(*state, batch->rows);
    return evaluator.Values();
  };
  const MetricValues with = measure(entry.evaluate);
  const MetricValues without = measure(WithoutTraining(flat, entry.evaluate));
  // infer has no dropout: then the loss is the log loss of what it predicts.
  EXPECT_NEAR(*FindMetric(without, "loss"), *FindMetric(without, "log_loss"), 1e-5);
  EXPECT_GT(std::abs(*FindMetric(with, "loss") - *FindMetric(with, "log_loss")), 1e-4);
}

TEST_F(TrainerTest, ALossThatCannotBeEvaluatedWithoutTrainingSaysSo) {
  std::string text = ShopWithoutEvaluate();
  const auto replace = [&](std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("training: static bool = false", "training: static bool");
  replace("return net(user, item, x)", "return reshape(fc(concat(x, x, x, axis=1)), [B])");
  Program flat = FlatFrom(text);
  const EntryPoints entry = FindEntryPoints(flat);
  try {
    WithoutTraining(flat, entry.evaluate);
    ADD_FAILURE() << "it said nothing";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.ctm:15"));
    EXPECT_THAT(error.what(), HasSubstr("there is no net[training=false]"));
  }
}

TEST_F(TrainerTest, AStateWasUsedWithOtherFeaturesThanItWasTrainedWith) {
  const auto options = [&](const std::string& features, const std::string& out) {
    TrainerOptions made = Options(out);
    made.data.features = MakeFeatures(fs_, features, "shop.features");
    made.valid->features = made.data.features;
    made.data.pipeline.epochs = 1;
    return made;
  };
  const std::string before = "user = hash(user)\nitem = hash(item)\nx = x\nlabel = label\n";
  const std::string other = "user = hash(item)\nitem = hash(item)\nx = x\nlabel = label\n";
  Run(options(before, "a"), 3);
  const auto message = [&](const TrainerOptions& wanted) -> std::string {
    try {
      Trainer(fs_, FlatFrom(kShop), wanted);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message(options(other, "a")),
              HasSubstr("the state was trained with other features than shop.features has now: "
                        "shop.features:1: output user is hash(item) and was hash(user)"));
  TrainerOptions from = options(other, "b");
  from.from = Path("a/latest");
  EXPECT_THAT(message(from), HasSubstr("output user is hash(item)"));
  from.allow_changed_features = true;
  EXPECT_EQ(message(from), "");
  TrainerOptions allowed = options(other, "a");
  allowed.allow_changed_features = true;
  EXPECT_EQ(message(allowed), "");
  EXPECT_EQ(message(options("// the same\n" + before, "a")), "");
  // Rows that features made before go on under the same record.
  TrainerOptions made = Options("c");
  made.from = Path("a/latest");
  made.data.pipeline.epochs = 1;
  Run(made, 2);
  EXPECT_THAT(message(options(other, "c")), HasSubstr("output user is hash(item)"));
}

}  // namespace
}  // namespace catamaran
