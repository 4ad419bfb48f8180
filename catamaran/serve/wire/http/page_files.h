// serve/wire/http/page_files.h
//
// The files of web/, carried in the binary (cmake/EmbedFiles.cmake): the page of the service.

#pragma once

#include <span>
#include <string_view>

namespace catamaran {

struct PageFile {
  std::string_view name;  // "page.js"
  std::string_view text;
};

std::span<const PageFile> PageFiles();

}  // namespace catamaran
