// catamaran data check IN... [--json]

#include <limits>

#include "catamaran/data/data_format.h"
#include "catamaran/data/records/record_file.h"
#include "cli/data/commands.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct CheckCommand {
  DataInput input;
  bool json = false;
};

// One file, read to its end whatever rows are bad in it.
struct Checked {
  std::string path;
  std::string format;
  int64_t rows = 0;
  std::vector<std::string> problems;
};

constexpr size_t kMaxProblems = 20;  // of one file

Checked CheckFile(const Session& session, const DataInput& input, const std::string& path) {
  Checked checked{path, "", 0, {}};
  try {
    ReaderOptions options = MakeReaderOptions(session, input);
    options.bad_rows.limit = std::numeric_limits<int64_t>::max();
    options.bad_rows.report = [&](const std::string& message) {
      if (checked.problems.size() < kMaxProblems) checked.problems.push_back(message);
    };
    const DataFormat& format = FindFormat(session.fs, path, options);
    checked.format = format.name;
    if (format.name == "records") {
      // All columns, whichever were asked for, and whether they fit what the file says of them.
      const auto file = RecordFile::Open(session.fs, path);
      file->Verify();
      checked.rows = file->num_rows();
      return checked;
    }
    const auto reader = format.open(session.fs, path, options);
    ForEachBlock(*reader, "Checking " + path, [&](const RowBlock& block) {
      block.Check(path);
      checked.rows += block.rows();
    });
    const int64_t more = reader->bad_rows() - static_cast<int64_t>(checked.problems.size());
    if (more > 0) {
      checked.problems.push_back(
          fmt::format("{}: {} besides those above", path, CountText(more, "bad row")));
    }
  } catch (const CommandError&) {
    throw;
  } catch (const Error& error) {
    checked.problems.emplace_back(error.what());
  }
  return checked;
}

ExitCode Check(const Session& session, const CheckCommand& command) {
  bool good = true;
  Json files = Json::array();
  for (const std::string& path : InputFiles(session, command.input)) {
    const Checked checked = CheckFile(session, command.input, path);
    good = good && checked.problems.empty();
    if (command.json) {
      Json file;
      file["file"] = path;
      file["ok"] = checked.problems.empty();
      file["format"] = checked.format;
      file["rows"] = checked.rows;
      file["problems"] = checked.problems;
      files.push_back(file);
    } else if (checked.problems.empty()) {
      fmt::print("{}: {}: {}, {}\n", session.out.Green("ok"), path, checked.format,
                 CountText(checked.rows, "row"));
    }
    if (command.json) continue;
    for (const std::string& problem : checked.problems) {
      fmt::print(stderr, "{}\n", session.err.Error(problem));
    }
  }
  if (command.json) {
    fmt::print("{}\n", files.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  return good ? kOk : kWrong;
}

}  // namespace

void AddDataCheck(CLI::App& data, Session& session) {
  auto* sub = data.add_subcommand("check", "Reads everything and says what is wrong");
  const auto command = std::make_shared<CheckCommand>();
  sub->add_option("IN", command->input.paths, "files of rows")->required()->type_name("...");
  AddInputOptions(*sub, command->input);
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer(
      "\nOf records every checksum is compared and every column unpacked; of other formats every "
      "row is\n"
      "read. The exit code is 1 if anything is wrong.\n"
      "\nExamples:\n"
      "  catamaran data check days.rec\n"
      "  catamaran data check day*.csv --schema columns.txt");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Check(session, *command); };
  });
}

}  // namespace catamaran::cli
