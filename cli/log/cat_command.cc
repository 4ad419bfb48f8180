// catamaran log cat DIR [--from OFFSET] [--count N] [--type TYPE,...] [--id ID] [--rows] [--raw]
//                       [--json] [--follow]

#include <chrono>
#include <set>
#include <thread>

#include "catamaran/stream/log/log_reader.h"
#include "cli/log/commands.h"
#include "cli/log/record_json.h"

namespace catamaran::cli {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(200);

struct CatCommand {
  std::string path;
  std::optional<LogOffset> from;
  uint64_t count = UINT64_MAX;
  std::vector<std::string> types;
  std::string id;
  bool rows = false, raw = false, json = false, follow = false;
};

class Printer {
 public:
  explicit Printer(const CatCommand& command) : command_(command), describer_(command.rows) {
    for (const std::string& type : command.types) types_.insert(ParseRecordType(type));
  }

  bool done() const { return printed_ >= command_.count; }

  void See(const LogRecord& record, const std::string& directory) {
    try {
      describer_.Remember(record);
      if (command_.from && record.offset < *command_.from) return;
      if (!types_.empty() && !types_.contains(record.type)) return;
      if (!command_.id.empty() && !RecordDescriber::Mentions(record, command_.id)) return;
      Print(record, describer_.Describe(record, command_.raw));
    } catch (const Error& error) {
      Fail(error.code(), "{}: the record at offset {}: {}", directory, record.offset, error.what());
    }
    ++printed_;
  }

 private:
  void Print(const LogRecord& record, const Json& said) const {
    if (!command_.json) {
      fmt::print("{:>12}  {}  {:<11}  {}\n", record.offset, TimeText(record.time_ns),
                 RecordTypeName(record.type), FieldsText(said));
      return;
    }
    Json out;
    out["offset"] = record.offset;
    out["time"] = record.time_ns;
    out["type"] = RecordTypeName(record.type);
    out["bytes"] = record.payload.size();
    out.update(said);
    fmt::print("{}\n", Dump(out));
  }

  const CatCommand& command_;
  RecordDescriber describer_;
  std::set<uint8_t> types_;
  uint64_t printed_ = 0;
};

ExitCode Cat(const Session& session, const CatCommand& command) {
  Printer printer(command);
  const std::string directory = LogDirectory(session, command.path);
  auto reader = LogReader::Open(session.fs, directory);
  // Schemas stand before the rows that need them.
  LogOffset at = command.from && !command.rows ? *command.from : reader->begin();
  if (command.from && (*command.from < reader->begin() || *command.from > reader->end())) {
    throw CommandError(kUsage, fmt::format("--from {}: the log has offsets from {} to {}",
                                           *command.from, reader->begin(), reader->end()));
  }
  while (true) {
    LogCursor cursor = reader->Scan(at);
    LogRecord record;
    while (!printer.done() && cursor.Next(record, {}) == LogCursor::Result::kRecord) {
      printer.See(record, directory);
    }
    at = cursor.position();
    if (printer.done()) return kOk;
    if (!reader->damage().empty()) Fail("{}", reader->damage());
    if (!command.follow) return kOk;
    std::fflush(stdout);
    std::this_thread::sleep_for(kLookAgain);
    reader = LogReader::Open(session.fs, directory, at);
  }
}

}  // namespace

void AddLogCat(CLI::App& log, Session& session) {
  auto* sub = log.add_subcommand("cat", "Print records, in order");
  const auto command = std::make_shared<CatCommand>();
  sub->add_option("DIR", command->path, "a log, or a model's directory with one in it")
      ->required()
      ->type_name("");
  sub->add_option("--from", command->from, "begin at this offset (the beginning)")
      ->type_name("OFFSET");
  sub->add_option("-n,--count", command->count, "no more than so many (all)")->type_name("N");
  sub->add_option("--type", command->types, "only these: example, impression, feedback, step, ...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TYPE,...");
  sub->add_option("--id", command->id, "only the impression and the feedback of this request")
      ->type_name("ID");
  sub->add_flag("--rows", command->rows, "also the features in the rows");
  sub->add_flag("--raw", command->raw, "payloads as bytes, not what they say");
  sub->add_flag("--json", command->json, "as JSON, an object a line");
  sub->add_flag("--follow", command->follow, "go on as records are appended; Ctrl-C ends it");
  sub->footer(
      "\nA line is the offset, the time, the type, and what the record says.\n"
      "\nExamples:\n"
      "  catamaran log cat models/ctr -n 10\n"
      "  catamaran log cat models/ctr --type feedback --json\n"
      "  catamaran log cat models/ctr --id request-17 --rows");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Cat(session, *command); };
  });
}

}  // namespace catamaran::cli
