// cli/table/saved_table.cc

#include "cli/table/saved_table.h"

#include "catamaran/base/suggest.h"
#include "catamaran/commit/table_participant.h"

namespace catamaran::cli {
namespace {

std::string ListOf(const std::vector<std::string>& tables) {
  std::string text;
  for (const std::string& table : tables) text += (text.empty() ? "@" : ", @") + table;
  return text;
}

const CommitPart& FindPart(const std::string& directory, const FoundCommit& commit,
                           const std::string& table) {
  const CommitPart* part = commit.manifest.Find(TablePart(table));
  if (part != nullptr) return *part;
  const std::vector<std::string> tables = TablesOf(commit);
  if (tables.empty()) Fail("{}: commit {} has no tables", directory, commit.commit);
  const std::vector<std::string_view> names(tables.begin(), tables.end());
  const std::string close = Suggest(table, names);
  Fail("{}: there is no table @{}; {}", directory, table,
       close.empty() ? "there is " + ListOf(tables) : "did you mean @" + close + "?");
}

// Runs `open` on the commit that is wanted. If that fails because a trainer has committed and
// taken away the files meanwhile, once more with what is there now.
template <class F>
auto WithCommit(const Session& session, const std::string& directory,
                std::optional<uint64_t> number, F&& open) {
  FoundCommit commit = ChooseCommit(session, directory, number);
  while (true) {
    try {
      return open(commit);
    } catch (const Error&) {
      FoundCommit newer = ChooseCommit(session, directory, number);
      if (newer.commit == commit.commit) throw;
      commit = std::move(newer);
    }
  }
}

SavedTable OpenFile(const Session& session, const std::string& path) {
  SavedTable saved;
  saved.where = path;
  CheckReadable(session.fs, path);
  saved.files = {RowFile::Open(session.fs, path)};
  saved.commit = saved.newest().head().commit;
  return saved;
}

}  // namespace

TableArgument TakeTableArgument(std::span<const std::string> words,
                                std::vector<std::string>* rest) {
  if (words.empty()) throw CommandError(kUsage, "wanted a state directory or a row file");
  TableArgument argument{words[0], ""};
  if (argument.path.starts_with('@')) {
    throw CommandError(kUsage, fmt::format("{}: wanted a state directory before it", words[0]));
  }
  size_t used = 1;
  if (words.size() > 1 && words[1].starts_with('@')) {
    argument.table = words[1].substr(1);
    used = 2;
  }
  rest->assign(words.begin() + static_cast<ptrdiff_t>(used), words.end());
  return argument;
}

TableArgument TakeTableArgument(std::span<const std::string> words) {
  std::vector<std::string> rest;
  TableArgument argument = TakeTableArgument(words, &rest);
  if (!rest.empty()) {
    throw CommandError(kUsage, fmt::format("{}: wanted a table, as @name", rest[0]));
  }
  return argument;
}

FoundCommit ChooseCommit(const Session& session, const std::string& directory,
                         std::optional<uint64_t> number) {
  FoundCommits found = Outside([&] { return FindCommits(session.fs, directory); });
  if (found.commits.empty()) {
    throw CommandError(kEnvironment, fmt::format("{}: no state was saved here", directory));
  }
  std::string others;
  for (FoundCommit& commit : found.commits) {
    others += (others.empty() ? "" : ", ") + std::to_string(commit.commit);
    if (number && commit.commit != *number) continue;
    if (!commit.damage.empty()) {
      if (number) Fail("{}", commit.damage);
      fmt::print(stderr, "note: {}\n", commit.damage);
      continue;
    }
    if (commit.first_format) {
      Fail(
          "{}: the state is in the first format, which has no row files; the next step that "
          "`catamaran run … --state {}` saves brings it up to date",
          directory, directory);
    }
    return std::move(commit);
  }
  if (number) Fail("{}: commit {} is not kept; there is {}", directory, *number, others);
  Fail("{}: damaged: no commit has a manifest that can be read", directory);
}

std::vector<std::string> TablesOf(const FoundCommit& commit) {
  std::vector<std::string> tables;
  for (const CommitPart& part : commit.manifest.parts) {
    if (const std::string_view table = TableOfPart(part.name); !table.empty()) {
      tables.emplace_back(table);
    }
  }
  return tables;
}

SavedTable OpenTable(const Session& session, const std::string& directory,
                     const FoundCommit& commit, const std::string& table) {
  const CommitPart& part = FindPart(directory, commit, table);
  SavedTable saved{OpenCommittedTable(session.fs, directory, part)};
  saved.name = table;
  saved.where = fmt::format("{}: @{}", directory, table);
  saved.commit = static_cast<int64_t>(commit.commit);
  saved.step = commit.manifest.step;
  saved.event_time = commit.manifest.event_time;
  return saved;
}

SavedTable OpenTable(const Session& session, const TableArgument& argument,
                     std::optional<uint64_t> commit) {
  std::vector<SavedTable> tables = OpenTables(session, argument, commit);
  if (tables.empty()) Fail("{}: it has no tables", argument.path);
  if (tables.size() > 1) {
    std::vector<std::string> names;
    for (const SavedTable& table : tables) names.push_back(table.name);
    throw CommandError(kUsage,
                       fmt::format("{}: which table? There are {}", argument.path, ListOf(names)));
  }
  return std::move(tables.front());
}

std::vector<SavedTable> OpenTables(const Session& session, const TableArgument& argument,
                                   std::optional<uint64_t> number) {
  if (!session.fs.IsDirectory(argument.path)) {
    CheckReadable(session.fs, argument.path);
    if (!argument.table.empty()) {
      throw CommandError(kUsage, fmt::format("{} is a file, which holds one table: leave out @{}",
                                             argument.path, argument.table));
    }
    if (number) {
      throw CommandError(
          kUsage, fmt::format("{} is a file: --commit is about state directories", argument.path));
    }
    std::vector<SavedTable> tables;
    tables.push_back(OpenFile(session, argument.path));
    return tables;
  }
  return WithCommit(session, argument.path, number, [&](const FoundCommit& commit) {
    std::vector<SavedTable> tables;
    if (!argument.table.empty()) {
      tables.push_back(OpenTable(session, argument.path, commit, argument.table));
      return tables;
    }
    for (const std::string& table : TablesOf(commit)) {
      tables.push_back(OpenTable(session, argument.path, commit, table));
    }
    return tables;
  });
}

}  // namespace catamaran::cli
