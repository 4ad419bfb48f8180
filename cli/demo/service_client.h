// cli/demo/service_client.h
//
// The calls that the demo makes of its service, over one connection.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/http_connection.h"

namespace catamaran::cli {

// One person and the stories that are shown.
struct FeedRequest {
  std::string id;
  uint64_t user = 0, group = 0;
  std::vector<uint64_t> topics, stories;
  int64_t time_ns = 0;
  bool log = true;  // whether it may be learned from
};

struct ClickReport {
  std::string id;  // of the request
  int64_t row = 0;
  int64_t time_ns = 0;
};

// The part of the service's status that the demo looks at.
struct ServiceStatus {
  int64_t step = 0, steps = 0, examples = 0, waiting_examples = 0;
  uint64_t log_end = 0, log_consumed = 0;
  double freshness_p50 = 0, freshness_p99 = 0;  // seconds
  std::string problem;
};

class ServiceClient {
 public:
  ServiceClient(int port, std::string model)
      : connection_("127.0.0.1", port), model_(std::move(model)) {}

  // All return false if the service could not be reached or asks to come again: the call may be
  // made again as it is. An Error if the service refuses it for another reason.
  [[nodiscard]] bool Infer(const FeedRequest& request, std::vector<float>& probabilities,
                           int64_t* step = nullptr);
  // Each click has a key, so that one which is sent again counts once.
  [[nodiscard]] bool Feedback(const std::vector<ClickReport>& clicks);
  [[nodiscard]] bool Commit();
  [[nodiscard]] bool Status(ServiceStatus& status);
  // Whether there is a page to look at.
  [[nodiscard]] bool HasPage();

 private:
  // The body of an answer, or false as above.
  bool Call(const std::string& path, const std::string& body, std::string& answer);

  HttpConnection connection_;
  const std::string model_;
};

}  // namespace catamaran::cli
