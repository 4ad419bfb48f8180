#include "catamaran/serve/wire/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <string>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/http/http_test_util.h"

namespace catamaran {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr std::string_view kBody =
    R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]})";

TEST(HttpServer, RightsAreSeparate) {
  HttpFixture fixture({}, Tokens::Parse("web infer token-web\n"
                                        "app learn token-app\n",
                                        "tokens"));
  const auto call = [&](std::string_view method, const char* target, const std::string& token) {
    TestClient client(fixture.http.port());
    return client.Call(method, target, method == "POST" ? kBody : "",
                       token.empty() ? "" : "Authorization: Bearer " + token + "\r\n");
  };
  const TestAnswer none = call("POST", "/v2/models/sum/infer", "");
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.Header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(call("POST", "/v2/models/sum/infer", "token-x").status, 401);
  EXPECT_EQ(call("POST", "/v2/models/sum/infer", "token-app").status, 403);
  EXPECT_EQ(call("POST", "/v2/models/sum/infer", "token-web").status, 200);
  EXPECT_EQ(call("POST", "/v1/models/sum/commit", "token-app").status, 403);
  EXPECT_EQ(call("GET", "/v1/models/sum/learning", "token-app").status, 200);
  EXPECT_EQ(call("GET", "/v2/health/ready", "").status, 200);
  EXPECT_EQ(call("GET", "/metrics", "").status, 401);
  EXPECT_EQ(call("GET", "/metrics", "token-app").status, 200);
}

TEST(HttpServer, PagesFromElsewhereDoNotReachIt) {
  HttpFixture fixture;
  const auto call = [&](const std::string& headers) {
    TestClient client(fixture.http.port());
    client.Send(fmt::format("POST /v2/models/sum/infer HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}",
                            headers, kBody.size(), kBody));
    return client.Receive().status;
  };
  EXPECT_EQ(call("Host: localhost:80\r\n"), 200);
  EXPECT_EQ(call("Host: localhost:80\r\nOrigin: http://localhost:80\r\n"), 200);
  EXPECT_EQ(call("Host: localhost:80\r\nOrigin: http://example.org\r\n"), 403);
  EXPECT_EQ(call("Host: localhost:80\r\nOrigin: null\r\n"), 403);
  EXPECT_EQ(call("Host: example.org\r\n"), 403);  // a name that was made to lead here
}

TEST(HttpServer, AnswersOneAfterAnotherOnOneConnection) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.Call("POST", "/v2/models/sum/infer", kBody).status, 200);
  }
  // Sent ahead.
  client.Send(
      "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET /v2/models/sum/ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Receive().body, R"({"live":true})");
  EXPECT_EQ(client.Receive().body, R"({"ready":true})");
  const TestAnswer head = client.Call("HEAD", "/v2/health/live");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "13");
  EXPECT_EQ(client.Call("GET", "/v2/health/live", "", "Connection: close\r\n").status, 200);
  EXPECT_TRUE(client.IsClosed());

  TestClient old(fixture.http.port());
  old.Send("GET /v2/health/live HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Receive().status, 200);
  EXPECT_TRUE(old.IsClosed());
}

TEST(HttpServer, WaitsForTheBodyWhenAskedTo) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  client.Send(
      fmt::format("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                  "Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
                  kBody.size()));
  EXPECT_EQ(client.Receive(true).status, 100);
  client.Send(kBody);
  EXPECT_EQ(client.Receive().status, 200);

  client.Send(
      fmt::format("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                  kBody.size(), kBody));
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpServer, WrongRequestsHaveAnswers) {
  HttpOptions options;
  options.max_header_bytes = 2000;
  options.max_json_bytes = 500;
  options.max_body_bytes = 1000;
  HttpFixture fixture(options);
  const auto status = [&](std::string_view bytes) {
    TestClient client(fixture.http.port());
    client.Send(bytes);
    const int code = client.Receive().status;
    return code;
  };
  EXPECT_EQ(status("hello\r\n\r\n"), 400);
  EXPECT_EQ(status("\x16\x03\x01\x02\x03 TLS?\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /v2 HTTP/1.1\r\nX: " + std::string(3000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404);
  EXPECT_EQ(status("DELETE /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
  EXPECT_EQ(status("GET /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Length: 501\r\n\r\n"),
            413);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Inference-Header-Content-Length: 10\r\nContent-Length: 1001\r\n\r\n"),
            413);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" +
                   std::string(1000, ' ') + "\r\n0\r\n\r\n"),
            413);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"),
            415);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Length: x\r\n\r\n"),
            400);
  EXPECT_EQ(status("POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                   "Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
            400);
}

TEST(HttpServer, HeadersAreLimitedHoweverTheyCome) {
  HttpOptions options;
  options.max_header_bytes = 2000;
  HttpFixture fixture(options);
  TestClient client(fixture.http.port());
  client.Send("GET /v2 HTTP/1.1\r\nHost: localhost\r\n");
  std::thread sending([&] {
    for (int i = 0; i < 300; ++i) {
      client.Send("X-Small: field\r\n");
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  EXPECT_EQ(client.Receive().status, 431);
  sending.join();
}

TEST(HttpServer, ARequestInPiecesIsTheSame) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  const std::string request = fmt::format(
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: {}\r\n\r\n{}",
      kBody.size(), kBody);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{60}}) {
    for (size_t at = 0; at < request.size(); at += piece) {
      client.Send(std::string_view(request).substr(at, piece));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const TestAnswer answer = client.Receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("\"data\":[6]"));
  }
}

TEST(HttpServer, ALargeAnswerReachesASlowReader) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  // More answers than sockets hold, all asked for before the first is read.
  constexpr int kCalls = 1000;
  std::string requests;
  for (int i = 0; i < kCalls; ++i) {
    requests += "GET /page/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  client.Send(requests);
  std::this_thread::sleep_for(milliseconds(50));
  const TestAnswer first = client.Receive();
  EXPECT_EQ(first.status, 200);
  for (int i = 1; i < kCalls; ++i) EXPECT_EQ(client.Receive().body, first.body) << i;
}

TEST(HttpServer, ARequestThatIsCutOffLeavesNothingBehind) {
  HttpFixture fixture;
  for (const char* begun : {"GET /v2 HT",
                            "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\n"
                            "Content-Length: 100\r\n\r\n{\"in"}) {
    TestClient client(fixture.http.port());
    client.Send(begun);
  }
  for (int i = 0; i < 1000 && fixture.http.connections() > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(fixture.http.connections(), 0u);
}

TEST(HttpServer, SlowClientsAreLetGo) {
  HttpOptions options;
  options.header_timeout = options.idle_timeout = options.body_timeout = milliseconds(200);
  HttpFixture fixture(options);
  TestClient silent(fixture.http.port()), slow_head(fixture.http.port()),
      slow_body(fixture.http.port()), idle(fixture.http.port());
  EXPECT_EQ(idle.Call("GET", "/v2/health/live").status, 200);
  slow_body.Send(
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  std::atomic<bool> done = false;
  std::thread dripping([&] {
    slow_head.Send("GET /v2 HTTP/1.1\r\nX: ");
    for (int i = 0; i < 1000 && !done; ++i) {
      slow_head.Send("x");
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(slow_body.IsClosed());
  EXPECT_TRUE(idle.IsClosed());
  for (int i = 0; i < 1000 && fixture.http.connections() > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(fixture.http.connections(), 0u);  // the dripping one too
  done = true;
  dripping.join();
}

TEST(HttpServer, ThereAreOnlySoManyConnectionsAndBodies) {
  HttpOptions options;
  options.max_connections = 3;
  options.max_bodies_bytes = 150;
  HttpFixture fixture(options);
  std::list<TestClient> clients;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(clients.emplace_back(fixture.http.port()).Call("GET", "/v2/health/live").status, 200);
  }
  {
    TestClient another(fixture.http.port());
    EXPECT_EQ(another.Receive().status, 503);
  }
  const char* const large =
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n";
  clients.front().Send(large);
  for (int i = 0; i < 1000; ++i) {  // until the server has read it
    TestAnswer answer = clients.back().Call("GET", "/metrics");
    if (answer.status == 200) break;
  }
  std::this_thread::sleep_for(milliseconds(50));
  clients.back().Send(large);
  EXPECT_EQ(clients.back().Receive().status, 429);
  clients.pop_front();  // its share comes back
  for (int i = 0; i < 500; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    TestClient again(fixture.http.port());
    if (again.Call("POST", "/v2/models/sum/infer", kBody).status == 200) return;
  }
  FAIL() << "what a client that has gone took does not come back";
}

TEST(HttpServer, AClientThatGoesTellsTheServer) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  client.Send(fmt::format(
      "POST /v2/models/held/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      kBody.size(), kBody));
  ASSERT_TRUE(fixture.server.WaitHeld(1));
  client.Hangup();
  const auto cancelled = fixture.server.last().cancelled;
  for (int i = 0; i < 1000 && !*cancelled; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(*cancelled);
  fixture.server.Release();
}

// The next event of a stream; empty if it is over.
std::string NextEvent(TestClient& client) {
  const std::string size = client.ReceiveLine();
  const std::string event = client.ReceiveLine();
  if (size.empty() || size == "0") return "";
  EXPECT_EQ(client.ReceiveLine(), "");
  EXPECT_EQ(client.ReceiveLine(), "");
  return event;
}

TEST(HttpServer, AWatchSendsEventsUntilTheServerStops) {
  HttpOptions options;
  options.max_watches = 1;
  HttpFixture fixture(options);
  TestClient client(fixture.http.port());
  client.Send(
      "GET /v1/models/sum/learning/watch?interval_ms=100 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const TestAnswer head = client.Receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Type"), "text/event-stream");
  EXPECT_THAT(NextEvent(client), HasSubstr("data: {\"model\":\"\",\"running\":false"));
  {
    const std::lock_guard lock(fixture.server.learning->mutex);
    fixture.server.learning->now.step = 9;
  }
  EXPECT_THAT(NextEvent(client), HasSubstr("\"step\":9,"));
  TestClient another(fixture.http.port());
  EXPECT_EQ(another.Call("GET", "/v1/models/sum/learning/watch").status, 429);
  EXPECT_EQ(another.Call("GET", "/v1/models/held/learning/watch").status, 409);

  std::thread stopper([&] { fixture.http.Stop(std::chrono::seconds(10)); });
  EXPECT_EQ(NextEvent(client), "");
  EXPECT_TRUE(client.IsClosed());
  client.Hangup();
  stopper.join();
}

TEST(HttpServer, AWatchEndsWithItsClient) {
  HttpFixture fixture;
  {
    TestClient client(fixture.http.port());
    client.Send("GET /v1/models/sum/learning/watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.Receive(true).status, 200);
  }
  for (int i = 0; i < 1000 && fixture.http.connections() > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(fixture.http.connections(), 0u);
}

TEST(HttpServer, StopAnswersWhatIsUnderWay) {
  HttpFixture fixture;
  TestClient busy(fixture.http.port()), idle(fixture.http.port());
  EXPECT_EQ(idle.Call("GET", "/v2/health/live").status, 200);
  busy.Send(fmt::format(
      "POST /v2/models/held/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      kBody.size(), kBody));
  ASSERT_TRUE(fixture.server.WaitHeld(1));
  std::thread stopper([&] { fixture.http.Stop(std::chrono::seconds(10)); });
  EXPECT_TRUE(idle.IsClosed());
  fixture.server.Release();
  const TestAnswer answer = busy.Receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("Connection"), "close");
  busy.Hangup();
  stopper.join();
  EXPECT_THROW(TestClient(fixture.http.port()), Error);
}

TEST(HttpServer, StopIsNotHeldUpForever) {
  HttpFixture fixture;
  TestClient busy(fixture.http.port()), begun(fixture.http.port());
  begun.Send(
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 9\r\n\r\n");
  EXPECT_EQ(begun.Receive(true).status, 100);  // it was read, and the rest is waited for
  busy.Send(fmt::format(
      "POST /v2/models/held/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      kBody.size(), kBody));
  ASSERT_TRUE(fixture.server.WaitHeld(1));
  std::thread stopper([&] { fixture.http.Stop(milliseconds(20)); });
  const auto cancelled = fixture.server.last().cancelled;
  for (int i = 0; i < 1000 && !*cancelled; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(*cancelled);
  fixture.server.Release();
  stopper.join();
  EXPECT_TRUE(begun.IsClosed());
}

TEST(HttpServer, ConnectionsAreEncryptedAndClientsShowCertificates) {
  const TestAuthority ours = MakeTestAuthority("ours"), theirs = MakeTestAuthority("theirs");
  HttpOptions options;
  options.tls = TlsKeys{ours.localhost.certificate, ours.localhost.key, ""};
  options.handshake_timeout = milliseconds(500);
  HttpFixture plain_tls(options);
  TestClient good(plain_tls.http.port()), bad(plain_tls.http.port()), plain(plain_tls.http.port()),
      silent(plain_tls.http.port());
  ASSERT_TRUE(good.StartTls(ours.root.certificate, nullptr));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(good.Call("POST", "/v2/models/sum/infer", kBody).status, 200);
  }
  EXPECT_EQ(good.Call("GET", "/v2", "", "Connection: close\r\n").status, 200);
  EXPECT_TRUE(good.IsClosed());
  EXPECT_FALSE(bad.StartTls(theirs.root.certificate, nullptr));
  EXPECT_EQ(plain.Call("GET", "/v2").status, 0);
  EXPECT_TRUE(silent.IsClosed());

  options.tls->client_roots = ours.root.certificate;
  HttpFixture mutual(options);
  const auto status = [&](const TestCertificate* own) {
    TestClient client(mutual.http.port());
    // With TLS 1.3 the client hears of a refusal only when it reads.
    if (!client.StartTls(ours.root.certificate, own)) return 0;
    return client.Call("GET", "/v2").status;
  };
  EXPECT_EQ(status(&ours.localhost), 200);
  EXPECT_EQ(status(nullptr), 0);
  EXPECT_EQ(status(&theirs.localhost), 0);
}

TEST(HttpServer, StopDoesNotWaitForHandshakes) {
  const TestAuthority ours = MakeTestAuthority("ours");
  HttpOptions options;
  options.tls = TlsKeys{ours.localhost.certificate, ours.localhost.key, ""};
  options.handshake_timeout = std::chrono::minutes(5);
  HttpFixture fixture(options);
  TestClient silent(fixture.http.port());
  for (int i = 0; i < 1000 && fixture.http.connections() == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  std::thread stopper([&] { fixture.http.Stop(std::chrono::seconds(60)); });
  EXPECT_TRUE(silent.IsClosed());
  stopper.join();
}

TEST(HttpServer, ManyClientsAtOnceAreAnswered) {
  HttpFixture fixture;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int c = 0; c < 10; ++c) {
        TestClient client(fixture.http.port());
        for (int i = 0; i < 20; ++i) {
          const TestAnswer answer = client.Call("POST", "/v2/models/sum/infer", kBody);
          good += answer.status == 200 && answer.body.find("\"data\":[6]") != std::string::npos;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8 * 10 * 20);
}

TEST(HttpServer, AddressesThatCannotBeHadAreNamed) {
  HttpFixture fixture;
  HttpOptions same;
  same.port = fixture.http.port();
  try {
    HttpServer second(fixture.gateway, same);
    FAIL() << "two servers share a port";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot listen on 127.0.0.1:"));
  }
  HttpOptions open;
  open.host = "0.0.0.0";
  EXPECT_THROW(HttpServer(fixture.gateway, open), Error);
}

}  // namespace
}  // namespace catamaran
