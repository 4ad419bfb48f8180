// catamaran data stats IN... [--json]

#include "catamaran/data/column_stats.h"
#include "cli/data/commands.h"
#include "cli/data/text_table.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct StatsCommand {
  DataInput input;
  bool json = false;
};

bool HasNumbers(const Column& column) { return column.kind != ColumnKind::kString; }

std::string LengthText(const Column& column, const ColumnStats& stats) {
  if (column.kind == ColumnKind::kDense || stats.rows == 0) return "";
  const double mean = static_cast<double>(stats.elements) / static_cast<double>(stats.rows);
  if (stats.min_length == stats.max_length) return fmt::format("{}", stats.min_length);
  return fmt::format("{} to {}, mean {:.4g}", stats.min_length, stats.max_length, mean);
}

std::vector<std::string> Line(const Column& column, const ColumnStats& stats) {
  const bool none = stats.elements == 0 || !HasNumbers(column) ||
                    (column.dtype == DType::kF32 && stats.missing == stats.elements);
  const bool floats = column.dtype == DType::kF32;
  const auto number = [&](double real, int64_t integer) {
    return none ? "" : floats ? fmt::format("{:.6g}", real) : fmt::format("{}", integer);
  };
  return {column.name,
          column.KindText(),
          WithCommas(stats.missing),
          WithCommas(stats.distinct),
          number(stats.min, stats.min_int),
          number(stats.max, stats.max_int),
          none || column.kind != ColumnKind::kDense ? "" : fmt::format("{:.6g}", stats.mean),
          LengthText(column, stats)};
}

Json StatsJson(const Column& column, const ColumnStats& stats) {
  Json out;
  out["column"] = column.name;
  out["kind"] = column.KindText();
  out["missing"] = stats.missing;
  out["elements"] = stats.elements;
  out["distinct"] = stats.distinct;
  const bool floats = column.dtype == DType::kF32;
  if (HasNumbers(column) && stats.elements > (floats ? stats.missing : 0)) {
    out["min"] = floats ? NumberJson(stats.min) : Json(stats.min_int);
    out["max"] = floats ? NumberJson(stats.max) : Json(stats.max_int);
    if (column.kind == ColumnKind::kDense) out["mean"] = NumberJson(stats.mean);
  }
  out["min_length"] = stats.min_length;
  out["max_length"] = stats.max_length;
  return out;
}

ExitCode Stats(const Session& session, const StatsCommand& command) {
  const auto reader = OpenInput(session, command.input);
  const Schema& schema = reader->schema();
  std::vector<ColumnStatsCollector> collectors;
  for (const Column& column : schema) collectors.emplace_back(column);
  int64_t rows = 0;
  ForEachBlock(*reader, "Reading", [&](const RowBlock& block) {
    rows += block.rows();
    for (int c = 0; c < schema.size(); ++c) {
      collectors[static_cast<size_t>(c)].Add(block[c], block.rows());
    }
  });
  ReportSkipped(*reader);
  if (command.json) {
    Json out;
    out["rows"] = rows;
    out["bad_rows"] = reader->bad_rows();
    out["columns"] = Json::array();
    for (int c = 0; c < schema.size(); ++c) {
      out["columns"].push_back(StatsJson(schema[c], collectors[static_cast<size_t>(c)].Finish()));
    }
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  using enum Align;
  std::vector<std::vector<std::string>> lines = {
      {"column", "kind", "missing", "distinct", "min", "max", "mean", "length"}};
  for (int c = 0; c < schema.size(); ++c) {
    lines.push_back(Line(schema[c], collectors[static_cast<size_t>(c)].Finish()));
  }
  fmt::print("{}\n", CountText(rows, "row"));
  PrintTable({kLeft, kLeft, kRight, kRight, kRight, kRight, kRight, kLeft}, lines);
  return kOk;
}

}  // namespace

void AddDataStats(CLI::App& data, Session& session) {
  auto* sub = data.add_subcommand("stats", "What the values of each column are like");
  const auto command = std::make_shared<StatsCommand>();
  sub->add_option("IN", command->input.paths, "files of rows")->required()->type_name("...");
  AddInputOptions(*sub, command->input);
  AddBadRowsOption(*sub, command->input);
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer(
      "\nmissing: rows without ids or text; of f32, numbers that are NaN. distinct: about how "
      "many\n"
      "different values there are, within a few percent. length: of lists of ids and of texts, in\n"
      "ids and bytes.\n"
      "\nExamples:\n"
      "  catamaran data stats days.rec\n"
      "  catamaran data stats clicks.tsv --columns user,item --json");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Stats(session, *command); };
  });
}

}  // namespace catamaran::cli
