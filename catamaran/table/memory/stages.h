// table/memory/stages.h
//
// The order in which many keys go through the three stages of a look-up (row_finder.h): in groups,
// each stage one group behind the stage before. The requests of a stage wait for the addresses of
// their pages, and only those wait together that the processor sees at once: in a loop that does
// nothing else these are many more keys than in one loop with all three stages. The loops should be
// short, and each in a function of its own, which has all registers to itself: CATAMARAN_STAGE.
//
// Thread safety: functions of their arguments.

#pragma once

#include <algorithm>
#include <cstddef>

#define CATAMARAN_STAGE __attribute__((noinline))

namespace catamaran {

inline constexpr size_t kStageGroup = 64;
// What a stage leaves for the next one of key i is at place i % kStageFlights; what is there when
// the third one comes to it, the second one left.
inline constexpr size_t kStageFlights = 2 * kStageGroup;

// Keys that are late (row_search.h) are looked for once in so many groups: enough of them that they
// too wait for their pages together.
inline constexpr size_t kGroupsToSearch = 4;

// Calls each function, stage by stage, for the groups that the keys [0, n) fall into, in order:
// stage(first key, how many, number of the group). Between two of a group there is one group of
// each other stage.
template <class AskForLines, class AskForRows, class Use>
inline __attribute__((always_inline)) void InGroups(size_t n, AskForLines&& ask_for_lines,
                                                    AskForRows&& ask_for_rows, Use&& use) {
  const size_t groups = (n + kStageGroup - 1) / kStageGroup;
  const auto call = [&](auto& stage, size_t group) __attribute__((always_inline)) {
    const size_t first = group * kStageGroup;
    stage(first, std::min(kStageGroup, n - first), group);
  };
  for (size_t group = 0; group < groups + 2; ++group) {
    if (group < groups) call(ask_for_lines, group);
    if (group >= 1 && group - 1 < groups) call(ask_for_rows, group - 1);
    if (group >= 2) call(use, group - 2);
  }
}

// The same where the third stage is so short that one loop can do it and the first, for one group
// each: the memory then works on lines meanwhile. ask_and_use(first key of the later group, of the
// earlier, number of the later) is called in place of both wherever there are two whole groups.
template <class AskForLines, class AskForRows, class Use, class AskAndUse>
inline __attribute__((always_inline)) void InGroups(size_t n, AskForLines&& ask_for_lines,
                                                    AskForRows&& ask_for_rows, Use&& use,
                                                    AskAndUse&& ask_and_use) {
  const size_t groups = (n + kStageGroup - 1) / kStageGroup;
  const size_t whole_groups = n / kStageGroup;
  const auto call = [&](auto& stage, size_t group) __attribute__((always_inline)) {
    const size_t first = group * kStageGroup;
    stage(first, std::min(kStageGroup, n - first), group);
  };
  for (size_t group = 0; group < groups + 2; ++group) {
    if (group >= 2 && group < whole_groups) {
      ask_and_use(group * kStageGroup, (group - 2) * kStageGroup, group);
    } else {
      if (group < groups) call(ask_for_lines, group);
      if (group >= 2) call(use, group - 2);
    }
    if (group >= 1 && group - 1 < groups) call(ask_for_rows, group - 1);
  }
}

// The same, calling each function for each key.
template <class AskForLine, class AskForRow, class Use>
inline __attribute__((always_inline)) void InStages(size_t n, AskForLine&& ask_for_line,
                                                    AskForRow&& ask_for_row, Use&& use) {
  const auto each = [](auto& stage) __attribute__((always_inline)) {
    return [&stage](size_t first, size_t count, size_t) __attribute__((always_inline)) {
      for (size_t i = first; i < first + count; ++i) stage(i);
    };
  };
  InGroups(n, each(ask_for_line), each(ask_for_row), each(use));
}

}  // namespace catamaran
