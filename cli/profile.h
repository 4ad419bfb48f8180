// cli/profile.h
//
// A ProfileReport for people and for programs, and the timeline as a file.

#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/base/trace.h"
#include "catamaran/exec/profile_report.h"

namespace catamaran::cli {

struct ProfileView {
  std::vector<std::string> by = {"op", "line", "layer"};  // the tables, in this order
  size_t top = 12;                                        // lines of each
  int width = 100;                                        // characters of a line
};

// To stdout.
void PrintProfile(const ProfileReport& report, const ProfileView& view);

nlohmann::json ProfileJson(const ProfileReport& report);

// Whole or not at all; errors are those of the environment.
void WriteTimeline(FileSystem& fs, const Trace& trace, const std::string& path);

}  // namespace catamaran::cli
