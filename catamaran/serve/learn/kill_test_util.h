// serve/learn/kill_test_util.h
//
// A model that learns in a process which dies again and again: what the process
// (kill_learner_main.cc) and the tests that kill it share.

#pragma once

#include <string>

#include "catamaran/serve/learn/learn_test_util.h"

namespace catamaran::test {

inline HostedModel LoadKilled(const std::string& directory) {
  return testing::LoadLearning(PosixFileSystem(), directory,
                               {{"batch_rows", "8"},
                                {"batch_wait", "3ms"},
                                {"commit_every", "0"},
                                {"commit_steps", "6"},
                                {"event_clock", "yes"},
                                {"segment_bytes", "65536"},
                                {"retain_bytes", "0"},
                                {"label.event", "click"},
                                {"label.window", "2s"},
                                {"label.late", "3s"},
                                {"label.late_weight", "0.5"}});
}

inline int64_t KilledTime(uint64_t i) {
  return 1'700'000'000'000'000'000 + static_cast<int64_t>(i) * 50'000'000;
}
inline TrainRequest KilledExample(uint64_t i) { return testing::ExampleOf(i, KilledTime(i)); }
inline InferRequest KilledImpression(uint64_t i) {
  return testing::ImpressionOf("impression " + std::to_string(i), i + 1'000'000, 2, KilledTime(i));
}
inline FeedbackItem KilledFeedback(uint64_t i) {
  FeedbackItem item;
  item.id = "impression " + std::to_string(i);
  item.row = static_cast<int64_t>(i % 2);
  item.event_time_ns = KilledTime(i + 4);
  item.idempotency_key = "feedback " + std::to_string(i);
  return item;
}

}  // namespace catamaran::test
