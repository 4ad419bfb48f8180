// catamaran log verify DIR [--json]

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

ExitCode Verify(const Session& session, const VerifyCommand& command) {
  const std::string directory = LogDirectory(session, command.path);
  LogScan scan;
  {
    Progress progress("Verifying");
    scan = ScanLog(session.fs, directory, [&](double part) { progress.Show(part); });
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
    out["problems"] = scan.problems;
    fmt::print("{}\n", out.dump(2));
    return code;
  }
  for (const std::string& problem : scan.problems) {
    fmt::print(stderr, "{}\n", session.err.Error(problem));
  }
  if (code == kOk) {
    fmt::print("{}: {}: {} in {}, offsets {} to {}\n", session.out.Green("ok"), directory,
               CountText(static_cast<int64_t>(scan.all.records), "record"),
               CountText(static_cast<int64_t>(scan.segments.size()), "segment"), scan.begin,
               scan.end);
  }
  if (scan.bytes_beyond > 0) {
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
      "names all of it. Exit code 1 if something is damaged.\n"
      "\nExamples:\n"
      "  catamaran log verify models/ctr");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Verify(session, *command); };
  });
}

}  // namespace catamaran::cli
