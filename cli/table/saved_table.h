// cli/table/saved_table.h
//
// The tables that a user can name: one of a commit in a state directory, or a row file by itself
// (an export, an increment, or a file of a directory).
//
//   model @feat        the newest commit of the table
//   model              the same, if there is one table
//   feat.rows          a file
//
// Reading needs no lock. A trainer may commit meanwhile: what was opened stays as it was.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/committed_table.h"
#include "cli/session.h"

namespace catamaran::cli {

// What stands on a command line.
struct TableArgument {
  std::string path;   // of a directory or a file
  std::string table;  // without @; empty: not given
};
// The first word is the path, the second, if it begins with @, the table; what follows stays in
// `rest`. A usage error if there is no word.
TableArgument TakeTableArgument(std::span<const std::string> words, std::vector<std::string>* rest);
// The same where nothing may follow.
TableArgument TakeTableArgument(std::span<const std::string> words);

// Its files, and what is known of them.
struct SavedTable : CommittedTable {
  std::string name;   // without @; empty: a file by itself
  std::string where;  // "model: @feat", "feat.rows"; messages begin with it
  int64_t commit = 0;
  int64_t step = -1;       // -1: a file does not know
  int64_t event_time = 0;  // of that step; 0: not known

  bool by_itself() const { return name.empty(); }
  const RowFile& newest() const { return *files.back(); }
  bool serving() const { return newest().head().record == RecordKind::kServing; }
};

// The commit of the directory with that number, or the newest whole one; damaged manifests that
// are passed over are noted on stderr. Errors: none is there, or not that one, or it is of the
// first format, which has no row files.
FoundCommit ChooseCommit(const Session& session, const std::string& directory,
                         std::optional<uint64_t> commit);
// Names of its tables, in order.
std::vector<std::string> TablesOf(const FoundCommit& commit);

SavedTable OpenTable(const Session& session, const std::string& directory,
                     const FoundCommit& commit, const std::string& table);
// What the user named. Without a name of a table the only one there is, else an Error that lists
// them.
SavedTable OpenTable(const Session& session, const TableArgument& argument,
                     std::optional<uint64_t> commit = {});
// All tables that the user named: those of a directory, where no table is given.
std::vector<SavedTable> OpenTables(const Session& session, const TableArgument& argument,
                                   std::optional<uint64_t> commit = {});

}  // namespace catamaran::cli
