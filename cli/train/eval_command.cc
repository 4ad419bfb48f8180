// catamaran eval FILE --state DIR --data … [--metric …] [--json]

#include "catamaran/train/evaluation_form.h"
#include "catamaran/train/evaluator.h"
#include "cli/progress.h"
#include "cli/table/words.h"
#include "cli/train/commands.h"

namespace catamaran::cli {
namespace {

struct EvalCommand {
  ModelOptions model;
  std::string state;
  MatchFlags match;
  bool json = false;
};

ExitCode Eval(Session& session, const EvalCommand& command) {
  FeedOptions feed = FeedOptionsOf(command.model);
  const TrainData data = DataOf(session, command.model, command.model.input.paths);
  ProgramFile file = LoadProgram(session, command.model.file);
  EntryPoints wanted = EntryPointsOf(command.model);
  wanted.train.clear();
  EntryPoints entry = FindEntryPoints(file.flat, wanted);
  entry.evaluate = WithoutTraining(file.flat, entry.evaluate);
  const std::string directory = FindStateDirectory(session, command.state);
  feed.data = NameOf(data);
  std::vector<std::string> functions;
  if (!entry.evaluate.empty()) functions.push_back(entry.evaluate);
  if (!entry.infer.empty()) functions.push_back(entry.infer);
  const OpenedData opened = OpenTrainData(session.fs, data, file.flat, functions, feed, {});
  ScorerOptions options{command.model.metrics, feed, {}};
  options.compile.threads = command.model.threads;
  Evaluator evaluator(file.flat, entry, opened.pipeline->schema(), options);
  const auto state = LoadStateOf(session, directory, file.flat, command.match, data, entry, feed);
  {
    Progress progress("Evaluating");
    while (const Batch* batch = opened.pipeline->Next()) {
      evaluator.Add(*state, batch->rows);
      if (!opened.rows) continue;
      progress.Show(static_cast<double>(evaluator.rows()) / static_cast<double>(*opened.rows));
    }
  }
  if (evaluator.rows() == 0) throw Error(fmt::format("{}: there are no rows", feed.data));
  const MetricValues values = evaluator.Values();
  if (command.json) {
    Json json = {{"state", directory}, {"step", state->step()}, {"rows", evaluator.rows()}};
    for (const auto& [name, value] : values) json["metrics"][name] = NumberJson(value);
    fmt::print("{}\n", json.dump());
    return kOk;
  }
  fmt::print("{} (step {}) on {} of {}\n", directory, state->step(),
             CountText(evaluator.rows(), "row"), feed.data);
  for (const auto& [name, value] : values) fmt::print("{} = {}\n", name, MetricText(value));
  return kOk;
}

}  // namespace

void AddEval(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("eval", "How good a trained state is on some rows");
  const auto command = std::make_shared<EvalCommand>();
  AddModelOptions(*sub, command->model);
  AddMetricOptions(*sub, command->model);
  sub->add_option("--state", command->state, "directory of a run (its best), or of a state")
      ->required();
  AddMatchOptions(*sub, command->match);
  sub->add_flag("--json", command->json, "one line of JSON");
  sub->footer(
      "\nPrints what the program's function evaluate (or loss.pure) says, averaged by rows, and\n"
      "metrics of what infer predicts against the labels: the arguments that infer lacks.\n"
      "\nExamples:\n"
      "  catamaran eval ctr.ctm --state runs/ctr --data test.rec\n"
      "  catamaran eval ctr.ctm --state runs/ctr/latest --data test.rec --metric auc --json");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Eval(session, *command); };
  });
}

}  // namespace catamaran::cli
