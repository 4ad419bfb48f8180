// bench/serve/soak/good_wire.h
//
// What a good client of the feed's model calls, over HTTP with JSON or over gRPC with tensors.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace catamaran::bench {

// Rows of examples/feed.ctm.
struct FeedRows {
  std::vector<uint64_t> user, group, topic, story;
  std::vector<float> click;
  size_t size() const { return user.size(); }
};
// Some that look random, the same for the same `seed`: of 20,000 users and 5,000 stories. Whether
// a story is clicked on depends on its topic and on the user's group.
FeedRows MakeFeedRows(uint64_t seed, size_t rows);

struct WireAnswer {
  enum class Kind {
    kOk,
    kLater,    // nobody answers, too much at once, or no room: the same call may be made again
    kRefused,  // which no good client should be
  };
  Kind kind = Kind::kOk;
  bool reached = true;  // kLater: whether there was an answer
  std::string why;      // kRefused
};

class GoodWire {
 public:
  virtual ~GoodWire() = default;
  virtual WireAnswer Infer(const std::string& id, const FeedRows& rows) = 0;
  virtual WireAnswer Click(const std::string& id, int64_t row, const std::string& key) = 0;
  virtual WireAnswer Train(const FeedRows& rows, const std::string& key) = 0;
};

std::unique_ptr<GoodWire> GoodHttp(int port);
std::unique_ptr<GoodWire> GoodGrpc(int port);

}  // namespace catamaran::bench
