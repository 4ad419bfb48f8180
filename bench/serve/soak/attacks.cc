#include "bench/serve/soak/attacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "bench/serve/soak/hostile_clients.h"
#include "bench/serve/soak/server.h"
#include "catamaran/base/error.h"
#include "catamaran/serve/wire/http/smuggling_cases.h"

namespace catamaran::bench {
namespace {

const std::string kInfer = fmt::format("/v2/models/{}/infer", kSoakModel);
const std::string kTrain = fmt::format("/v1/models/{}/train", kSoakModel);
const std::string kFeedback = fmt::format("/v1/models/{}/feedback", kSoakModel);

constexpr int64_t kTooManyRows = 70'000;
constexpr int64_t kDayNs = 86'400'000'000'000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Row(uint64_t number, const std::string& click) {
  return fmt::format(R"({{"user":{},"group":1,"topic":1,"story":1,"click":{}}})",
                     kHostileUser + number, click);
}

std::vector<LoadTensor> Features(uint64_t number, int64_t rows) {
  std::vector<LoadTensor> features;
  for (const char* name : {"user", "group", "topic", "story"}) {
    const std::vector<uint64_t> ids(static_cast<size_t>(rows), kHostileUser + number);
    features.push_back({name,
                        "UINT64",
                        {rows},
                        std::string(reinterpret_cast<const char*>(ids.data()), ids.size() * 8)});
  }
  return features;
}

// Refused: the request's own mistake, or for the time being.
const std::vector<int> kRefused = {400, 413, 429, 503};

template <class Values>
auto Pick(const Values& values, uint64_t number) {
  return values[number % std::size(values)];
}

}  // namespace

Attacker::Attacker(int http_port, int grpc_port, std::function<std::string()> recent_key)
    : http_port_(http_port),
      recent_key_(std::move(recent_key)),
      client_(grpc_port, kSoakModel, "click"),
      million_rows_([] {
        std::string rows = R"({"rows":[{})";
        for (int i = 1; i < 1'000'000; ++i) rows += ",{}";
        return rows + "]}";
      }()) {}

const std::vector<Attacker::Kind>& Attacker::Kinds() {
  static const std::vector<Kind> kinds = {
      {"request smuggling", &Attacker::Smuggle},
      {"1,000,000 empty rows", &Attacker::HugeBody},
      {"70,000 rows over gRPC", &Attacker::HugeGrpcMessage},
      {"absurd labels", &Attacker::AbsurdLabel},
      {"absurd labels over gRPC", &Attacker::AbsurdLabelOverGrpc},
      {"absurd feedback", &Attacker::AbsurdFeedback},
      {"misspelt columns", &Attacker::MisspeltColumn},
      {"times far ahead", &Attacker::TimeFarAhead},
      {"feedback for unknown ids", &Attacker::UnknownFeedback},
      {"half requests, half closed", &Attacker::HalfRequest},
      {"half requests, reset", &Attacker::ResetRequest},
      {"keys of others", &Attacker::KeyOfAnother},
      {"loads of /etc/passwd", &Attacker::LoadPasswords},
      {"no JSON", &Attacker::NoJson},
  };
  return kinds;
}

AttackResult Attacker::Post(const std::string& path, const std::string& json,
                            const std::vector<int>& allowed) {
  const RawAnswers answers = SendRaw(http_port_, PostText(path, json), AfterSending::kWait);
  AttackResult result = {answers.statuses, ""};
  for (const int status : answers.statuses) {
    if (std::find(allowed.begin(), allowed.end(), status) != allowed.end()) continue;
    result.wrong = fmt::format("{} to POST {} {}", status, path, json.substr(0, 120));
  }
  return result;
}

template <class Call>
AttackResult Attacker::Grpc(Call call) {
  try {
    call();
    return {{200}, "OK over gRPC"};
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::kUnavailable:
        return {{}, ""};
      case ErrorCode::kResourceExhausted:
        return {{429}, ""};
      case ErrorCode::kInvalidArgument:
        return {{400}, ""};
      default:
        return {{500}, fmt::format("gRPC: {}", error.what())};
    }
  }
}

AttackResult Attacker::Smuggle(uint64_t number) {
  static const std::vector<SmugglingCase> cases = [] {
    std::vector<SmugglingCase> all = SmugglingCases();
    std::erase_if(all, [](const SmugglingCase& one) { return one.refused == 0; });
    return all;
  }();
  // Neighbours in the list are alike.
  const SmugglingCase& one = cases[number * 389 % cases.size()];
  const RawAnswers answers = SendRaw(http_port_, one.bytes, AfterSending::kHalfClose);
  AttackResult result = {answers.statuses, ""};
  const bool refused_for_now = answers.statuses == std::vector<int>{503};
  if (!answers.statuses.empty() && !refused_for_now &&
      answers.statuses != std::vector<int>{one.refused}) {
    result.wrong =
        fmt::format("{} to the smuggling case '{}'", fmt::join(answers.statuses, ", "), one.name);
  }
  return result;
}

AttackResult Attacker::HugeBody(uint64_t number) {
  return Post(number % 2 == 0 ? kInfer : kTrain, million_rows_, {413, 429, 503});
}

AttackResult Attacker::HugeGrpcMessage(uint64_t number) {
  return Grpc([&] {
    client_.Train(Features(number, kTooManyRows), std::vector<float>(kTooManyRows, 1), 0);
  });
}

AttackResult Attacker::AbsurdLabel(uint64_t number) {
  const char* labels[] = {"1e30", "\"NaN\"", "-1", "2", "\"Infinity\"", "1e400", "null", "\"yes\""};
  // The good row beside it is not learned from either.
  return Post(kTrain,
              fmt::format(R"({{"rows":[{},{}],"idempotency_key":"hostile {}"}})", Row(number, "1"),
                          Row(number, Pick(labels, number / 16)), number),
              kRefused);
}

AttackResult Attacker::AbsurdLabelOverGrpc(uint64_t number) {
  const float labels[] = {1e30f, std::nanf(""), -1, 2, std::numeric_limits<float>::infinity()};
  return Grpc([&] {
    client_.Train(Features(number, 2), {1, Pick(labels, number / 16)}, 0,
                  fmt::format("hostile {}", number));
  });
}

AttackResult Attacker::AbsurdFeedback(uint64_t number) {
  const char* values[] = {"1e30", "\"NaN\"", "-1", "2"};
  return Post(kFeedback,
              fmt::format(R"({{"items":[{{"id":"good 0 {}","row":0,"value":{}}}]}})", number,
                          Pick(values, number / 16)),
              kRefused);
}

AttackResult Attacker::MisspeltColumn(uint64_t number) {
  const std::string user = fmt::format("{}", kHostileUser + number);
  const std::string rows[] = {
      R"({"usr":)" + user + R"(,"group":1,"topic":1,"story":1,"click":1})",
      R"({"user":)" + user + R"(,"group":1,"topic":1,"story":1,"clicked":1})",
      R"({"user":)" + user + R"(,"group":1,"topic":1,"click":1})",
      R"({"user":)" + user + R"(,"group":1,"topic":1,"story":1,"click":1,"more":1})",
      "{}",
  };
  return Post(number % 2 == 0 ? kTrain : kInfer,
              fmt::format(R"({{"rows":[{}]}})", Pick(rows, number / 16)), kRefused);
}

AttackResult Attacker::TimeFarAhead(uint64_t number) {
  const int64_t time = number % 2 == 0 ? NowNs() + kDayNs : -5;
  switch (number / 16 % 3) {
    case 0:
      return Post(kInfer,
                  fmt::format(R"({{"parameters":{{"event_time_ns":{}}},"rows":[{{"user":{},)"
                              R"("group":1,"topic":1,"story":1}}]}})",
                              time, kHostileUser + number),
                  kRefused);
    case 1:
      return Post(kTrain,
                  fmt::format(R"({{"rows":[{}],"event_time_ns":{}}})", Row(number, "1"), time),
                  kRefused);
    default:
      return Post(kFeedback,
                  fmt::format(R"({{"items":[{{"id":"good 0 {}","row":0,"event_time_ns":{}}}]}})",
                              number, time),
                  kRefused);
  }
}

AttackResult Attacker::UnknownFeedback(uint64_t number) {
  std::string items;
  for (int i = 0; i < 200; ++i) {
    items += fmt::format(R"({}{{"id":"hostile {} {}","row":0,"idempotency_key":"hostile {} {}"}})",
                         i == 0 ? "" : ",", number, i, number, i);
  }
  // It is held for a while, since its impression may yet come.
  return Post(kFeedback, "{\"items\":[" + items + "]}", {200, 429, 503});
}

// All of an example but its last bytes.
AttackResult Attacker::HalfRequest(uint64_t number) {
  std::string bytes = PostText(kTrain, fmt::format(R"({{"rows":[{}]}})", Row(number, "1")));
  bytes.resize(bytes.size() - 1 - number % 8);
  const RawAnswers answers = SendRaw(http_port_, bytes, AfterSending::kHalfClose);
  AttackResult result = {answers.statuses, ""};
  for (const int status : answers.statuses) {
    if (status / 100 != 4 && status != 503) {
      result.wrong = fmt::format("{} to half an example", status);
    }
  }
  return result;
}

AttackResult Attacker::ResetRequest(uint64_t number) {
  std::string bytes = PostText(kTrain, fmt::format(R"({{"rows":[{}]}})", Row(number, "1")));
  bytes.resize(bytes.size() - 1 - number % 64);
  SendRaw(http_port_, bytes, AfterSending::kReset);
  return {};
}

AttackResult Attacker::KeyOfAnother(uint64_t number) {
  const std::string key = recent_key_();
  if (key.empty()) return {};
  // Acknowledged, as a retry is, and left out, as one too.
  return Post(kTrain,
              fmt::format(R"({{"rows":[{}],"idempotency_key":"{}"}})", Row(number, "0"), key),
              {200, 429, 503});
}

AttackResult Attacker::LoadPasswords(uint64_t number) {
  const std::string parameters[] = {
      R"("program":"/etc/passwd")",
      R"("program":"../../../../../../../../etc/passwd")",
      fmt::format(R"("program":"{}","features":"/etc/passwd")", kSoakProgram),
      R"("program":"/etc/passwd","learn":true)",
  };
  // Under a name of its own, or in place of the model that is served.
  const std::string path =
      fmt::format("/v2/repository/models/{}/load", number / 64 % 2 == 0 ? "passwords" : kSoakModel);
  const std::string json = fmt::format(R"({{"parameters":{{{}}}}})", Pick(parameters, number / 16));
  const RawAnswers answers = SendRaw(http_port_, PostText(path, json), AfterSending::kWait);
  AttackResult result = {answers.statuses, ""};
  for (const int status : answers.statuses) {
    if (status / 100 == 4 || status == 503) continue;
    result.wrong = fmt::format("{} to POST {} {}", status, path, json);
  }
  if (answers.text.find("root:") != std::string::npos) {
    result.wrong = fmt::format("lines of /etc/passwd to POST {} {}", path, json);
  }
  return result;
}

AttackResult Attacker::NoJson(uint64_t number) {
  const std::string bodies[] = {
      "",
      "{",
      "[]",
      "null",
      "{\"rows\":[\"\xff\xfe\"]}",
      std::string(100'000, '['),
      "{\"inputs\":[{\"name\":\"user\",\"datatype\":\"UINT64\",\"shape\":[-1],\"data\":[1]}]}",
      "{\"inputs\":[{\"name\":\"user\",\"datatype\":\"UINT64\",\"shape\":[4611686018427387904,4],"
      "\"data\":[1]}]}"};
  const std::string paths[] = {kInfer, kTrain, kFeedback};
  return Post(Pick(paths, number), Pick(bodies, number / 16), kRefused);
}

}  // namespace catamaran::bench
