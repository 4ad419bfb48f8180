// catamaran show FILE [--fn F] [--expand] [--types] [--cost] [--dim NAME=SIZE] [--format F]

#include <algorithm>
#include <iterator>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/printer.h"
#include "cli/session.h"
#include "cli/show.h"

namespace catamaran::cli {
namespace {

struct ShowOptions {
  std::string file;
  std::string function;
  bool expand = false;
  bool types = false;
  bool cost = false;
  std::vector<std::string> dims;
  std::string format = "text";
};

// The text, where it can be shown as it was written.
std::string ShowText(ProgramFile& file, const ShowOptions& options) {
  const PrintOptions print{.types = options.types};
  const bool flat = options.expand || options.types;
  if (options.function.empty()) return Print(flat ? file.flat : file.written, print);
  if (!flat) {
    if (const Function* f = file.written.items.FindFunction(options.function)) {
      return Print(*f, file.written, print);
    }
  }
  const Function& f = FindOrDerive(file.flat, options.function);
  if (!options.expand) return Print(f, file.flat, print);
  return Print(*InlineCalls(file.flat, f), file.flat, print);
}

ExitCode Show(Session& session, const ShowOptions& options) {
  const DimBinding dims = ParseDims(options.dims);
  ProgramFile file = LoadProgram(session, options.file);
  if (options.format == "text" && !options.cost) {
    fmt::print("{}", ShowText(file, options));
    return kOk;
  }

  std::vector<const Function*> chosen;
  if (options.function.empty()) {
    for (const Function* f : file.flat.Functions()) chosen.push_back(f);
  } else {
    chosen.push_back(&FindOrDerive(file.flat, options.function));
  }
  // The cost of a function is that of all it calls.
  std::vector<std::unique_ptr<Function>> inlined;
  if (options.cost || (options.expand && !options.function.empty())) {
    for (const Function*& f : chosen) {
      inlined.push_back(InlineCalls(file.flat, *f));
      f = inlined.back().get();
    }
  }
  std::vector<CostTable> costs(chosen.size());
  std::vector<ShownFunction> shown;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (options.cost) costs[i] = CostOf(*chosen[i], dims);
    shown.push_back({chosen[i], options.cost ? &costs[i] : nullptr});
  }
  if (options.format == "dot") {
    fmt::print("{}", ToDot(file.flat, shown));
  } else if (options.format == "json") {
    fmt::print("{}\n", ToJson(file.flat, shown, options.function.empty()).dump(2));
  } else {
    for (size_t i = 0; i < shown.size(); ++i) {
      fmt::print("{}{}", i == 0 ? "" : "\n", CostText(file.flat, *chosen[i], costs[i]));
    }
  }
  return kOk;
}

}  // namespace

std::string CostText(const Program& flat, const Function& function, const CostTable& cost) {
  struct Row {
    std::string at, op, result, runs, operations, bytes;
  };
  std::vector<Row> rows = {{"line", "op", "result", "runs", "operations", "bytes"}};
  ForEachOp(function.body(), [&](Op& op) {
    const OpCost& c = cost.ops.at(&op);
    if (c.operations == 0 && c.bytes == 0) return;
    std::string name = op.name();
    for (const std::string& state : op.states) name += " @" + state;
    rows.push_back({flat.sources().ToString(op.at), name,
                    op.num_results() > 0 ? op.result()->type.ToString() : "",
                    Amount(cost.runs.at(&op)), Amount(c.operations), Amount(c.bytes)});
  });
  rows.push_back({"total", "", "", "", Amount(cost.total.operations), Amount(cost.total.bytes)});
  size_t at = 0, op = 0, result = 0;
  for (const Row& row : rows) {
    at = std::max(at, row.at.size());
    op = std::max(op, row.op.size());
    result = std::max(result, row.result.size());
  }
  std::string text = "fn " + function.name + "\n";
  for (const Row& row : rows) {
    fmt::format_to(std::back_inserter(text), "  {:<{}}  {:<{}}  {:<{}}  {:>6}  {:>10}  {:>8}\n",
                   row.at, at, row.op, op, row.result, result, row.runs, row.operations, row.bytes);
  }
  if (cost.unknown_loops) {
    text += "  Loops whose length is not known before the run count once.\n";
  }
  return text;
}

void AddShow(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("show", "Print a program: text, graph, JSON, cost");
  const auto options = std::make_shared<ShowOptions>();
  command->add_option("FILE", options->file, "program file (.ctm)")->required();
  command->add_option("--fn", options->function, "only this function");
  command->add_flag("--expand", options->expand,
                    "what builders make; of one function (--fn) all its ops, calls expanded");
  command->add_flag("--types", options->types, "types of values behind their lines, as comments");
  command->add_flag("--cost", options->cost, "operations and bytes of every op");
  command->add_option("--dim", options->dims, "a size for --cost: NAME=SIZE, e.g. B=32")
      ->allow_extra_args(false);
  command->add_option("--format", options->format, "text, dot (Graphviz) or json")
      ->check(CLI::IsMember({"text", "dot", "json"}));
  command->footer(
      "\nText parses back to the same program. dot and json always show the expanded program.\n"
      "\nExamples:\n"
      "  catamaran show examples/ctr.ctm\n"
      "  catamaran show examples/ctr.ctm --fn train --expand --types\n"
      "  catamaran show examples/ctr.ctm --fn infer --cost --dim B=32\n"
      "  catamaran show examples/ctr.ctm --fn infer --format dot | dot -Tsvg > infer.svg");
  command->callback([&session, options] {
    session.action = [&session, options] { return Show(session, *options); };
  });
}

}  // namespace catamaran::cli
