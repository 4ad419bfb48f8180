// catamaran demo [--keep] [--seconds N] [--rate N] …

#include "cli/demo/commands.h"

namespace catamaran::cli {

void AddDemo(CLI::App& app, Session& session) {
  auto* demo = app.add_subcommand(
      "demo", "Watch a model serve and learn at once: live traffic, a crash, a verdict");
  const auto options = std::make_shared<FeedDemoOptions>();
  demo->add_flag("--keep", options->keep, "go on serving, with traffic, until Ctrl-C");
  demo->add_option("--seconds", options->seconds, "of live traffic")
      ->check(CLI::Range(1.0, 86'400.0))
      ->capture_default_str();
  demo->add_option("--rate", options->rate, "requests a second, of 8 stories each")
      ->check(CLI::Range(1.0, 100'000.0))
      ->capture_default_str();
  demo->add_option("--connections", options->connections, "that they come by")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  demo->add_option("--history", options->history,
                   "simulated minutes that the first model has learned from")
      ->check(CLI::Range(0.0, 10'000.0))
      ->capture_default_str();
  demo->add_option("--seed", options->seed, "of the simulated world and of initial values")
      ->capture_default_str();
  demo->footer(
      "\nA simulated minute is a real second. Files are in build/scratch (or the system's "
      "temporary\n"
      "folder) and go with the demo. `catamaran demo training` is the smaller one without a "
      "service.");
  AddTrainingDemo(*demo, session);
  demo->callback([&session, options, demo] {
    if (!demo->get_subcommands().empty()) return;
    session.action = [&session, options] { return RunFeedDemo(session, *options); };
  });
}

}  // namespace catamaran::cli
