// catamaran table verify DIR|FILE [--json]

#include <map>

#include "catamaran/commit/table_participant.h"
#include "catamaran/table/cold_rows.h"
#include "cli/progress.h"
#include "cli/table/commands.h"
#include "cli/table/saved_table.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct VerifyCommand {
  std::string path;
  bool json = false;
};

// Looks at everything, whatever it finds, and remembers what is wrong.
class Verifier {
 public:
  explicit Verifier(const Session& session) : session_(session), progress_("Verifying") {}

  void CheckDirectory(const std::string& directory) {
    const FoundCommits found = Outside([&] { return FindCommits(session_.fs, directory); });
    if (found.commits.empty()) {
      throw CommandError(kEnvironment, fmt::format("{}: no state was saved here", directory));
    }
    for (const FoundCommit& commit : found.commits) {
      for (const CommitPart& part : commit.manifest.parts) {
        for (const CommitFile& file : part.files) total_ += file.size;
      }
    }
    for (const FoundCommit& commit : found.commits) {
      ++commits_;
      if (!commit.damage.empty()) {
        AddProblem(commit.damage);
        continue;
      }
      for (const CommitPart& part : commit.manifest.parts) CheckPart(directory, commit, part);
    }
  }

  void CheckFileAlone(const std::string& path) {
    CheckReadable(session_.fs, path);
    CheckRows(path, {});
  }

  bool good() const { return problems_.empty(); }

  ExitCode Report(const std::string& path, bool json) const {
    if (json) {
      Json out;
      out["ok"] = problems_.empty();
      out["commits"] = commits_;
      out["files"] = checked_.size();
      out["bytes"] = bytes_;
      out["problems"] = problems_;
      fmt::print("{}\n", out.dump(2));
    } else if (problems_.empty()) {
      fmt::print(
          "{}: {}: {}{} file{}, {}\n", session_.out.Green("ok"), path,
          commits_ == 0 ? "" : fmt::format("{} commit{}, ", commits_, commits_ == 1 ? "" : "s"),
          checked_.size(), checked_.size() == 1 ? "" : "s", BytesText(bytes_));
    } else {
      for (const std::string& problem : problems_) {
        fmt::print(stderr, "{}\n", session_.err.Error(problem));
      }
    }
    return problems_.empty() ? kOk : kWrong;
  }

 private:
  void AddProblem(const std::string& problem) {
    if (std::find(problems_.begin(), problems_.end(), problem) == problems_.end()) {
      problems_.push_back(problem);
    }
  }

  // What `check` says against something that several commits may share, once.
  template <class F>
  bool Once(const std::string& name, uint64_t bytes, F&& check) {
    if (const auto found = checked_.find(name); found != checked_.end()) return found->second;
    bool good = true;
    try {
      check();
    } catch (const Error& error) {
      AddProblem(error.what());
      good = false;
    }
    bytes_ += bytes;
    progress_.Show(total_ == 0 ? 0 : static_cast<double>(bytes_) / static_cast<double>(total_));
    checked_[name] = good;
    return good;
  }

  void CheckPart(const std::string& directory, const FoundCommit& commit, const CommitPart& part) {
    const bool table = !TableOfPart(part.name).empty();
    bool good = true;
    std::vector<RowFileRef> chain;
    for (const auto* files : {&part.files, &part.kept}) {
      for (const CommitFile& file : *files) {
        const std::string path = JoinPath(directory, file.name);
        if (!table) {
          Once(path, file.size,
               [&] { catamaran::CheckFile(session_.fs, path, file.size, file.crc); });
          continue;
        }
        const RowFileRef rows = CheckRows(path, RowFileMark{file.size, file.crc});
        if (files == &part.files) {
          good = good && rows != nullptr;
          chain.push_back(rows);
        }
      }
    }
    if (!table || !good || chain.empty()) return;
    try {
      const RowChain whole(chain);  // they fit together
      CheckCounts(whole);
      CheckCold(directory, part, whole);
    } catch (const Error& error) {
      AddProblem(fmt::format("{}: commit {}: {}", directory, commit.commit, error.what()));
    }
  }

  // Null if it is damaged.
  RowFileRef CheckRows(const std::string& path, std::optional<RowFileMark> expected) {
    RowFile::Options options;
    options.expected = expected;
    RowFileRef& file = open_[path];
    const bool good = Once(path, expected ? expected->size : 0, [&] {
      file = RowFile::Open(session_.fs, path, options);
      if (!expected) bytes_ += file->mark().size;
      file->Verify();
    });
    return good ? file : nullptr;
  }

  // As RowChain::Verify, of files that have been verified.
  void CheckCounts(const RowChain& chain) {
    const auto counted = CountRows(chain.files());
    for (int c = 0; c < kRowClasses; ++c) {
      const int64_t said = chain.num_rows(static_cast<RowClass>(c));
      if (counted[static_cast<size_t>(c)] != said) {
        AddProblem(
            fmt::format("{} is wrong: it says that its table has {} rows of class {}, and its "
                        "chain has {}",
                        chain.files().back()->path(), said, c, counted[static_cast<size_t>(c)]));
      }
    }
  }

  void CheckCold(const std::string& directory, const CommitPart& part, const RowChain& chain) {
    for (const std::string& name : part.directories) {
      const std::string path = JoinPath(directory, name);
      Once(path, 0, [&] {
        const auto cold = OpenColdRows(chain.config(), path);
        bytes_ += static_cast<uint64_t>(cold->bytes_on_disk());
        cold->Scan(0, UINT64_MAX, [](RowClass, const uint32_t*) {});
      });
    }
  }

  const Session& session_;
  Progress progress_;
  std::map<std::string, bool> checked_;
  std::map<std::string, RowFileRef> open_;
  std::vector<std::string> problems_;
  int64_t commits_ = 0;
  uint64_t bytes_ = 0, total_ = 0;
};

std::vector<uint64_t> CommitsIn(const Session& session, const std::string& directory) {
  std::vector<uint64_t> numbers;
  for (const FoundCommit& commit : FindCommits(session.fs, directory).commits) {
    numbers.push_back(commit.commit);
  }
  return numbers;
}

ExitCode Verify(Session& session, const VerifyCommand& command) {
  if (!session.fs.IsDirectory(command.path)) {
    Verifier verifier(session);
    verifier.CheckFileAlone(command.path);
    return verifier.Report(command.path, command.json);
  }
  while (true) {
    const std::vector<uint64_t> before = CommitsIn(session, command.path);
    Verifier verifier(session);
    verifier.CheckDirectory(command.path);
    // A trainer that commits meanwhile takes old files away: then look again at what is there.
    if (!verifier.good() && CommitsIn(session, command.path) != before) continue;
    return verifier.Report(command.path, command.json);
  }
}

}  // namespace

void AddTableVerify(CLI::App& table, Session& session) {
  auto* sub = table.add_subcommand("verify", "Read everything and name what is damaged");
  const auto command = std::make_shared<VerifyCommand>();
  sub->add_option("DIR|FILE", command->path, "state directory or row file")
      ->required()
      ->type_name("");
  sub->add_flag("--json", command->json, "as JSON");
  sub->footer(
      "\nChecks all commits that are kept: manifests, sizes, every checksum, the order and number "
      "of\n"
      "rows, and that the files of a table fit together. It goes on after the first damage and "
      "names\n"
      "all of it. Exit code 1 if something is damaged.");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Verify(session, *command); };
  });
}

}  // namespace catamaran::cli
