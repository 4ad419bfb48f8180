// catamaran table info|get|export|import|verify|diff

#include <fmt/format.h>

#include <charconv>

#include "catamaran/base/suggest.h"
#include "cli/table/commands.h"

namespace catamaran::cli {

int FeatureNamed(const std::vector<std::string>& features, const std::string& name,
                 const std::string& where) {
  for (size_t i = 0; i < features.size(); ++i) {
    if (features[i] == name) return static_cast<int>(i) + 1;
  }
  if (features.empty()) Fail("{}: the table declares no features; found {}", where, name);
  const std::vector<std::string_view> names(features.begin(), features.end());
  const std::string close = Suggest(name, names);
  Fail("{}: there is no feature {}; {}", where, name,
       close.empty() ? fmt::format("there is {}", fmt::join(features, ", "))
                     : "did you mean " + close + "?");
}

uint64_t ParseKey(std::string_view text, const std::string& where) {
  uint64_t key = 0;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), key, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) {
    Fail("{}: the key {} is beyond {}", where, text, UINT64_MAX);
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    Fail("{}: '{}' is not a key: wanted a number from 0 to {}", where, text, UINT64_MAX);
  }
  return key;
}

void AddTable(CLI::App& app, Session& session) {
  auto* table = app.add_subcommand("table", "Look into saved tables; export and import rows");
  table->require_subcommand(1);
  AddTableInfo(*table, session);
  AddTableGet(*table, session);
  AddTableExport(*table, session);
  AddTableImport(*table, session);
  AddTableVerify(*table, session);
  AddTableDiff(*table, session);
  table->footer(
      "\nTables are named by the directory of a saved state and a path, as the program declares "
      "it:\n"
      "model @feat. Row files (exports, increments) are named by themselves. Only import changes\n"
      "anything; the others may run while a trainer commits to the directory.\n"
      "\nExamples:\n"
      "  catamaran table info model\n"
      "  catamaran table get model @feat 17 0xff --feature user\n"
      "  catamaran table export model @feat feat.csv --metadata\n"
      "  catamaran table export model @feat feat.rows --store int8 --min-score 1\n"
      "  catamaran table import model @feat feat.csv --program ctr.ctm\n"
      "  catamaran table verify model\n"
      "  catamaran table diff model @feat --commits 6 7\n"
      "\n`catamaran table COMMAND --help` explains a command; docs/tables.md tables.");
}

}  // namespace catamaran::cli
