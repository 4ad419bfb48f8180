// catamaran data convert|head|stats|check|batches

#include "cli/data/commands.h"

namespace catamaran::cli {

void AddData(CLI::App& app, Session& session) {
  auto* data = app.add_subcommand("data", "Look into files of rows; convert them to records");
  data->require_subcommand(1);
  AddDataConvert(*data, session);
  AddDataHead(*data, session);
  AddDataStats(*data, session);
  AddDataCheck(*data, session);
  AddDataBatches(*data, session);
  data->footer(
      "\nExamples:\n"
      "  catamaran data convert day1.csv day2.csv days.rec\n"
      "  catamaran data head days.rec\n"
      "  catamaran data stats days.rec\n"
      "  catamaran data check days.rec\n"
      "\n`catamaran data COMMAND --help` explains a command; docs/data.md formats and columns.");
}

}  // namespace catamaran::cli
