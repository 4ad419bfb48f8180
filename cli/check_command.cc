// catamaran check FILE...

#include "catamaran/ir/diagnostic.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

std::string Count(size_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

ExitCode Check(Session& session, const std::vector<std::string>& files) {
  ExitCode result = kOk;
  for (const std::string& path : files) {
    try {
      const ProgramFile file = LoadProgram(session, path);
      fmt::print("{}: {}: {}, {}\n", session.out.Green("ok"), path,
                 Count(file.flat.Functions().size(), "function"),
                 Count(file.flat.States().size(), "state"));
    } catch (const ProgramError& error) {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", session.err.Error(error.what()));
      result = kWrong;
    }
  }
  return result;
}

}  // namespace

void AddCheck(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("check", "Find all mistakes in programs");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "program files (.ctm)")->required();
  command->footer(
      "\nParses each file with its imports, expands builders, infers types and verifies. Prints "
      "one\n"
      "line a file, or every mistake with its line. Functions and states are those of the "
      "expanded\n"
      "program. Exit code 1 if a file has mistakes.");
  command->callback(
      [&session, files] { session.action = [&session, files] { return Check(session, *files); }; });
}

}  // namespace catamaran::cli
