// catamaran data convert IN... OUT.rec [--columns …] [--schema FILE] [--bad-rows N] …

#include "catamaran/data/records/record_writer.h"
#include "cli/data/commands.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ConvertCommand {
  DataInput input;  // the last of its paths is where the records go, until Convert takes it away
  RecordWriterOptions writer;
  bool plain = false;
};

ExitCode Convert(const Session& session, ConvertCommand command) {
  if (command.input.paths.size() < 2) throw CommandError(kUsage, "wanted IN... OUT.rec");
  const std::string out = command.input.paths.back();
  command.input.paths.pop_back();
  // So that a forgotten OUT does not overwrite the last of the inputs.
  if (!out.ends_with(".rec")) {
    throw CommandError(kUsage, fmt::format("{}: wanted a name that ends in .rec", out));
  }
  command.writer.compress = !command.plain;
  const auto reader = OpenInput(session, command.input);
  std::unique_ptr<RecordWriter> writer;
  Outside([&] {
    writer = std::make_unique<RecordWriter>(session.fs, out, reader->schema(), command.writer);
  });
  ForEachBlock(*reader, "Converting to " + out,
               [&](const RowBlock& block) { Outside([&] { writer->Add(block); }); });
  Outside([&] { writer->Finish(); });
  ReportSkipped(*reader);
  fmt::print("{} in {} ({})\n", CountText(writer->rows(), "row"), out,
             BytesText(session.fs.OpenRead(out)->size()));
  return kOk;
}

}  // namespace

void AddDataConvert(CLI::App& data, Session& session) {
  auto* sub = data.add_subcommand("convert", "Files of any format to one of records");
  const auto command = std::make_shared<ConvertCommand>();
  sub->add_option("IN", command->input.paths, "files of rows; then where the records go")
      ->required()
      ->type_name("... OUT.rec");
  AddInputOptions(*sub, command->input);
  AddBadRowsOption(*sub, command->input);
  sub->add_option("--rows-per-block", command->writer.rows_per_block,
                  "rows that are packed together (4096)");
  sub->add_flag("--plain", command->plain, "no zstd, also where it would save much");
  sub->footer(
      "\nSeveral files become one, in the order in which they stand here; all must have the same\n"
      "columns. OUT.rec is written whole or not at all.\n"
      "\nExamples:\n"
      "  catamaran data convert day1.csv day2.csv days.rec\n"
      "  catamaran data convert clicks.tsv clicks.rec --columns label,user,item --bad-rows 100");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Convert(session, *command); };
  });
}

}  // namespace catamaran::cli
