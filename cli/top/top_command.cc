// catamaran top [HOST:PORT] [--token TOKEN] [--every SECONDS] [--once]

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/data/text_table.h"
#include "cli/http_connection.h"
#include "cli/serve/address.h"
#include "cli/top/overview_text.h"
#include "cli/top/top.h"

namespace catamaran::cli {
namespace {

struct TopCommand {
  std::string address = "127.0.0.1:8000";
  std::string token;
  double every = 1;
  bool once = false;
};

nlohmann::json FetchOverview(HttpConnection& connection, const std::string& where) {
  // No points of the past: a time far ahead.
  const HttpAnswer answer = connection.Get("/v1/overview?since=9000000000000000000");
  if (answer.status == 0) Fail("{}", answer.problem);
  nlohmann::json parsed = nlohmann::json::parse(answer.body, nullptr, false);
  if (answer.status == 200 && parsed.is_object()) return parsed;
  if (answer.status == 401) {
    Fail("{} wants a token: --token, or CATAMARAN_TOKEN in the environment", where);
  }
  Fail("{} answers {} to /v1/overview", where, answer.status);
}

void Print(const Session& session, const nlohmann::json& overview) {
  fmt::print("{}\n\n", ServerLine(overview));
  const auto lines = ModelLines(overview);
  std::vector<Align> align(lines[0].size(), Align::kRight);
  align[0] = align[2] = Align::kLeft;
  PrintTable(align, lines);
  for (const std::string& problem : ProblemLines(overview)) {
    fmt::print("\n{}\n", session.out.Error(problem));
  }
  std::fflush(stdout);
}

ExitCode Top(const Session& session, const TopCommand& command) {
  const auto address = ParseAddress(command.address, "HOST:PORT");
  if (!address) throw CommandError(kUsage, "HOST:PORT is where the service answers HTTP");
  std::string token = command.token;
  if (const char* const given = std::getenv("CATAMARAN_TOKEN"); token.empty() && given != nullptr) {
    token = given;
  }
  const bool screen = isatty(STDOUT_FILENO) != 0 && !command.once;
  HttpConnection connection(address->host, address->port, token);
  const std::string where = AddressText(address->host, address->port);
  while (true) {
    const auto overview = Outside([&] { return FetchOverview(connection, where); });
    if (screen) fmt::print("\x1b[H\x1b[J");
    Print(session, overview);
    if (command.once) return kOk;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.every));
    if (!screen) fmt::print("\n");
  }
}

}  // namespace

void AddTop(CLI::App& app, Session& session) {
  auto* sub =
      app.add_subcommand("top", "What a service does now: models, rates, latency, learning");
  const auto command = std::make_shared<TopCommand>();
  sub->add_option("HOST:PORT", command->address, "where it answers HTTP (127.0.0.1:8000)");
  sub->add_option("--token", command->token, "where it wants one (CATAMARAN_TOKEN)");
  sub->add_option("--every", command->every, "seconds (1)")->check(CLI::Range(0.1, 3600.0));
  sub->add_flag("--once", command->once, "print it once");
  sub->footer(
      "\nRates and latency are of the last ten seconds. The page of the service shows more. "
      "Encrypted\n"
      "connections are not spoken here.\n\nExamples:\n  catamaran top\n  catamaran top 8010 "
      "--once");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Top(session, *command); };
  });
}

}  // namespace catamaran::cli
