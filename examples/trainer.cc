// Training from C++: a program learns from rows in memory, with hooks that look at each step, and
// stops when it is good enough.
//
//   example_trainer OUT
//
// OUT is a directory for the run: its states, metrics.jsonl and report.html.

#include "catamaran/train/trainer.h"

#include <fmt/core.h>

#include <cmath>
#include <random>

#include "catamaran/base/error.h"
#include "catamaran/data/records/record_writer.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

using namespace catamaran;

namespace {

constexpr const char* kProgram = R"(program circle
net = mlp([2, 32, 1], activation=tanh)
fn infer(x: f32[B, 2]) -> (inside: f32[B]) { return sigmoid(reshape(net(x), [B])) }
fn loss(x: f32[B, 2], label: f32[B]) -> (loss: f32[]) {
  p = infer(x)
  return mean(binary_cross_entropy(p, label))
}
train = adam(grad(loss), lr=0.01)
)";

// Points of a square, and whether they are in a circle.
void WritePoints(FileSystem& fs, const std::string& path, int64_t count, uint64_t seed) {
  const Schema schema({Column::Dense("x", DType::kF32, {2}), Column::Dense("label", DType::kU8)});
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  RowBlock rows(schema);
  for (int64_t i = 0; i < count; ++i) {
    const float x = uniform(random), y = uniform(random);
    rows[0].floats.push_back(x);
    rows[0].floats.push_back(y);
    rows[1].bytes.push_back(x * x + y * y < 0.5f ? 1 : 0);
    rows.FinishRow();
  }
  RecordWriter writer(fs, path, schema);
  writer.Add(rows);
  writer.Finish();
}

int Run(const std::string& out) {
  FileSystem& fs = PosixFileSystem();
  RemoveTree(fs, out);
  fs.MakeDirectories(out);
  WritePoints(fs, JoinPath(out, "train.rec"), 4000, 1);
  WritePoints(fs, JoinPath(out, "valid.rec"), 1000, 2);
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  Program flat = Flatten(Parse(kProgram, "circle.ctm", ops, *builders), *builders);

  TrainerOptions options;
  options.data.paths = {JoinPath(out, "train.rec")};
  options.data.pipeline.batch_rows = 64;
  options.data.pipeline.shuffle_window = 4000;
  options.data.pipeline.epochs = 100;
  options.valid.emplace().paths = {JoinPath(out, "valid.rec")};
  options.out = JoinPath(out, "run");
  options.fetch = {"p"};  // a value inside of train: what it predicted before it learned
  Trainer trainer(fs, std::move(flat), options);

  double sure = 0;  // how far from 0.5 predictions are, in the last step
  trainer.hooks().after_step = [&](TrainStep& step) {
    const auto p = step.Fetched("p").data<float>();
    sure = 0;
    for (const float value : p) sure += std::abs(value - 0.5) / static_cast<double>(p.size());
  };
  trainer.hooks().after_validation = [&](const Validation& v) {
    const double accuracy = *FindMetric(v.values, "accuracy");
    fmt::print("step {}: accuracy {:.3f}, predictions are {:.2f} from one half\n", v.step, accuracy,
               sure);
    if (accuracy > 0.98) trainer.Stop();
  };
  const TrainSummary summary = trainer.Run();
  fmt::print("{} steps; best {} {:.4f}; see {}\n", summary.counters.batches, summary.best_metric,
             summary.counters.best.value, JoinPath(options.out, "report.html"));
  return *FindMetric(summary.last_validation->values, "accuracy") > 0.98 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: example_trainer OUT\n");
    return 2;
  }
  try {
    return Run(argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
