#include "catamaran/serve/wire/auth/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/serve/wire/auth/test_certificates.h"
#include "catamaran/serve/wire/auth/tls.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;

std::string WhyNot(const std::string& text) {
  try {
    Tokens::Parse(text, "tokens");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Tokens, AreKnownByWhatTheyAreOrByTheirHash) {
  const Tokens tokens = Tokens::Parse(
      "# who may do what\n"
      "\n"
      "web  infer,learn  open-sesame\r\n"
      // SHA-256 of "test-token"
      "ops\tadmin\tsha256:4c5dc9b7708905f77f5e5d16316b5dfb425e68cb326dcd55a860e90a7707031e",
      "tokens");
  EXPECT_TRUE(tokens.Check("Bearer open-sesame", Right::kInfer).ok());
  EXPECT_TRUE(tokens.Check("bearer  open-sesame", Right::kLearn).ok());
  EXPECT_TRUE(tokens.Check("Bearer open-sesame", Right::kAny).ok());
  EXPECT_TRUE(tokens.Check("BEARER test-token", Right::kAdmin).ok());
  EXPECT_TRUE(tokens.Check("", Right::kNone).ok());
  EXPECT_EQ(tokens.Check("Bearer open-sesame", Right::kAdmin).message,
            "the token 'web' has not the right 'admin'");
  EXPECT_EQ(tokens.Check("Bearer test-token", Right::kInfer).code, StatusCode::kPermissionDenied);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer open-sesam", "Basic open-sesame",
                            "open-sesame", "Bearer open-sesame "}) {
    EXPECT_EQ(tokens.Check(wrong, Right::kInfer).code, StatusCode::kUnauthenticated) << wrong;
  }
}

TEST(Tokens, WithoutAnyEverybodyMayDoEverything) {
  EXPECT_TRUE(Tokens().Check("", Right::kAdmin).ok());
}

TEST(Tokens, WrongLinesAreNamed) {
  EXPECT_EQ(WhyNot("\nweb infer"), "tokens:2: wanted three words: a name, rights, a token");
  EXPECT_EQ(WhyNot("web infer a-token b"), "tokens:1: wanted three words: a name, rights, a token");
  EXPECT_EQ(WhyNot("web infer,root a-long-token"),
            "tokens:1: 'root' is no right; infer, learn and admin are");
  EXPECT_EQ(WhyNot("web infer short"),
            "tokens:1: a token has 8 to 4096 characters, this one has 5");
  EXPECT_EQ(WhyNot("web infer sha256:12"), "tokens:1: a SHA-256 has 64 digits, here are 2");
  EXPECT_EQ(WhyNot("a infer the-same-token\nb admin the-same-token"),
            "tokens:2: 'a' and 'b' have the same token");
  EXPECT_EQ(WhyNot("# nobody\n"), "tokens: there is no token in it");
}

TEST(Tokens, AreNeededWhereOthersReachTheServer) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "", "::", "10.0.0.1", "127.0.0.1.example.org", "127.evil"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
    EXPECT_THROW(CheckExposure(host, Tokens(), false), Error) << host;
    EXPECT_NO_THROW(CheckExposure(host, Tokens(), true)) << host;
  }
  EXPECT_NO_THROW(
      CheckExposure("0.0.0.0", Tokens::Parse("web infer open-sesame", "tokens"), false));
}

TEST(TlsKeys, AreCheckedBeforeAnyoneConnects) {
  const TestAuthority ours = MakeTestAuthority("ours"), theirs = MakeTestAuthority("theirs");
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "cert.pem", ours.localhost.certificate);
  WriteFileAtomically(fs, "key.pem", ours.localhost.key);
  WriteFileAtomically(fs, "other.pem", theirs.localhost.key);
  WriteFileAtomically(fs, "text", "hello");
  EXPECT_EQ(LoadTlsKeys(fs, "cert.pem", "key.pem", "").key, ours.localhost.key);
  const auto why = [&](const char* certificate, const char* key, const char* roots) {
    try {
      LoadTlsKeys(fs, certificate, key, roots);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(why("cert.pem", "other.pem", ""),
            "other.pem: this key is not that of the certificate cert.pem");
  EXPECT_EQ(why("text", "key.pem", ""), "text: there is no certificate in it (PEM text)");
  EXPECT_THAT(why("cert.pem", "text", ""), HasSubstr("text: there is no private key in it"));
  EXPECT_THAT(why("cert.pem", "key.pem", "text"), HasSubstr("text: there is no certificate"));
  EXPECT_THAT(why("missing.pem", "key.pem", ""), HasSubstr("missing.pem"));
}

}  // namespace
}  // namespace catamaran
