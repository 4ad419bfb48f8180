// serve/learn/learner_part.h
//
// What a commit of a learning model has beside its state: how far the log was learned from and what
// waits (stream/join/example_stream.h), the predictions of the last examples, and what the drift
// alarm knows. The first version had no drift alarm; it is still read.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catamaran/commit/commit_manifest.h"

namespace catamaran {

inline constexpr std::string_view kLearnerPartName = "learner";
inline constexpr std::string_view kLearnerPartMagic = "catamaran learner 2\n";

// Positions of a commit: how far the log was read, which log it is, from where on it is needed.
inline constexpr const char* kLogPosition = "log";
inline constexpr const char* kLogIdPosition = "log.id";
inline constexpr const char* kLogNeededPosition = "log.needed";
// The number that a commit's positions have by that name; nothing if they do not have it.
std::optional<uint64_t> NumberIn(const Positions& positions, const char* name, int base);

struct LearnerPart {
  std::string stream;  // ExampleStream::Save
  std::string window;  // ProgressWindow::Save
  std::string drift;   // DriftMonitor::Save
};

std::string FormatLearnerPart(const LearnerPart& part);
// An Error that begins with `what` if the bytes are not such.
LearnerPart ParseLearnerPart(std::string_view bytes, const std::string& what);

}  // namespace catamaran
