// serve/wire/http/smuggling_cases.h
//
// Requests whose end two readers could see in different places, for tests: the classes that public
// collections of request smuggling list (CL.TE, TE.CL, TE.TE, CL.CL, CL.0, chunks, line ends,
// folded lines, targets), written for this service. Where a case hides a second request, an answer
// to that one is the mistake.

#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

struct SmugglingCase {
  std::string name;
  std::string bytes;
  // How it is refused, with the connection closed behind it. 0: it is one request, which is
  // answered with 200, and nothing in it is another.
  int refused = 0;
};

inline std::vector<SmugglingCase> SmugglingCases() {
  using std::string;
  using std::string_literals::operator""s;
  const string post = "POST /v2/models/sum/infer HTTP/1.1\r\n", host = "Host: localhost\r\n";
  const string json =
      R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]})";
  const string hidden = "GET /v2/models/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const string chunks = fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", json.size(), json);
  const string length = fmt::format("Content-Length: {}\r\n", json.size());
  // With these lines, and a body that hides a request.
  const auto posted = [&](const string& lines, const string& body) {
    return post + host + lines + "\r\n" + body;
  };
  const auto got = [&](const string& target, const string& lines) {
    return "GET " + target + " HTTP/1.1\r\n" + lines + "\r\n";
  };
  // A request with a length, in front of whose body there is an empty chunk and a hidden request.
  const auto with_length = [&](const string& lines) {
    const string body = "0\r\n\r\n" + hidden;
    return posted(fmt::format("{}Content-Length: {}\r\n", lines, body.size()), body);
  };

  std::vector<SmugglingCase> cases = {
      // Good ones.
      {"plain", posted(length, json), 0},
      {"chunks", posted("Transfer-Encoding: chunked\r\n", chunks), 0},
      {"chunked in capitals", posted("TRANSFER-ENCODING: CHUNKED\r\n", chunks), 0},
      {"blanks around a value", posted("Transfer-Encoding: \t chunked \t\r\n", chunks), 0},
      {"an empty line in front", "\r\n" + posted(length, json), 0},
      {"a chunk's extension",
       posted("Transfer-Encoding: chunked\r\n",
              fmt::format("{:x};name=value;q=\"a b\"\r\n{}\r\n0;last\r\n\r\n", json.size(), json)),
       0},
      {"a field behind the body",
       posted("Transfer-Encoding: chunked\r\n",
              fmt::format("{:x}\r\n{}\r\n0\r\nX-Sum: 6\r\n\r\n", json.size(), json)),
       0},
      {"fields behind the body that say how long it is",
       posted("Transfer-Encoding: chunked\r\n",
              fmt::format("{:x}\r\n{}\r\n0\r\nContent-Length: 5\r\nHost: elsewhere\r\n"
                          "Inference-Header-Content-Length: 3\r\n\r\n",
                          json.size(), json)),
       0},
      {"leading zeros of a chunk's size", posted("Transfer-Encoding: chunked\r\n", "000" + chunks),
       0},
      {"CL.0: a body of GET hides a request",
       got("/v2/health/live", host + fmt::format("Content-Length: {}\r\n", hidden.size())) + hidden,
       0},
      {"an underscore is no hyphen", posted("Transfer_Encoding: chunked\r\n" + length, json), 0},
      {"a target that is a whole URI", got("http://localhost/v2/health/live", host), 0},
      {"a whole URI whose host is another than the field's",
       got("http://localhost/v2/health/live", "Host: example.org\r\n"), 0},
      {"HTTP/1.0 without a host", "GET /v2/health/live HTTP/1.0\r\n\r\n", 0},

      // TE: no coding but `chunked`.
      {"TE: xchunked", posted("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + hidden), 501},
      {"TE: gzip", posted("Transfer-Encoding: gzip\r\n", hidden), 501},
      {"TE: identity", posted("Transfer-Encoding: identity\r\n", hidden), 501},
      {"TE: identity with a length", with_length("Transfer-Encoding: identity\r\n"), 501},
      {"TE: chunked, gzip", posted("Transfer-Encoding: chunked, gzip\r\n", chunks + hidden), 501},
      {"TE: gzip, chunked", posted("Transfer-Encoding: gzip, chunked\r\n", chunks + hidden), 501},
      {"TE: chunked, chunked", posted("Transfer-Encoding: chunked, chunked\r\n", chunks), 501},
      {"TE: chunked,", posted("Transfer-Encoding: chunked,\r\n", chunks + hidden), 501},
      {"TE: , chunked", posted("Transfer-Encoding: , chunked\r\n", chunks + hidden), 501},
      {"TE: chunked;q=1", posted("Transfer-Encoding: chunked;q=1\r\n", chunks + hidden), 501},
      {"TE: empty", posted("Transfer-Encoding:\r\n", hidden), 501},
      {"TE: cow chunked bar", posted("Transfer-Encoding: cow chunked bar\r\n", hidden), 501},
      {"TE: \"chunked\"", posted("Transfer-Encoding: \"chunked\"\r\n", chunks + hidden), 501},
      {"TE: 'chunked'", posted("Transfer-Encoding: 'chunked'\r\n", chunks + hidden), 501},
      {"TE: chunk", posted("Transfer-Encoding: chunk\r\n", hidden), 501},
      {"TE.TE: cow and chunked",
       posted("Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n", chunks + hidden), 501},
      {"TE.TE: chunked and cow",
       posted("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n", chunks + hidden), 400},
      {"TE.TE: chunked twice",
       posted("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunks), 400},
      {"TE of HTTP/1.0",
       "POST /v2/models/sum/infer HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" +
           chunks + hidden,
       400},

      // Both lengths.
      {"CL.TE", with_length("Transfer-Encoding: chunked\r\n"), 400},
      {"TE.CL", posted("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", chunks + hidden),
       400},
      {"CL: 0 and TE", posted("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", chunks), 400},

      // CL: one number.
      {"CL.CL, unequal", posted("Content-Length: 0\r\n" + length, json), 400},
      {"CL.CL, equal", posted(length + length, json), 400},
      {"CL: a list", posted(fmt::format("Content-Length: {0}, {0}\r\n", json.size()), json), 400},
      {"CL: +5", posted(fmt::format("Content-Length: +{}\r\n", json.size()), json), 400},
      {"CL: -1", posted("Content-Length: -1\r\n", hidden), 400},
      {"CL: hexadecimal", posted(fmt::format("Content-Length: 0x{:x}\r\n", json.size()), json),
       400},
      {"CL: 5_0", posted("Content-Length: 5_0\r\n", json), 400},
      {"CL: 5 5", posted("Content-Length: 5 5\r\n", json), 400},
      {"CL: empty", posted("Content-Length:\r\n", hidden), 400},
      {"CL: beyond 64 bits", posted("Content-Length: 18446744073709551620\r\n", hidden), 400},
      {"CL: a fraction", posted("Content-Length: 5.0\r\n", hidden), 400},
      {"CL: quoted", posted("Content-Length: \"5\"\r\n", hidden), 400},
      {"CL: huge", posted("Content-Length: 18446744073709551615\r\n", hidden), 413},

      // Lines.
      {"a blank before the colon", with_length("Transfer-Encoding : chunked\r\n"), 400},
      {"a tab before the colon", with_length("Transfer-Encoding\t: chunked\r\n"), 400},
      {"a blank in a name", with_length("Transfer Encoding: chunked\r\n"), 400},
      {"a blank in front of a name", with_length("X: y\r\n Transfer-Encoding: chunked\r\n"), 400},
      {"a folded value", with_length("Transfer-Encoding:\r\n chunked\r\n"), 501},
      {"a folded value of no matter", posted("X: y\r\n\tz\r\n" + length, json), 400},
      {"a blank behind the first line", post + " " + host + host + length + "\r\n" + json, 400},
      {"a line without a colon", posted("X\r\n" + length, json), 400},
      {"a line without a name", posted(": y\r\n" + length, json), 400},
      {"LF alone ends a line", with_length("X: y\nTransfer-Encoding: chunked\r\n"), 400},
      {"CR alone ends a line", with_length("X: y\rTransfer-Encoding: chunked\r\n"), 400},
      {"CR CR LF", with_length("Transfer-Encoding: chunked\r\r\n"), 400},
      {"LF alone everywhere",
       "POST /v2/models/sum/infer HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n" + hidden, 400},
      {"LF alone ends the head", post + host + "Content-Length: 0\r\n\n" + hidden, 400},
      {"a NUL in a value", with_length("X: a\0b\r\n"s), 400},
      {"a NUL in a name", with_length("X\0Y: a\r\n"s), 400},
      {"a vertical tab before chunked",
       with_length("Transfer-Encoding: \x0b"
                   "chunked\r\n"),
       400},
      {"a control character in the target", got("/v2/health/live\x01", host) + hidden, 400},

      // Hosts.
      {"no host", got("/v2/health/live", "") + hidden, 400},
      {"two hosts", got("/v2/health/live", host + "Host: elsewhere\r\n") + hidden, 400},
      {"one host twice", got("/v2/health/live", host + host) + hidden, 400},
      {"an empty host", got("/v2/health/live", "Host:\r\n") + hidden, 400},
      {"a list of hosts", got("/v2/health/live", "Host: localhost, elsewhere\r\n") + hidden, 400},
      {"a host with a path", got("/v2/health/live", "Host: localhost/x\r\n") + hidden, 400},
      {"a host with a user", got("/v2/health/live", "Host: localhost@x\r\n") + hidden, 400},
      {"a whole URI and no host", got("http://localhost/v2/health/live", "") + hidden, 400},

      // First lines.
      {"a blank in the target", got("/v2/health/live x", host) + hidden, 400},
      {"two blanks", "GET  /v2/health/live HTTP/1.1\r\n" + host + "\r\n" + hidden, 400},
      {"a tab for a blank", "GET\t/v2/health/live HTTP/1.1\r\n" + host + "\r\n" + hidden, 400},
      {"a blank in front", " GET /v2/health/live HTTP/1.1\r\n" + host + "\r\n" + hidden, 400},
      {"a blank behind", "GET /v2/health/live HTTP/1.1 \r\n" + host + "\r\n" + hidden, 400},
      {"two empty lines in front", "\r\n\r\n" + got("/v2/health/live", host), 400},
      {"no version", "GET /v2/health/live\r\n" + host + "\r\n" + hidden, 400},
      {"HTTP/1.2", "GET /v2/health/live HTTP/1.2\r\n" + host + "\r\n" + hidden, 505},
      {"HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"HTTP/1.01", "GET /v2/health/live HTTP/1.01\r\n" + host + "\r\n" + hidden, 400},
      {"http/1.1", "GET /v2/health/live http/1.1\r\n" + host + "\r\n" + hidden, 400},
      {"a method with a colon", "GE:T /v2/health/live HTTP/1.1\r\n" + host + "\r\n", 400},
      {"a target without a slash", got("v2/health/live", host) + hidden, 400},
      {"a target that is a host", "CONNECT localhost:80 HTTP/1.1\r\n" + host + "\r\n", 400},
      {"a URI with a user", got("http://me@localhost/v2/health/live", host) + hidden, 400},
      {"a URI without a host", got("http:///v2/health/live", host) + hidden, 400},
      {"a URI of another scheme", got("file:///v2/health/live", host) + hidden, 400},
      {"a fragment", got("/v2/health/live#x", host) + hidden, 400},
      {"a target of other letters", got("/v2/h\xc3\xa9", host) + hidden, 400},

      // Fields that decide what a request may do.
      {"two authorizations",
       got("/v2/health/live", host + "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
       400},
      {"two origins",
       posted("Origin: http://localhost\r\nOrigin: http://elsewhere\r\n" + length, json), 400},
      {"two lengths of the JSON",
       posted(
           "Inference-Header-Content-Length: 5\r\nInference-Header-Content-Length: 6\r\n" + length,
           json),
       400},
  };

  // Chunks.
  const std::pair<const char*, string> bodies[] = {
      {"no digit", "\r\n\r\n" + hidden},
      {"no hexadecimal digit", "xyz\r\n" + hidden},
      {"a sign", "+5\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"a minus", "-1\r\n" + hidden},
      {"0x", "0x5\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"a blank in front", " 5\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"a blank behind", "5 \r\nabcde\r\n0\r\n\r\n" + hidden},
      {"an underscore", "5_0\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"a size beyond 64 bits", "10000000000000005\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"zeros without end", string(40, '0') + "5\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"LF alone behind the size", "5\nabcde\r\n0\r\n\r\n" + hidden},
      {"CR alone behind the size", "5\rabcde\r\n0\r\n\r\n" + hidden},
      {"LF alone in an extension", "5;a\nb\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"CR alone in an extension", "5;a\rb\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"a NUL in an extension", "5;a\0\r\nabcde\r\n0\r\n\r\n"s + hidden},
      {"an extension without end", "5;" + string(20'000, 'a') + "\r\nabcde\r\n0\r\n\r\n"},
      {"LF alone behind a chunk", "5\r\nabcde\n0\r\n\r\n" + hidden},
      {"more bytes than the size", "5\r\nabcdefg\r\n0\r\n\r\n" + hidden},
      {"fewer bytes than the size", "7\r\nabcde\r\n0\r\n\r\n" + hidden},
      {"LF alone behind the last size", "0\n\n" + hidden},
      {"LF alone at the end", "0\r\n\n" + hidden},
      {"a request in place of the end", "0\r\n" + hidden},
      {"a folded field behind the body", "0\r\nX: y\r\n z\r\n\r\n" + hidden},
      {"a NUL behind the body", "0\r\nX: \0\r\n\r\n"s + hidden},
  };
  for (const auto& [name, body] : bodies) {
    cases.push_back(
        {fmt::format("chunks: {}", name), posted("Transfer-Encoding: chunked\r\n", body), 400});
  }
  cases.push_back({"chunks: a size that is too large",
                   posted("Transfer-Encoding: chunked\r\n", "fffffffffffffff0\r\n" + hidden), 413});
  cases.push_back({"chunks: fields behind the body without end",
                   posted("Transfer-Encoding: chunked\r\n", "0\r\nX: " + string(20'000, 'a')),
                   431});
  cases.push_back({"a head without end", post + host + "X: " + string(20'000, 'a'), 431});

  // Each byte in four places of a Transfer-Encoding beside a length. A byte of a name makes it
  // another field; anything else is refused.
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool of_name =
        (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
        (byte >= '0' && byte <= '9') ||
        (byte != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
    const auto add = [&](const char* place, const string& line, int refused) {
      cases.push_back({fmt::format("byte 0x{:02x} {}", byte, place),
                       posted(line + "\r\n" + length, json), refused});
    };
    add("in front of the name", c + string("Transfer-Encoding: chunked"), of_name ? 0 : 400);
    // A colon ends the name, and the value is another coding.
    add("behind the name", string("Transfer-Encoding") + c + ": chunked",
        of_name    ? 0
        : c == ':' ? 501
                   : 400);
    const bool control = (byte < 0x20 && c != '\t') || byte == 0x7f;
    const bool blank = c == ' ' || c == '\t';
    add("in front of the value", string("Transfer-Encoding:") + c + "chunked",
        control || blank ? 400 : 501);
    add("behind the value", string("Transfer-Encoding: chunked") + c, control || blank ? 400 : 501);
  }
  return cases;
}

}  // namespace catamaran
