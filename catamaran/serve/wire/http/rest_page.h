// serve/wire/http/rest_page.h
//
// GET / and GET /page/FILE: the page, which needs nothing from elsewhere and may load nothing from
// there.

#pragma once

#include <string_view>

#include "catamaran/serve/wire/http/http_message.h"

namespace catamaran {

// An empty name: the page itself. 404 if there is no such file.
HttpResponse PageResponse(std::string_view file);

}  // namespace catamaran
