// cli/main.cc

#include "cli/main.h"

#include <malloc.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

#include "catamaran/base/cpu.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ops/max_isa.h"
#include "cli/feed/feed.h"
#include "cli/replay.h"
#include "cli/session.h"
#include "cli/top/top.h"

namespace catamaran::cli {
namespace {

constexpr const char* kAbout =
    "Programs that learn: check, inspect, train, run and serve .ctm files.\n";

constexpr const char* kFooter = R"(
Examples:
  catamaran demo                                   watch a model serve and learn at once
  catamaran check examples/ctr.ctm                 find all mistakes in a program
  catamaran show examples/ctr.ctm --fn train --expand
  catamaran run examples/mlp.ctm train --feed x=x.npy --feed label=y.npy --state model
  catamaran profile examples/mlp.ctm train --dim B=32   where its time goes
  catamaran train examples/ctr.ctm --data train.rec --valid valid.rec --out runs/ctr
  catamaran serve examples/ctr.ctm --state runs/ctr     answer requests
  catamaran table info model                       what lies in the tables of a saved state
  catamaran data convert clicks.csv clicks.rec     rows of any format to records
  catamaran ops matmul                             what an op does

`catamaran COMMAND --help` explains a command.

Exit codes: 0 all went well; 1 the program, the data or the state is wrong; 2 the command line is
wrong; 3 something outside (a file that is missing or damaged, a full disk, a lock, no more memory);
130 stopped by Ctrl-C. Errors go to stderr; colours only to a terminal, and never with NO_COLOR set.)";

// Without exceptions: stderr may be what has no room.
int Report(const Session& session, ExitCode code, const std::string& message) {
  std::fflush(stdout);
  std::fputs((session.err.Error(message) + "\n").c_str(), stderr);
  return code;
}

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kStorage:
      return kEnvironment;
    default:
      return kWrong;
  }
}

// A file that grows beyond the limit of file sizes (ulimit -f) is an error of the write, which says
// what was being written, and not the end of the process.
void TakeFileSizesAsErrors() { std::signal(SIGXFSZ, SIG_IGN); }

// The C library gives every thread that allocates 64 MiB of addresses. Where addresses are limited
// (ulimit -v) that leaves none for the stacks of further threads, so threads share one heap there.
void SpareAddresses() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    ::mallopt(M_ARENA_MAX, 1);
  }
}

// Before anything is compiled or loaded.
void ChooseIsa(const Session& session) {
  const Isa detected = DetectIsa(), wanted = IsaFromEnvironment();
  std::optional<Isa> max;
  if (wanted < detected) max = wanted;
  if (!session.max_isa.empty()) max = LowerIsa(Isa::kAvx512, session.max_isa);
  LimitIsa(max);
  if (max) return;
  if (const std::string problem = IsaProblem(); !problem.empty()) {
    fmt::print(stderr, "note: {}\n", problem);
  }
}

// What is wrong with a word that should be a command of `app`, and with those that follow it;
// empty: nothing.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    if (names.back() == argv[1]) return UnknownCommand(*command, argc - 1, argv + 1);
  }
  if (names.empty()) return {};
  const std::string close = Suggest(argv[1], names);
  const std::string prefix = app.get_parent() == nullptr ? "" : app.get_name() + " ";
  return fmt::format("there is no command {}{}{}", prefix, argv[1],
                     close.empty() ? "" : "; did you mean " + prefix + close + "?");
}

int RunAction(const Session& session) {
  try {
    if (!session.action) return kOk;
    ChooseIsa(session);
    const ExitCode code = session.action();
    if (std::fflush(stdout) == 0) return code;
    return Report(session, kEnvironment,
                  fmt::format("error: cannot write the results: {}", std::strerror(errno)));
  } catch (const CommandError& error) {
    return Report(session, error.code(), std::string("error: ") + error.what());
  } catch (const Error& error) {
    return Report(session, ExitCodeOf(error.code()), error.what());
  } catch (const std::exception& error) {
    const ErrorCode code = CodeOf(error);
    return Report(session, ExitCodeOf(code),
                  (code == ErrorCode::kInternal ? "" : "error: ") + DescribeError(error));
  }
}

int ParseAndRun(int argc, char** argv) {
  Session session;
  if (argc > 0) {
    session.program = argv[0];
    session.arguments.assign(argv + 1, argv + argc);
  }
  CLI::App app(kAbout, "catamaran");
  app.set_version_flag("--version", fmt::format("catamaran {} (op set {}, {})", CATAMARAN_VERSION,
                                                OpSet::kVersion, IsaName(DetectIsa())));
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();  // so that --load may stand behind the command too
  app.add_option("--load", session.libraries, "a shared library with more ops and builders")
      ->type_name("LIB.so")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--max-isa", session.max_isa,
                 "the best instruction set to use, of our code and oneDNN: plain, avx2 or avx512, "
                 "which leaves out AMX")
      ->check(CLI::IsMember(std::vector<std::string>{"plain", "avx2", "avx512"}));
  AddCheck(app, session);
  AddShow(app, session);
  AddRun(app, session);
  AddImport(app, session);
  AddProfile(app, session);
  AddOps(app, session);
  AddBuilders(app, session);
  AddDemo(app, session);
  AddTable(app, session);
  AddData(app, session);
  AddTrain(app, session);
  AddEval(app, session);
  AddPredict(app, session);
  AddFeatures(app, session);
  AddLog(app, session);
  AddServe(app, session);
  AddReplay(app, session);
  AddFeed(app, session);
  AddTop(app, session);
  if (const std::string problem = UnknownCommand(app, argc, argv); !problem.empty()) {
    return Report(session, kUsage, fmt::format("error: {}\nTry `catamaran --help`.", problem));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::string command = "catamaran";
    for (const CLI::App* used = &app; !used->get_subcommands().empty();) {
      used = used->get_subcommands().front();
      command += " " + used->get_name();
    }
    return Report(session, kUsage,
                  fmt::format("error: {}\nTry `{} --help`.", error.what(), command));
  }
  return RunAction(session);
}

}  // namespace

int Main(int argc, char** argv) {
  TakeFileSizesAsErrors();
  SpareAddresses();
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::exception&) {
    // Not even memory to read the command line, or to say what went wrong.
    std::fputs("error: out of memory\n", stderr);
    return kEnvironment;
  }
}

}  // namespace catamaran::cli
