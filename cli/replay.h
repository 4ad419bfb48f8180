// cli/replay.h
//
// `catamaran replay`: the state of a served model, rebuilt from its log.

#pragma once

#include "cli/session.h"

namespace catamaran::cli {

void AddReplay(CLI::App& app, Session& session);

}  // namespace catamaran::cli
