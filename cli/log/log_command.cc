// catamaran log cat|stats|verify

#include "catamaran/stream/log/log_format.h"
#include "cli/log/commands.h"

namespace catamaran::cli {

std::string LogDirectory(const Session& session, const std::string& path) {
  return Outside([&] {
    for (const std::string& directory : {path, JoinPath(path, "log")}) {
      if (!session.fs.IsDirectory(directory)) continue;
      for (const std::string& name : session.fs.List(directory)) {
        if (log_format::ParseSegmentName(name)) return directory;
      }
    }
    if (!session.fs.Exists(path)) Fail("{}: there is no such directory", path);
    Fail("{}: there is no log here", path);
  });
}

void AddLog(CLI::App& app, Session& session) {
  auto* log = app.add_subcommand("log", "What a served model learned from: look into its log");
  log->require_subcommand(1);
  log->footer(
      "\nA served model keeps all that it learns from in a log. These commands read it and change\n"
      "nothing; the model may go on serving and learning meanwhile. docs/formats/log.md describes "
      "the\n"
      "files.");
  AddLogCat(*log, session);
  AddLogStats(*log, session);
  AddLogVerify(*log, session);
}

}  // namespace catamaran::cli
