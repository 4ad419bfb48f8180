// catamaran feed MODEL --data FILE... [--service HOST:PORT] [--features FILE] [--time COLUMN] …

#include <chrono>
#include <cstdlib>

#include "cli/features/commands.h"
#include "cli/feed/feed.h"
#include "cli/feed/row_feeder.h"
#include "cli/serve/address.h"
#include "cli/table/words.h"
#include "cli/train/durations.h"

namespace catamaran::cli {
namespace {

struct FeedCommand {
  FeaturesInput input;  // its file may be empty
  FeederOptions feeder;
  std::string service = "127.0.0.1:8000", token, time_unit = "s";
  double patience = 60;
};

std::unique_ptr<RowReader> OpenRows(const Session& session, const FeedCommand& command) {
  if (command.input.file.empty()) return OpenInput(session, command.input.data);
  return OpenFeaturesData(session, command.input, OpenFeatures(session, command.input));
}

void CheckTime(const FeedCommand& command, const Schema& schema) {
  const std::string& name = command.feeder.time_column;
  if (name.empty()) {
    if (command.feeder.speed > 0) throw CommandError(kUsage, "--speed needs --time");
    return;
  }
  const int column = schema.Find(name);
  if (column < 0)
    throw CommandError(kUsage, fmt::format("--time {}: there is no such column", name));
  if (schema[column].KindText() != "i64") {
    throw CommandError(
        kUsage, fmt::format("--time {}: it is {}, wanted i64", name, schema[column].KindText()));
  }
}

std::string Measure(const Json& status, const char* member) {
  const auto found = status.find(member);
  return found != status.end() && found->is_number() ? fmt::format("{:.4f}", found->get<double>())
                                                     : "-";
}

ExitCode Feed(const Session& session, const FeedCommand& command) {
  const auto address = ParseAddress(command.service, "--service");
  if (!address) throw CommandError(kUsage, "--service is where the service answers HTTP");
  std::string token = command.token;
  if (const char* const given = std::getenv("CATAMARAN_TOKEN"); token.empty() && given != nullptr) {
    token = given;
  }
  FeederOptions options = command.feeder;
  options.time_unit_ns = NanosecondsOf(command.time_unit);
  options.patience = std::chrono::seconds(static_cast<int64_t>(command.patience));
  const auto reader = OpenRows(session, command);
  CheckTime(command, reader->schema());
  HttpConnection connection(address->host, address->port, token);
  RowFeeder feeder(connection, options);
  const auto begin = std::chrono::steady_clock::now();
  ForEachBlock(*reader, "Feeding " + options.model,
               [&](const RowBlock& block) { feeder.Add(block); });
  const Json status = feeder.Finish();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ReportSkipped(*reader);
  fmt::print("{} acknowledged in {:.1f} s; {} has learned from {} in all, and is at step {}\n",
             CountText(feeder.rows(), "row"), seconds, options.model,
             CountText(status.value("examples", int64_t{0}), "example"),
             status.value("step", int64_t{0}));
  fmt::print("of the last {}, before they were learned from: AUC {}, log loss {}, calibration {}\n",
             status.value("window_examples", int64_t{0}), Measure(status, "window_auc"),
             Measure(status, "window_log_loss"), Measure(status, "window_calibration"));
  if (status.value("paused", false)) fmt::print("learning is paused: rows wait in the log\n");
  if (const std::string problem = status.value("problem", ""); !problem.empty()) {
    throw CommandError(kWrong, problem);
  }
  return kOk;
}

}  // namespace

void AddFeed(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("feed", "Send rows with their labels to a service that learns");
  const auto command = std::make_shared<FeedCommand>();
  FeedCommand& c = *command;
  sub->add_option("MODEL", c.feeder.model, "its name there")->required();
  AddFeaturesData(*sub, c.input, true);
  sub->add_option("--features", c.input.file, "the model's features file: how columns are read")
      ->type_name("FILE.features");
  sub->add_option("--service", c.service, "where it answers HTTP (127.0.0.1:8000)")
      ->type_name("HOST:PORT");
  sub->add_option("--token", c.token, "where it wants one (CATAMARAN_TOKEN)");
  sub->add_option("--time", c.feeder.time_column, "i64 column with the event time (when it comes)");
  sub->add_option("--time-unit", c.time_unit, "of --time, since 1970: s, ms, us or ns (s)")
      ->check(CLI::IsMember(std::vector<std::string>{"s", "ms", "us", "ns"}));
  sub->add_option("--speed", c.feeder.speed, "seconds of --time that pass in one (no waiting)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--rate", c.feeder.rate, "rows a second at most (no limit)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--request-rows", c.feeder.request_rows, "rows in a request at most (256)")
      ->check(CLI::Range(1, 4096));
  sub->add_option("--key", c.feeder.key,
                  "rows that were sent before, under another key, count again");
  sub->add_option("--patience", c.patience, "seconds that a service may be away or busy (60)")
      ->check(CLI::NonNegativeNumber);
  sub->footer(
      "\nRows are read from files of any format, or as the features file says, and sent as they "
      "are. The\nsame rows at the same place of the same files count once, however often they are "
      "sent: after a\nbreak, give the command again. Rows with different times go in different "
      "requests.\n"
      "\nExamples:\n"
      "  catamaran feed ctr --features clicks.features --data today.csv\n"
      "  catamaran feed feed --data clicks.csv --time when --speed 60 --service 8010");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Feed(session, *command); };
  });
}

}  // namespace catamaran::cli
