#include "bench/serve/soak/good_wire.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "bench/serve/learning_client.h"
#include "bench/serve/soak/server.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "cli/http_connection.h"

namespace catamaran::bench {
namespace {

class Http final : public GoodWire {
 public:
  explicit Http(int port) : connection_("127.0.0.1", port) {}

  WireAnswer Infer(const std::string& id, const FeedRows& rows) override {
    const auto input = [](std::string_view name, const std::vector<uint64_t>& ids) {
      return fmt::format(R"({{"name":"{}","datatype":"UINT64","shape":[{}],"data":[{}]}})", name,
                         ids.size(), fmt::join(ids, ","));
    };
    return Post(fmt::format("/v2/models/{}/infer", kSoakModel),
                fmt::format(R"({{"id":"{}","inputs":[{},{},{},{}]}})", id, input("user", rows.user),
                            input("group", rows.group), input("topic", rows.topic),
                            input("story", rows.story)));
  }

  WireAnswer Click(const std::string& id, int64_t row, const std::string& key) override {
    return Post(fmt::format("/v1/models/{}/feedback", kSoakModel),
                fmt::format(R"({{"items":[{{"id":"{}","row":{},"idempotency_key":"{}"}}]}})", id,
                            row, key));
  }

  WireAnswer Train(const FeedRows& rows, const std::string& key) override {
    std::string body = fmt::format(R"({{"idempotency_key":"{}","rows":[)", key);
    for (size_t r = 0; r < rows.size(); ++r) {
      body += fmt::format(R"({}{{"user":{},"group":{},"topic":{},"story":{},"click":{}}})",
                          r == 0 ? "" : ",", rows.user[r], rows.group[r], rows.topic[r],
                          rows.story[r], rows.click[r]);
    }
    return Post(fmt::format("/v1/models/{}/train", kSoakModel), body + "]}");
  }

 private:
  WireAnswer Post(const std::string& path, const std::string& body) {
    const cli::HttpAnswer answer = connection_.Post(path, body);
    switch (answer.status) {
      case 200:
        return {};
      case 0:
        return {WireAnswer::Kind::kLater, false, ""};
      case 429:
      case 503:
        return {WireAnswer::Kind::kLater, true, ""};
      default:
        return {WireAnswer::Kind::kRefused, true,
                fmt::format("HTTP {}: {}: {}", path, answer.status, answer.body)};
    }
  }

  cli::HttpConnection connection_;
};

LoadTensor Tensor(const char* name, const std::vector<uint64_t>& ids) {
  return {name,
          "UINT64",
          {static_cast<int64_t>(ids.size())},
          std::string(reinterpret_cast<const char*>(ids.data()), ids.size() * 8)};
}

class Grpc final : public GoodWire {
 public:
  explicit Grpc(int port) : client_(port, kSoakModel, "click") {}

  WireAnswer Infer(const std::string& id, const FeedRows& rows) override {
    return Call([&] { client_.Infer({kSoakModel, Features(rows), ""}, id); });
  }
  WireAnswer Click(const std::string& id, int64_t row, const std::string& key) override {
    return Call([&] { client_.Feedback(id, 1, 0, row, key); });
  }
  WireAnswer Train(const FeedRows& rows, const std::string& key) override {
    return Call([&] { client_.Train(Features(rows), rows.click, 0, key); });
  }

 private:
  static std::vector<LoadTensor> Features(const FeedRows& rows) {
    return {Tensor("user", rows.user), Tensor("group", rows.group), Tensor("topic", rows.topic),
            Tensor("story", rows.story)};
  }
  template <class Work>
  WireAnswer Call(Work work) {
    try {
      work();
      return {};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnavailable) return {WireAnswer::Kind::kLater, false, ""};
      if (error.code() == ErrorCode::kResourceExhausted) {
        return {WireAnswer::Kind::kLater, true, ""};
      }
      return {WireAnswer::Kind::kRefused, true, fmt::format("gRPC {}", error.what())};
    }
  }

  LearningClient client_;
};

}  // namespace

FeedRows MakeFeedRows(uint64_t seed, size_t rows) {
  FeedRows made;
  for (size_t r = 0; r < rows; ++r) {
    const uint64_t noise = Mix64(seed * 64 + r);
    const uint64_t user = noise % 20'000, story = (noise >> 20) % 5'000;
    made.user.push_back(user);
    made.group.push_back(user % 50);
    made.topic.push_back(story % 20);
    made.story.push_back(story);
    const uint64_t chance = (user + story) % 3 == 0 ? 60 : 10;  // percent
    made.click.push_back((noise >> 40) % 100 < chance ? 1 : 0);
  }
  return made;
}

std::unique_ptr<GoodWire> GoodHttp(int port) { return std::make_unique<Http>(port); }
std::unique_ptr<GoodWire> GoodGrpc(int port) { return std::make_unique<Grpc>(port); }

}  // namespace catamaran::bench
