// catamaran data head IN... [-n N] [--skip N] [--json]

#include "cli/data/commands.h"
#include "cli/data/row_text.h"
#include "cli/data/text_table.h"

namespace catamaran::cli {
namespace {

struct HeadCommand {
  DataInput input;
  int64_t rows = 10;
  int64_t skip = 0;
  bool json = false, schema = false;
};

// Leaves the reader behind the rows, or at the end.
void Skip(RowReader& reader, int64_t rows) {
  if (const auto total = reader.num_rows()) {
    reader.SeekRow(std::min(rows, *total));
    return;
  }
  RowBlock block;
  while (rows > 0 && reader.Read(std::min<int64_t>(rows, 4096), block)) rows -= block.rows();
}

void PrintJson(const RowBlock& block) {
  for (int64_t r = 0; r < block.rows(); ++r) {
    Json row = Json::object();
    for (int c = 0; c < block.schema().size(); ++c) {
      row[block.schema()[c].name] = ValueJson(block.schema()[c], block[c], r);
    }
    // Bytes that are no UTF-8 are replaced: JSON has no other text.
    fmt::print("{}\n", row.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

ExitCode Head(const Session& session, const HeadCommand& command) {
  const auto reader = OpenInput(session, command.input);
  if (command.skip > 0) Skip(*reader, command.skip);
  const Schema& schema = reader->schema();
  if (command.schema) {
    fmt::print("{}", schema.ToString());
    return kOk;
  }
  std::vector<Align> align;
  std::vector<std::vector<std::string>> lines(2);
  for (const Column& column : schema) {
    const bool number = column.kind == ColumnKind::kDense && column.shape.rank() == 0;
    align.push_back(number ? Align::kRight : Align::kLeft);
    lines[0].push_back(column.name);
    lines[1].push_back(column.KindText());
  }
  int64_t left = command.rows;
  RowBlock block;
  while (left > 0 && reader->Read(left, block)) {
    left -= block.rows();
    if (command.json) {
      PrintJson(block);
      continue;
    }
    for (int64_t r = 0; r < block.rows(); ++r) {
      auto& line = lines.emplace_back();
      for (int c = 0; c < schema.size(); ++c) line.push_back(ValueText(schema[c], block[c], r));
    }
  }
  if (!command.json) PrintTable(align, lines);
  ReportSkipped(*reader);
  return kOk;
}

}  // namespace

void AddDataHead(CLI::App& data, Session& session) {
  auto* sub = data.add_subcommand("head", "The first rows, and what the columns are");
  const auto command = std::make_shared<HeadCommand>();
  sub->add_option("IN", command->input.paths, "files of rows")->required()->type_name("...");
  sub->add_option("-n,--rows", command->rows, "how many (10)")->check(CLI::NonNegativeNumber);
  sub->add_option("--skip", command->skip, "begin after as many rows (0)")
      ->check(CLI::NonNegativeNumber);
  AddInputOptions(*sub, command->input);
  AddBadRowsOption(*sub, command->input);
  sub->add_flag("--json", command->json, "whole values, an object on a line for each row");
  sub->add_flag("--print-schema", command->schema,
                "only the columns, as --schema reads them from a file");
  sub->footer(
      "\nNames and kinds of the columns stand above the rows. - is a missing value, … what is left "
      "out.\n"
      "\nExamples:\n"
      "  catamaran data head days.rec\n"
      "  catamaran data head days.rec --skip 1000000 -n 3 --columns label,user --json");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Head(session, *command); };
  });
}

}  // namespace catamaran::cli
