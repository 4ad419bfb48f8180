// The page and what it shows, over real connections.

#include "catamaran/serve/wire/http/rest_overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/data/text/json.h"
#include "catamaran/serve/wire/http/http_test_util.h"
#include "catamaran/serve/wire/http/page_files.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, ComesWithAllItsFiles) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  const TestAnswer page = client.Call("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.Header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.Header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(page.body, HasSubstr("<title>Catamaran</title>"));
  for (const PageFile& file : PageFiles()) {
    const TestAnswer answer = client.Call("GET", "/page/" + std::string(file.name));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, file.text) << file.name;
    EXPECT_THAT(answer.body, Not(HasSubstr("https://"))) << file.name << ": it works offline";
  }
  EXPECT_EQ(client.Call("GET", "/page/page.js").Header("Content-Type"),
            "text/javascript; charset=utf-8");
  EXPECT_EQ(client.Call("GET", "/page/nothing.js").status, 404);
  EXPECT_EQ(client.Call("GET", "/page/..%2Findex.html").status, 404);
  EXPECT_EQ(client.Call("POST", "/").status, 405);
}

TEST(Overview, TellsOfAllModels) {
  HttpFixture fixture;
  Overview overview(fixture.gateway);
  overview.Look(1000);
  fixture.server.latency_counts = {0, 100, 0};
  overview.Look(2000);
  const std::string text = overview.Write("/v1/overview");
  JsonDocument document;
  EXPECT_TRUE(document.Parse(text)) << text;
  EXPECT_THAT(text, HasSubstr(R"("name":"sum","version":"1","state":"READY")"));
  EXPECT_THAT(text, HasSubstr(R"("reason":"line 3 is wrong")"));
  EXPECT_THAT(text, HasSubstr(R"("tables":[{"name":"feat","width":16,"rows":1000,)"));
  EXPECT_THAT(text, HasSubstr(R"("p50":[0.0055])"));
}

TEST(Overview, GivesOnlyPointsThatAreNewer) {
  HttpFixture fixture;
  Overview overview(fixture.gateway);
  for (const int64_t time : {1000, 2000, 3000}) overview.Look(time);
  EXPECT_THAT(overview.Write("/v1/overview"), HasSubstr(R"("time_ms":[2000,3000])"));
  EXPECT_THAT(overview.Write("/v1/overview?minutes=0&since=2000"),
              HasSubstr(R"("time_ms":[3000])"));
  EXPECT_THAT(overview.Write("/v1/overview?minutes=1"), HasSubstr(R"("distance_ms":60000)"));
}

TEST(Overview, WantsATokenAndTheProgramAnAdministrators) {
  HttpFixture fixture({}, Tokens::Parse("web infer web-token\nboss admin boss-token\n", "tokens"));
  TestClient client(fixture.http.port());
  const std::string web = "Authorization: Bearer web-token\r\n",
                    boss = "Authorization: Bearer boss-token\r\n";
  EXPECT_EQ(client.Call("GET", "/").status, 200);
  EXPECT_EQ(client.Call("GET", "/v1/overview").status, 401);
  EXPECT_EQ(client.Call("GET", "/v1/overview", "", web).status, 200);
  EXPECT_EQ(client.Call("GET", "/v1/models/sum/program", "", web).status, 403);
  const TestAnswer program = client.Call("GET", "/v1/models/sum/program", "", boss);
  EXPECT_EQ(program.status, 200);
  EXPECT_EQ(program.body, "program sum\n");
  EXPECT_EQ(client.Call("GET", "/v1/models/nothing/program", "", boss).status, 404);
}

}  // namespace
}  // namespace catamaran
