// catamaran import FILE WEIGHTS.safetensors --names RULES --out DIR

#include "catamaran/commit/foreign_weights.h"
#include "catamaran/commit/state_file.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

struct ImportCommand {
  std::string file, weights, names, out;
  uint64_t seed = 1;
  ImportOptions options;
};

ExitCode ImportInto(Session& session, const ImportCommand& command) {
  ProgramFile file = LoadProgram(session, command.file);
  std::optional<NameRules> rules;
  if (!command.names.empty()) {
    CheckReadable(session.fs, command.names);
    rules = NameRules::Parse(session.fs.ReadAll(command.names), command.names);
  }
  CheckReadable(session.fs, command.weights);
  const SafetensorsFile weights = ReadSafetensors(session.fs, command.weights);

  StateOptions options;
  options.tables.scratch = ScratchOf(command.out);
  const auto lock = Outside([&] { return LockState(session.fs, command.out); });
  if (HasState(session.fs, command.out)) {
    throw CommandError(kUsage, fmt::format("{} holds a state already", command.out));
  }
  const auto state = State::Create(file.flat, command.seed, options);
  const ImportSummary summary =
      ImportWeights(*state, weights, command.weights, rules ? &*rules : nullptr, command.options);
  Outside([&] { SaveState(session.fs, command.out, file.flat, *state); });

  for (const std::string& path : summary.initialised) {
    fmt::print(stderr, "note: @{} keeps its initial value\n", path);
  }
  for (const size_t rule : summary.unused) {
    fmt::print(stderr, "note: {}: fits no tensor\n", rules->Describe(rule));
  }
  fmt::print("{} of {} tensors are states of {} now, saved in {}\n", summary.loaded,
             weights.tensors.size(), file.flat.name, command.out);
  return kOk;
}

}  // namespace

void AddImport(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("import", "Make a state of weights that another system saved");
  const auto command = std::make_shared<ImportCommand>();
  sub->add_option("FILE", command->file, "program file (.ctm)")->required();
  sub->add_option("WEIGHTS", command->weights, "a safetensors file")->required();
  sub->add_option("--names", command->names,
                  "a file of lines NAME -> @PATH (without it, tensors are called by our paths)");
  sub->add_option("--out", command->out, "directory for the state")->required();
  sub->add_option("--seed", command->seed, "of what the weights leave open (1)");
  sub->add_flag("--allow-new", command->options.allow_new,
                "params that the weights lack keep their initial value");
  sub->add_flag("--allow-missing", command->options.allow_missing,
                "tensors that have no place in the program are left out");
  sub->footer(
      "\nLines of --names, of which the first that fits a tensor counts:\n"
      "  fc.weight -> @fc.w transposed        a matrix with its axes exchanged\n"
      "  *bn*.weight -> @*bn*.scale           * stands for any characters\n"
      "  *.num_batches_tracked -> none        left out\n"
      "Floats of another width are converted; shapes must be equal. Nothing is written unless\n"
      "everything fits.\n"
      "\nExamples:\n"
      "  catamaran import models/imagenet/resnet50.ctm resnet50.safetensors \\\n"
      "    --names models/imagenet/resnet50.names --out resnet50\n"
      "  catamaran run models/imagenet/resnet50.ctm infer --state resnet50 \\\n"
      "    --feed image=image.npy --fetch out0=classes.npy");
  sub->callback([&session, command] {
    session.action = [&session, command] { return ImportInto(session, *command); };
  });
}

}  // namespace catamaran::cli
