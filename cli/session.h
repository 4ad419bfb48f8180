// cli/session.h
//
// What the subcommands share: where they read, write and report, and how they end.
//
// A subcommand is one file `x_command.cc` with a function that adds it to the command line. Its
// callback only remembers what was asked for; the work is done by Session::action afterwards, so
// that mistakes on the command line are found before anything happens.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "cli/terminal.h"

namespace catamaran::cli {

enum ExitCode : int {
  kOk = 0,
  kWrong = 1,          // the user's program, data or state is wrong
  kUsage = 2,          // the command line is wrong
  kEnvironment = 3,    // a file is missing, a disk is full, a lock is held, memory has run out
  kInterrupted = 130,  // Ctrl-C; what was done until then is kept
};

// An Error that knows how the program ends.
class CommandError : public Error {
 public:
  CommandError(ExitCode code, const std::string& message) : Error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Runs `body`; its Errors are those of the environment.
template <class F>
auto Outside(F&& body) {
  try {
    return body();
  } catch (const CommandError&) {
    throw;
  } catch (const Error& error) {
    throw CommandError(kEnvironment, error.what());
  }
}

struct Session {
  FileSystem& fs = PosixFileSystem();
  std::string program = "catamaran";   // as it was called, for commands that the user may copy
  std::vector<std::string> arguments;  // behind it
  Style out = Style::For(stdout);
  Style err = Style::For(stderr);
  std::vector<std::string> libraries;  // of ops and builders, to load
  std::string max_isa;                 // as --max-isa has it
  std::function<ExitCode()> action;
};

// The standard ops and builders, and those of the libraries that the user named.
struct Vocabulary {
  std::shared_ptr<OpSet> ops;
  std::shared_ptr<BuilderSet> builders;
};
Vocabulary MakeVocabulary(const Session& session);

// A program file, as written and flat.
struct ProgramFile {
  std::shared_ptr<const OpSet> ops;
  std::shared_ptr<const BuilderSet> builders;
  Program written;
  Program flat;
};

// An Error of the environment if the file cannot be read.
void CheckReadable(const FileSystem& fs, const std::string& path);

// Reads, parses, flattens and verifies. Throws a ProgramError with all mistakes.
ProgramFile LoadProgram(Session& session, const std::string& path);

// "a=b" of an option; throws a usage error that names the option when there is no "=".
std::pair<std::string, std::string> SplitAssignment(const std::string& text,
                                                    const std::string& option);

void AddCheck(CLI::App& app, Session& session);
void AddShow(CLI::App& app, Session& session);
void AddRun(CLI::App& app, Session& session);
void AddImport(CLI::App& app, Session& session);
void AddProfile(CLI::App& app, Session& session);
void AddOps(CLI::App& app, Session& session);
void AddBuilders(CLI::App& app, Session& session);
void AddDemo(CLI::App& app, Session& session);
void AddTable(CLI::App& app, Session& session);  // cli/table/
void AddData(CLI::App& app, Session& session);   // cli/data/
void AddTrain(CLI::App& app, Session& session);  // cli/train/
void AddEval(CLI::App& app, Session& session);
void AddPredict(CLI::App& app, Session& session);
void AddFeatures(CLI::App& app, Session& session);  // cli/features/
void AddLog(CLI::App& app, Session& session);       // cli/log/
void AddServe(CLI::App& app, Session& session);     // cli/serve/

}  // namespace catamaran::cli
