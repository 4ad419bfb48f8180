// catamaran log stats DIR [--segments] [--json]

#include "catamaran/stream/log/log_scan.h"
#include "catamaran/stream/record.h"
#include "cli/data/text_table.h"
#include "cli/log/commands.h"
#include "cli/progress.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct StatsCommand {
  std::string path;
  bool segments = false, json = false;
};

Json RecordsJson(const ScannedRecords& records) {
  Json out;
  out["records"] = records.records;
  out["payload_bytes"] = records.payload_bytes;
  out["largest"] = records.largest;
  if (records.records > 0) {
    out["oldest"] = records.oldest_ns;
    out["newest"] = records.newest_ns;
  }
  return out;
}

Json ScanJson(const LogScan& scan) {
  Json out;
  out["id"] = fmt::format("{:016x}", scan.id);
  out["begin"] = scan.begin;
  out["end"] = scan.end;
  out.update(RecordsJson(scan.all));
  out["types"] = Json::object();
  for (const auto& [type, records] : scan.types) {
    out["types"][RecordTypeName(type)] = RecordsJson(records);
  }
  out["segments"] = Json::array();
  for (const ScannedSegment& segment : scan.segments) {
    Json one;
    one["file"] = segment.path;
    one["first"] = segment.first;
    one["end"] = segment.end;
    one["file_bytes"] = segment.bytes;
    one.update(RecordsJson(segment.records));
    out["segments"].push_back(std::move(one));
  }
  out["bytes_beyond"] = scan.bytes_beyond;
  out["problems"] = scan.problems;
  return out;
}

std::vector<std::string> Cells(std::string name, const ScannedRecords& records) {
  const bool none = records.records == 0;
  return {std::move(name),
          WithCommas(static_cast<int64_t>(records.records)),
          BytesText(records.payload_bytes),
          BytesText(records.largest),
          none ? "" : TimeText(records.oldest_ns),
          none ? "" : TimeText(records.newest_ns)};
}

void PrintScan(const std::string& directory, const LogScan& scan, bool segments) {
  uint64_t bytes = 0;
  for (const ScannedSegment& segment : scan.segments) bytes += segment.bytes;
  fmt::print("{}: log {:016x}, offsets {} to {}, {} in {}\n", directory, scan.id, scan.begin,
             scan.end, BytesText(bytes),
             CountText(static_cast<int64_t>(scan.segments.size()), "segment"));
  using enum Align;
  const std::vector<Align> align = {kLeft, kRight, kRight, kRight, kLeft, kLeft};
  const auto table = [&](const char* what, auto&& fill) {
    std::vector<std::vector<std::string>> lines = {
        {what, "records", "payload", "largest", "oldest", "newest"}};
    fill(lines);
    PrintTable(align, lines);
  };
  table("type", [&](auto& lines) {
    for (const auto& [type, records] : scan.types) {
      lines.push_back(Cells(RecordTypeName(type), records));
    }
    lines.push_back(Cells("all", scan.all));
  });
  if (segments) {
    table("segment", [&](auto& lines) {
      for (const ScannedSegment& segment : scan.segments) {
        lines.push_back(Cells(segment.path, segment.records));
      }
    });
  }
}

ExitCode Stats(const Session& session, const StatsCommand& command) {
  const std::string directory = LogDirectory(session, command.path);
  LogScan scan;
  {
    Progress progress("Reading");
    scan = ScanLog(session.fs, directory, [&](double part) { progress.Show(part); });
  }
  if (command.json) {
    fmt::print("{}\n", ScanJson(scan).dump(2));
  } else {
    PrintScan(directory, scan, command.segments);
  }
  for (const std::string& problem : scan.problems) {
    fmt::print(stderr, "{}\n", session.err.Error(problem));
  }
  return scan.problems.empty() ? kOk : kWrong;
}

}  // namespace

void AddLogStats(CLI::App& log, Session& session) {
  auto* sub = log.add_subcommand("stats", "How many records of which type, how large, how old");
  const auto command = std::make_shared<StatsCommand>();
  sub->add_option("DIR", command->path, "a log, or a model's directory with one in it")
      ->required()
      ->type_name("");
  sub->add_flag("--segments", command->segments, "also file by file");
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer("\nExamples:\n  catamaran log stats models/ctr --segments");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Stats(session, *command); };
  });
}

}  // namespace catamaran::cli
