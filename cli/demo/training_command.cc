// catamaran demo training: makes data, trains a small program, saves it, loads it, uses it.

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "catamaran/commit/state_file.h"
#include "catamaran/data/npy.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "cli/demo/commands.h"
#include "cli/demo/demo_data.h"
#include "cli/demo/demo_program.h"

namespace catamaran::cli {
namespace {

constexpr int64_t kBatch = 128;
constexpr int64_t kHeldOut = 2000;
constexpr uint64_t kDataSeed = 20;

struct TrainingOptions {
  std::string out;
  int64_t steps = 12000;
  uint64_t seed = 1;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One line that is overwritten on a terminal; elsewhere a line now and then.
class Progress {
 public:
  explicit Progress(int64_t steps) : steps_(steps), live_(IsTerminal(stdout)) {}

  void Report(int64_t step, float loss, float accuracy) {
    const bool last = step == steps_;
    const double now = SecondsSince(start_);
    if (!last &&
        (live_ ? now - reported_ < 0.05 : step % (std::max<int64_t>(1, steps_ / 10)) != 0)) {
      return;
    }
    reported_ = now;
    fmt::print("{}  step {:>5} of {}   loss {:.4f}   accuracy {:5.1f} %   {:>7.0f} examples/s{}",
               live_ ? "\r" : "", step, steps_, loss, 100 * accuracy,
               static_cast<double>(step * kBatch) / std::max(now, 1e-9), live_ ? "\x1b[K" : "\n");
    if (live_ && last) fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  const int64_t steps_;
  const bool live_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double reported_ = 0;
};

std::string DefaultFolder(const FileSystem& fs) {
  if (fs.IsDirectory("build")) return "build/demo";
  const char* temporary = std::getenv("TMPDIR");
  return JoinPath(temporary == nullptr ? "/tmp" : temporary,
                  fmt::format("catamaran-demo-{}", getuid()));
}

void Train(const Executable& train, State& state, int64_t steps) {
  Progress progress(steps);
  // The last few hundred steps, averaged: one batch says little.
  float loss = 0, accuracy = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const SpiralPoints batch = MakeSpirals(kDataSeed, kHeldOut + (step - 1) * kBatch, kBatch);
    const FeedValue feeds[] = {batch.x, batch.label};
    const RunResult result = train.Run(state, feeds);
    const float weight = std::max(0.02f, 1.0f / static_cast<float>(step));
    loss += weight * (result.outputs[0].item<float>() - loss);
    accuracy += weight * (result.outputs[1].item<float>() - accuracy);
    progress.Report(step, loss, accuracy);
  }
}

// How many of the held-out points `probability` has right.
double Accuracy(const Tensor& probability, const Tensor& label) {
  const auto p = probability.data<float>();
  const auto wanted = label.data<float>();
  int64_t right = 0;
  for (size_t i = 0; i < p.size(); ++i) right += (p[i] > 0.5f) == (wanted[i] > 0.5f);
  return static_cast<double>(right) / static_cast<double>(p.size());
}

void PrintNext(const Session& session, const std::string& folder) {
  const std::string program = JoinPath(folder, "spiral.ctm");
  const std::string& me = session.program;
  fmt::print("\n{}\n", session.out.Bold("Try next"));
  fmt::print("  {} show {}\n", me, program);
  fmt::print("  {} show {} --fn train --expand\n", me, program);
  fmt::print("  {} show {} --fn train --cost --dim B={}\n", me, program, kBatch);
  fmt::print("  {} run {} infer --state {} --feed x={} --fetch probability={}\n", me, program,
             JoinPath(folder, "state"), JoinPath(folder, "x.npy"), JoinPath(folder, "p.npy"));
  fmt::print("  {} run {} train --state {} --feed x={} --feed label={}\n", me, program,
             JoinPath(folder, "state"), JoinPath(folder, "x.npy"), JoinPath(folder, "label.npy"));
  fmt::print("  Change {} (the sizes of net, say), then `{} check` it.\n", program, me);
}

ExitCode Demo(Session& session, const TrainingOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  FileSystem& fs = session.fs;
  const std::string folder = options.out.empty() ? DefaultFolder(fs) : options.out;
  const std::string program_path = JoinPath(folder, "spiral.ctm");
  const std::string state_path = JoinPath(folder, "state");
  const SpiralPoints held_out = MakeSpirals(kDataSeed, 0, kHeldOut);
  const auto lock = Outside([&] {
    fs.MakeDirectories(folder);
    WriteFileAtomically(fs, program_path, std::string_view(kSpiralProgram));
    WriteNpy(fs, JoinPath(folder, "x.npy"), held_out.x);
    WriteNpy(fs, JoinPath(folder, "label.npy"), held_out.label);
    return LockState(fs, state_path);
  });

  fmt::print("{}\n{}\n", session.out.Bold(program_path), session.out.Dim(kSpiralProgram));
  ProgramFile file = LoadProgram(session, program_path);
  const auto train = Compile(file.flat, "train");
  const auto infer = Compile(file.flat, "infer");
  {
    const auto state = State::Create(file.flat, options.seed);
    fmt::print("{} ({} examples a step)\n", session.out.Bold("Training"), kBatch);
    Train(*train, *state, options.steps);
    Outside([&] { SaveState(fs, state_path, file.flat, *state); });
  }
  fmt::print("Saved in {}.\n\n", state_path);

  const LoadedState loaded = LoadState(fs, state_path, file.flat);
  const FeedValue feeds[] = {held_out.x};
  const Tensor probability = infer->Run(*loaded.state, feeds).outputs[0];
  fmt::print("{}\n", session.out.Bold("What the loaded model says of points it has never seen"));
  fmt::print("{}", DrawPoints(held_out.x, probability, 56, 24));
  fmt::print(
      "{} of {} held-out points are right ({:.1f} s in all).\n",
      session.out.Green(fmt::format("{:.1f} %", 100 * Accuracy(probability, held_out.label))),
      kHeldOut, SecondsSince(start));
  PrintNext(session, folder);
  return kOk;
}

}  // namespace

void AddTrainingDemo(CLI::App& demo, Session& session) {
  auto* command =
      demo.add_subcommand("training", "Train a small program on made-up data, and use it");
  const auto options = std::make_shared<TrainingOptions>();
  command->add_option("--out", options->out,
                      "where program, data and state go (build/demo, or a folder in /tmp)");
  command->add_option("--steps", options->steps, "training steps")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the state")->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return Demo(session, *options); };
  });
}

}  // namespace catamaran::cli
