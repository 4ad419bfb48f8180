# Run as `cmake -DOUT=x.cc -DFILES=a,b,c -P EmbedFiles.cmake`: text files as one C++ source, what
# catamaran/serve/wire/http/page_files.h declares.

set(text "#include \"catamaran/serve/wire/http/page_files.h\"\n\nnamespace catamaran {\nnamespace {\n\n")
string(APPEND text "constexpr PageFile kFiles[] = {\n")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" content)
  if(content MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${file} holds what ends a text")
  endif()
  string(APPEND text "{\"${name}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const PageFile> PageFiles() { return kFiles; }\n\n}  // namespace catamaran\n")
file(WRITE "${OUT}" "${text}")
