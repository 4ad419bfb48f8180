#include "bench/table/huge_array.h"

#include <fmt/format.h>

#include <fstream>

namespace catamaran::bench {

std::string HugePageShare() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string word;
  double anonymous = 0, huge = 0;
  while (rollup >> word) {
    if (word == "Anonymous:") rollup >> anonymous;
    if (word == "AnonHugePages:") rollup >> huge;
  }
  if (anonymous == 0) return "";
  return fmt::format("{:.0f} % of its memory in huge pages", 100 * huge / anonymous);
}

}  // namespace catamaran::bench
