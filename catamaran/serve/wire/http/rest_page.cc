#include "catamaran/serve/wire/http/rest_page.h"

#include <algorithm>
#include <utility>

#include "catamaran/serve/wire/http/page_files.h"

namespace catamaran {
namespace {

constexpr std::pair<std::string_view, const char*> kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
};

// Scripts and styles are our files alone, data comes from this server, and no other page may frame
// this one (a click on a button there would be one here).
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

HttpResponse PageResponse(std::string_view file) {
  if (file.empty()) file = "index.html";
  const auto files = PageFiles();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const PageFile& f) { return f.name == file; });
  if (found == files.end()) return ErrorResponse(404, "the page has no such file");
  HttpResponse response;
  for (const auto& [ending, type] : kTypes) {
    if (file.ends_with(ending)) response.content_type = type;
  }
  response.body = found->text;
  response.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", kPolicy},
                      {"Referrer-Policy", "no-referrer"},
                      {"X-Frame-Options", "DENY"}};
  return response;
}

}  // namespace catamaran
