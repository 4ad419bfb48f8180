// serve/run_sample.cc

#include "catamaran/serve/run_sample.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "catamaran/exec/profile_report.h"

namespace catamaran {

std::vector<LineTime> RunSample::Lines(const std::string& path) const {
  const auto runs = static_cast<double>(std::max<int64_t>(1, measured()));
  std::map<int, double> seconds;
  for (const ProfileRow& row : MakeReport(profile_, {}).lines) {
    std::string_view name = row.name;
    if (!name.starts_with(path) || name.size() <= path.size() || name[path.size()] != ':') continue;
    name.remove_prefix(path.size() + 1);
    int line = 0;
    std::from_chars(name.data(), name.data() + name.size(), line);
    if (line > 0) seconds[line] += (row.seconds + row.waiting) / runs;
  }
  std::vector<LineTime> lines;
  for (const auto& [line, time] : seconds) lines.push_back({line, time});
  return lines;
}

}  // namespace catamaran
