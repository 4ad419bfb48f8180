# How everything is compiled: language, flags, warnings, sanitizers, compiler cache, linker.

include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
# The libraries also go into shared objects (the C API), and programs export their symbols, so
# that ops loaded from a user's shared library find ours.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_ENABLE_EXPORTS ON)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

# No contraction: a multiply and an add are rounded apart on every processor.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Werror=return-type
                    -ffp-contract=off -fno-semantic-interposition)
if(CATAMARAN_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC looks for memory to free from 512 MiB on, and not from 128: a batch of files mostly stays
  # below.
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()

if(CATAMARAN_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  add_compile_options(-fsanitize=${CATAMARAN_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CATAMARAN_SANITIZE})
  if(CATAMARAN_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(CATAMARAN_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(CATAMARAN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CATAMARAN_FUZZ needs clang; the compiler is ${CMAKE_CXX_COMPILER}")
  endif()
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  add_compile_options(-fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address)
endif()

# Generated sources: build/<preset>/gen, included like our own.
set(CATAMARAN_GEN_DIR "${PROJECT_BINARY_DIR}/gen")
file(MAKE_DIRECTORY "${CATAMARAN_GEN_DIR}")
include_directories("${PROJECT_SOURCE_DIR}")
include_directories(SYSTEM "${CATAMARAN_GEN_DIR}")

# With ccache every path below the source directory is seen relative to the build directory, so
# that all clones share one cache; __FILE__ and std::source_location then lose that prefix, and
# name a file as the repository does.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
  file(RELATIVE_PATH source_prefix "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/")
  add_compile_options("-fmacro-prefix-map=${source_prefix}=")
endif()
# Without ccache, or with CCACHE_DISABLE set, files go by their whole path.
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} CATAMARAN_HAVE_${linker})
  if(CATAMARAN_HAVE_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(CATAMARAN_X86 ON)
else()
  set(CATAMARAN_X86 OFF)
endif()
