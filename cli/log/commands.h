// cli/log/commands.h
//
// The commands under `catamaran log`, one file each, and what they share.

#pragma once

#include <string>

#include "cli/session.h"

namespace catamaran::cli {

void AddLogCat(CLI::App& log, Session& session);
void AddLogStats(CLI::App& log, Session& session);
void AddLogVerify(CLI::App& log, Session& session);

// The directory of the log that the user means: `path` itself, or `path`/log, where a model keeps
// it. An Error of the environment if there is none.
std::string LogDirectory(const Session& session, const std::string& path);

}  // namespace catamaran::cli
