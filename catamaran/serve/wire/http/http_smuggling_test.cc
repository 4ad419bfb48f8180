#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catamaran/serve/wire/http/http_request_reader.h"
#include "catamaran/serve/wire/http/http_test_util.h"
#include "catamaran/serve/wire/http/smuggling_cases.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kHeadBytes = 16 << 10, kBodyBytes = 8 << 20;

// The codes of all answers that the bytes get, until the server closes the connection.
std::vector<int> Answers(int port, std::string_view bytes) {
  TestClient client(port);
  client.Send(bytes);
  client.EndSending();
  std::vector<int> codes;
  for (TestAnswer answer = client.Receive(); answer.status != 0; answer = client.Receive()) {
    codes.push_back(answer.status);
  }
  return codes;
}

TEST(HttpSmuggling, NoBytesAreTakenForASecondRequest) {
  HttpFixture fixture;
  for (const SmugglingCase& one : SmugglingCases()) {
    EXPECT_THAT(Answers(fixture.http.port(), one.bytes),
                ElementsAre(one.refused == 0 ? 200 : one.refused))
        << one.name;
  }
}

// What reading the bytes comes to, in pieces of that size: each request, and a refusal at last.
std::string ReadAll(std::string_view bytes, size_t piece) {
  std::string text;
  std::string buffer;
  HttpRequest request;
  std::optional<RequestReader> reader(std::in_place, request, kHeadBytes, kBodyBytes);
  while (true) {
    const size_t used = reader->Put(buffer);
    buffer.erase(0, used);
    if (reader->is_refused()) return text + std::to_string(reader->refusal_code());
    if (reader->is_done()) {
      text += fmt::format("{} {} {} '{}'\n", request.head.method, request.head.target,
                          request.head.host, request.body);
      reader.emplace(request, kHeadBytes, kBodyBytes);
      continue;
    }
    if (used > 0) continue;
    if (bytes.empty()) return text;
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
}

TEST(HttpSmuggling, HowBytesArriveDoesNotDecideWhatTheyAre) {
  for (const SmugglingCase& one : SmugglingCases()) {
    const std::string whole = ReadAll(one.bytes, one.bytes.size());
    EXPECT_EQ(ReadAll(one.bytes, 1), whole) << one.name;
    EXPECT_EQ(ReadAll(one.bytes, 7), whole) << one.name;
    if (one.refused != 0) {
      EXPECT_EQ(whole, std::to_string(one.refused)) << one.name;
    }
  }
}

TEST(HttpSmuggling, ATransferEncodingThatIsNotChunkedWasAnsweredAndItsBodyTakenForARequest) {
  HttpFixture fixture;
  for (const char* coding : {"xchunked", "gzip", "identity", "chunked, gzip"}) {
    EXPECT_THAT(Answers(fixture.http.port(),
                        fmt::format("GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n"
                                    "Transfer-Encoding: {}\r\n\r\n"
                                    "GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                    coding)),
                ElementsAre(501))
        << coding;
  }
}

TEST(HttpSmuggling, ARequestWithTwoHostsOrNoneWasAnswered) {
  HttpFixture fixture;
  for (const char* hosts : {"", "Host: localhost\r\nHost: localhost\r\n"}) {
    EXPECT_THAT(
        Answers(fixture.http.port(), fmt::format("GET /v2/health/live HTTP/1.1\r\n{}\r\n", hosts)),
        ElementsAre(400));
  }
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_http_malformed_requests_total 2"));
}

TEST(HttpSmuggling, TheHostOfAWholeUriDecidesWhoMayCall) {
  HttpFixture fixture;  // for its own machine, without tokens
  EXPECT_THAT(Answers(fixture.http.port(),
                      "GET http://example.org/v2/health/live HTTP/1.1\r\nHost: localhost\r\n"
                      "Connection: close\r\n\r\n"),
              ElementsAre(403));
}

TEST(HttpSmuggling, FieldsBehindTheBodyChangeNothing) {
  HttpRequest request;
  RequestReader reader(request, kHeadBytes, kBodyBytes);
  std::string_view bytes =
      "POST /v2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nHost: b\r\nAuthorization: Bearer x\r\nContent-Encoding: gzip\r\n\r\nGET";
  while (!reader.is_done()) bytes.remove_prefix(reader.Put(bytes));
  EXPECT_EQ(bytes, "GET");
  EXPECT_EQ(request.body, "abc");
  EXPECT_EQ(request.head.host, "a");
  EXPECT_EQ(request.head.authorization, "");
  EXPECT_EQ(request.head.content_encoding, "");
}

}  // namespace
}  // namespace catamaran
