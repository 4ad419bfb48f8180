// catamaran predict FILE --state DIR --data … --out rows.jsonl [--keep COLUMN,...]

#include <algorithm>

#include "catamaran/exec/compile.h"
#include "cli/npy_values.h"
#include "cli/progress.h"
#include "cli/table/words.h"
#include "cli/train/commands.h"
#include "cli/train/prediction_rows.h"
#include "cli/train/row_writer.h"

namespace catamaran::cli {
namespace {

struct PredictCommand {
  ModelOptions model;
  std::string state, out;
  std::vector<std::string> keep;
  MatchFlags match;
};

// Of the columns that infer needs, and those that are kept; labels need not be there.
ReaderOptions ReaderFor(const FileSystem& fs, const TrainData& data, const Program& flat,
                        const EntryPoints& entry, const FeedOptions& feed,
                        const std::vector<std::string>& keep) {
  if (data.features) {
    return ReaderOf(*data.features, data.reader,
                    OutputsFor(*data.features, flat, {entry.infer}, feed, {}), keep);
  }
  ReaderOptions reader = data.reader;
  reader.need_columns = true;
  if (!reader.columns.empty()) return reader;
  const Schema all = reader.schema ? *reader.schema : OpenReader(fs, data.paths, reader)->schema();
  const FeedBinding binding(flat, *flat.items.FindFunction(entry.infer), all, feed);
  reader.columns = binding.Columns();
  for (const std::string& column : keep) {
    if (std::ranges::count(reader.columns, column) == 0) reader.columns.push_back(column);
  }
  return reader;
}

ExitCode Predict(Session& session, const PredictCommand& command) {
  FeedOptions feed = FeedOptionsOf(command.model);
  const TrainData data = DataOf(session, command.model, command.model.input.paths);
  feed.data = NameOf(data);
  ProgramFile file = LoadProgram(session, command.model.file);
  EntryPoints wanted = EntryPointsOf(command.model);
  wanted.train.clear();
  const EntryPoints entry = FindEntryPoints(file.flat, wanted);
  if (entry.infer.empty()) {
    throw Error(fmt::format("{} has no function infer; name one with --infer-fn", file.flat.name));
  }
  const std::string directory = FindStateDirectory(session, command.state);
  // Rows are kept as they were read, so they are read here and transformed one block at a time.
  const auto reader = OpenReader(session.fs, data.paths,
                                 ReaderFor(session.fs, data, file.flat, entry, feed, command.keep));
  std::shared_ptr<const RowTransform> transform;
  if (data.features) {
    transform = BindFeatures(*data.features, reader->schema(), file.flat, {entry.infer}, feed, {});
  }
  const Schema& schema = transform != nullptr ? transform->schema() : reader->schema();
  const FeedBinding binding(file.flat, *file.flat.items.FindFunction(entry.infer), schema, feed);
  Feeder feeder(binding);
  CompileOptions compile;
  compile.threads = command.model.threads;
  const auto infer = Compile(file.flat, entry.infer, compile);
  std::vector<std::string> names;
  for (size_t i = 0; i < infer->num_outputs(); ++i) names.push_back(ResultName(*infer, i));
  PredictionRows rows(reader->schema(), command.keep, std::move(names));
  const auto writer = MakeRowWriter(session.fs, command.out);
  const auto state = LoadStateOf(session, directory, file.flat, command.match, data, entry, feed);

  Progress progress("Predicting");
  const auto total = reader->num_rows();
  RowBlock block, transformed;
  int64_t done = 0;
  while (reader->Read(command.model.batch, block)) {
    if (transform != nullptr) transform->Apply(block, transformed);
    const RunResult result =
        infer->Run(*state, feeder.Feed(transform != nullptr ? transformed : block));
    writer->Add(rows.Make(block, result));
    done += block.rows();
    if (total) progress.Show(static_cast<double>(done) / static_cast<double>(*total));
  }
  if (done == 0) throw Error(fmt::format("{}: there are no rows", feed.data));
  writer->Finish();
  ReportSkipped(*reader);
  fmt::print("{} in {}, from {} (step {})\n", CountText(done, "row"), command.out, directory,
             state->step());
  return kOk;
}

}  // namespace

void AddPredict(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("predict", "Predictions for files of rows: rows in, rows out");
  const auto command = std::make_shared<PredictCommand>();
  AddModelOptions(*sub, command->model);
  sub->add_option("--state", command->state, "directory of a run (its best), or of a state")
      ->required();
  AddMatchOptions(*sub, command->match);
  sub->add_option("--out", command->out, "FILE.jsonl, .csv, .tsv, .rec or .npy")->required();
  sub->add_option("--keep", command->keep, "columns of the input that stand before the predictions")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  sub->footer(
      "\nOne row comes out for each row that goes in, in the same order: the kept columns, then "
      "the\n"
      "results of infer under their names (or out0, out1, …). The file is written whole or not at "
      "all.\n"
      "\nExamples:\n"
      "  catamaran predict ctr.ctm --state runs/ctr --data new.csv --out scores.csv --keep user\n"
      "  catamaran predict mnist.ctm --state runs/mnist/latest --data t10k.rec --out p.npy");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Predict(session, *command); };
  });
}

}  // namespace catamaran::cli
