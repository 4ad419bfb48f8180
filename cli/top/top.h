// cli/top/top.h
//
// `catamaran top`.

#pragma once

#include "cli/session.h"

namespace catamaran::cli {

void AddTop(CLI::App& app, Session& session);

}  // namespace catamaran::cli
