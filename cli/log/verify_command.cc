// catamaran log verify DIR [--json]

#include <algorithm>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/serve/learn/log_check.h"
#include "catamaran/serve/model/load_model.h"
#include "catamaran/stream/log/log_scan.h"
#include "cli/log/commands.h"
#include "cli/progress.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct VerifyCommand {
  std::string path;
  bool json = false;
};

// The directory of the model whose log that is, where it has commits. Empty for other logs.
std::string ModelOf(const Session& session, const std::string& log) {
  const std::string model = ParentDirectory(log);
  if (!log.ends_with("/log") && log != "log") return "";
  return FindCommits(session.fs, StateDirectoryOf(model)).commits.empty() ? "" : model;
}

ExitCode Verify(const Session& session, const VerifyCommand& command) {
  const std::string directory = LogDirectory(session, command.path);
  LogScan scan;
  {
    Progress progress("Verifying");
    scan = ScanLog(session.fs, directory, [&](double part) { progress.Show(part); });
  }
  LogCheck check;
  if (const std::string model = ModelOf(session, directory); !model.empty()) {
    check = CheckLogOfModel(session.fs, model);
    for (const std::string& problem : check.problems) {
      auto& all = scan.problems;
      if (std::find(all.begin(), all.end(), problem) == all.end()) all.push_back(problem);
    }
  }
  const ExitCode code = scan.problems.empty() ? kOk : kWrong;
  if (command.json) {
    Json out;
    out["ok"] = code == kOk;
    out["segments"] = scan.segments.size();
    out["records"] = scan.all.records;
    out["begin"] = scan.begin;
    out["end"] = scan.end;
    out["bytes_beyond"] = scan.bytes_beyond;
    if (check.commit > 0) {
      out["commit"] = check.commit;
      out["commit_read"] = check.read;
    }
    out["problems"] = scan.problems;
    out["warnings"] = check.warnings;
    fmt::print("{}\n", out.dump(2));
    return code;
  }
  for (const std::string& problem : scan.problems) {
    fmt::print(stderr, "{}\n", session.err.Error(problem));
  }
  for (const std::string& warning : check.warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  if (code == kOk) {
    fmt::print("{}: {}: {} in {}, offsets {} to {}\n", session.out.Green("ok"), directory,
               CountText(static_cast<int64_t>(scan.all.records), "record"),
               CountText(static_cast<int64_t>(scan.segments.size()), "segment"), scan.begin,
               scan.end);
    if (check.commit > 0) {
      fmt::print("commit {} has learned from it up to offset {}\n", check.commit, check.read);
    }
  }
  if (code == kOk && scan.bytes_beyond > 0) {
    fmt::print(
        "{}: behind offset {} are {} of a record that is being written or was cut off; they are\n"
        "removed when the log is opened\n",
        directory, scan.end, BytesText(scan.bytes_beyond));
  }
  return code;
}

}  // namespace

void AddLogVerify(CLI::App& log, Session& session) {
  auto* sub = log.add_subcommand("verify", "Read everything and name what is damaged");
  const auto command = std::make_shared<VerifyCommand>();
  sub->add_option("DIR", command->path, "a log, or a model's directory with one in it")
      ->required()
      ->type_name("");
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer(
      "\nChecks that no segment is missing, and every record's checksum. It goes on behind damage "
      "and\n"
      "names all of it. If the log lies in a model's directory, it is also checked against the "
      "newest\n"
      "commit there: whatever would keep `serve --learn` from starting is named. Exit code 1 if\n"
      "something is wrong.\n"
      "\nExamples:\n"
      "  catamaran log verify models/ctr");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Verify(session, *command); };
  });
}

}  // namespace catamaran::cli
