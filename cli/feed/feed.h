// cli/feed/feed.h
//
// `catamaran feed`.

#pragma once

#include "cli/session.h"

namespace catamaran::cli {

void AddFeed(CLI::App& app, Session& session);

}  // namespace catamaran::cli
