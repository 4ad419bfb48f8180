// table/memory/stages.h
//
// The order in which many keys go through the three stages of a look-up (row_finder.h): in groups,
// each stage one group behind the stage before. The requests of a stage wait for the addresses of
// their pages, and only those wait together that the processor sees at once: in a loop that does
// nothing else these are many more keys than in one loop with all three stages.
//
// Thread safety: functions of their arguments.

#pragma once

#include <algorithm>
#include <cstddef>

namespace catamaran {

inline constexpr size_t kStageGroup = 32;
// What a stage leaves for the next one of key i is at place i % kStageFlights; what is there when
// the third one comes to it, the second one left.
inline constexpr size_t kStageFlights = 2 * kStageGroup;

// Calls each function for each of the keys [0, n), in order. Between two of a key there is a group
// of each stage.
template <class AskForLine, class AskForRow, class Use>
inline __attribute__((always_inline)) void InStages(size_t n, AskForLine&& ask_for_line,
                                                    AskForRow&& ask_for_row, Use&& use) {
  for (size_t at = 0; at < n + 2 * kStageGroup; at += kStageGroup) {
    for (size_t i = at, end = std::min(n, at + kStageGroup); i < end; ++i) ask_for_line(i);
    if (at < kStageGroup) continue;
    for (size_t i = at - kStageGroup, end = std::min(n, at); i < end; ++i) ask_for_row(i);
    if (at < 2 * kStageGroup) continue;
    for (size_t i = at - 2 * kStageGroup, end = std::min(n, at - kStageGroup); i < end; ++i) use(i);
  }
}

}  // namespace catamaran
