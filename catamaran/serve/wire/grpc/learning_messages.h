// serve/wire/grpc/learning_messages.h
//
// The messages of catamaran.v1.Learning, and what Learning takes and gives.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/wire/learning.pb.h"
#include "catamaran/serve/wire/request_inputs.h"

namespace catamaran {

// These throw an Error that names the input if something is wrong; TooManyRows beyond the limit.
TrainRequest ReadTrainRequest(const v1::TrainRequest& message, int64_t max_rows = kAnyRows);
FeedbackRequest ReadFeedbackRequest(const v1::FeedbackRequest& message,
                                    int64_t max_items = kAnyRows);
// By what they cost to read.
bool IsLarge(const v1::TrainRequest& message);
bool IsLarge(const v1::FeedbackRequest& message);

void WriteStatus(const LearningStatus& status, v1::StatusReply& message);
void WriteCommits(const std::vector<std::pair<uint64_t, int64_t>>& commits,
                  v1::StatusReply& message);

}  // namespace catamaran
