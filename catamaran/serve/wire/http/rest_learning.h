// serve/wire/http/rest_learning.h
//
// Bodies of catamaran.v1.Learning in REST: the fields of learning.proto, by their names.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/serve/learning.h"

namespace catamaran {

// These throw an Error that says what is wrong; TooManyRows beyond `max_items`.
FeedbackRequest ReadFeedbackBody(std::string_view body, int64_t max_items);
// {"commit": N}
uint64_t ReadRollbackBody(std::string_view body);

std::string WriteReply(const TrainReply& reply);
std::string WriteReply(const FeedbackReply& reply);
std::string WriteReply(const CommitReply& reply);
std::string WriteReply(const RollbackReply& reply);
// Numbers that are none (no example yet) are null.
std::string WriteReply(const LearningStatus& status);
std::string WriteReply(const LearningStatus& status,
                       const std::vector<std::pair<uint64_t, int64_t>>& commits);
// [{"name", "rows", "missing", "out_of_range"}, …]
void AppendFeatures(std::string& out, const std::vector<FeatureRates>& features);

}  // namespace catamaran
