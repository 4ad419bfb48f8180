# What we link. The core needs fmt, protobuf and a BLAS; the rest is left out of the minimal
# build. Folders name these targets after LIBS:
#   fmt::fmt  protobuf::libprotobuf  catamaran_blas  catamaran_onednn  catamaran_spdlog
#   CLI11::CLI11  nlohmann_json::nlohmann_json  Threads::Threads  catamaran_rocksdb
#   catamaran_zstd  catamaran_zlib  catamaran_png  catamaran_jpeg
#   gRPC::grpc++  gRPC::grpc++_reflection  Boost::headers  OpenSSL::SSL  OpenSSL::Crypto
# Those that begin with catamaran_ exist in every build; all but catamaran_blas define
# CATAMARAN_WITH_ONEDNN, CATAMARAN_WITH_SPDLOG, … as 0 or 1. CATAMARAN_WITH_ROCKSDB is a variable here
# too.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Protobuf REQUIRED)
find_package(GTest REQUIRED)

# The build of OpenBLAS without threads: threads are ours, and those of the other builds outlive
# what goes wrong. By its whole path, which also becomes the program's run path: the builds share a
# name, and without a path the system's choice of them (update-alternatives) would be loaded.
find_path(CATAMARAN_CBLAS_INCLUDE cblas.h
  PATH_SUFFIXES openblas-serial openblas openblas-pthread REQUIRED)
find_library(CATAMARAN_OPENBLAS_SERIAL openblas PATH_SUFFIXES openblas-serial REQUIRED)
add_library(catamaran_blas INTERFACE)
target_include_directories(catamaran_blas SYSTEM INTERFACE "${CATAMARAN_CBLAS_INCLUDE}")
target_link_libraries(catamaran_blas INTERFACE "${CATAMARAN_OPENBLAS_SERIAL}")

add_library(catamaran_onednn INTERFACE)
add_library(catamaran_spdlog INTERFACE)
add_library(catamaran_rocksdb INTERFACE)
add_library(catamaran_zstd INTERFACE)
if(CATAMARAN_MINIMAL)
  target_compile_definitions(catamaran_onednn INTERFACE CATAMARAN_WITH_ONEDNN=0)
  target_compile_definitions(catamaran_spdlog INTERFACE CATAMARAN_WITH_SPDLOG=0)
  target_compile_definitions(catamaran_zstd INTERFACE CATAMARAN_WITH_ZSTD=0)
  set(CATAMARAN_WITH_ROCKSDB 0)
else()
  # Found by hand: Debian's package file asks for OpenCL headers that only its GPU part needs.
  find_path(CATAMARAN_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp REQUIRED)
  find_library(CATAMARAN_ONEDNN dnnl REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  # What the service speaks, for serve/wire/ alone.
  find_package(gRPC CONFIG REQUIRED)
  find_program(CATAMARAN_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
  find_package(Boost 1.74 CONFIG REQUIRED)
  find_package(OpenSSL REQUIRED)
  target_include_directories(catamaran_onednn SYSTEM INTERFACE "${CATAMARAN_ONEDNN_INCLUDE}")
  target_link_libraries(catamaran_onednn INTERFACE "${CATAMARAN_ONEDNN}")
  target_compile_definitions(catamaran_onednn INTERFACE CATAMARAN_WITH_ONEDNN=1)
  target_link_libraries(catamaran_spdlog INTERFACE spdlog::spdlog)
  target_compile_definitions(catamaran_spdlog INTERFACE CATAMARAN_WITH_SPDLOG=1)
  # Found by hand: the package file asks for the packages of every compressor. As needed: programs
  # that keep no rows on disk do not load it.
  find_path(CATAMARAN_ROCKSDB_INCLUDE rocksdb/db.h REQUIRED)
  find_library(CATAMARAN_ROCKSDB rocksdb REQUIRED)
  target_include_directories(catamaran_rocksdb SYSTEM INTERFACE "${CATAMARAN_ROCKSDB_INCLUDE}")
  target_link_libraries(catamaran_rocksdb INTERFACE
    "-Wl,--push-state,--as-needed,${CATAMARAN_ROCKSDB},--pop-state")
  set(CATAMARAN_WITH_ROCKSDB 1)
  find_path(CATAMARAN_ZSTD_INCLUDE zstd.h REQUIRED)
  find_library(CATAMARAN_ZSTD zstd REQUIRED)
  target_include_directories(catamaran_zstd SYSTEM INTERFACE "${CATAMARAN_ZSTD_INCLUDE}")
  target_link_libraries(catamaran_zstd INTERFACE "${CATAMARAN_ZSTD}")
  target_compile_definitions(catamaran_zstd INTERFACE CATAMARAN_WITH_ZSTD=1)
endif()
target_compile_definitions(catamaran_rocksdb INTERFACE
  CATAMARAN_WITH_ROCKSDB=${CATAMARAN_WITH_ROCKSDB})

# What readers of data decompress and decode with. The minimal build does without.
foreach(library ZLIB PNG JPEG)
  string(TOLOWER ${library} name)
  add_library(catamaran_${name} INTERFACE)
  if(CATAMARAN_MINIMAL)
    target_compile_definitions(catamaran_${name} INTERFACE CATAMARAN_WITH_${library}=0)
  else()
    find_package(${library} REQUIRED)
    target_link_libraries(catamaran_${name} INTERFACE ${library}::${library})
    target_compile_definitions(catamaran_${name} INTERFACE CATAMARAN_WITH_${library}=1)
  endif()
endforeach()
