# catamaran_folder(NAME [SUBFOLDERS [WITHOUT subfolder...]] [DEPS folder...] [LIBS target...]
#                  [SOURCES file...])
#
# Builds one folder of the library. What a file becomes is said by its name:
#
#   x.cc              part of the static library catamaran_NAME
#   x_simd.cc         the same, compiled once for each instruction set, with CATAMARAN_ISA
#                     defined as plain, avx2 or avx512 (a namespace name); elsewhere than on
#                     x86-64 only plain. The library sees CATAMARAN_HAS_X86_ISAS as 0 or 1
#   x_test.cc         part of the one test program NAME_test, a ctest test of that name
#   x_slow_test.cc    part of NAME_slow_test, which only `./test --all` runs
#   x_plugin.cc       a shared object bin/x_plugin.so that the tests may load
#   x_alone.cc        part of NAME_test, compiled as a device would: C++17, no exceptions, no RTTI
#   x_main.cc         a program bin/x
#   x.proto           protobuf; included as "catamaran/NAME/x.pb.h", and where it has a service,
#                     gRPC as "catamaran/NAME/x.grpc.pb.h"
#   fuzz/x_fuzz.cc    a libFuzzer program bin/x_fuzz, in the fuzz preset
#
# Files of a library or of a program may be compiled in batches; see catamaran_batches. In release
# builds tests alone are compiled with -Og: it takes half the time of -O2.
#
# With SUBFOLDERS the files one level below belong to it too, but for those of WITHOUT; so does
# each group of ops.
# DEPS are folders (linked publicly, so their own DEPS come along; one that does not exist yet
# is left out), LIBS targets of cmake/CatamaranDependencies.cmake, SOURCES generated files.
#
# Tests run in the source root, with CATAMARAN_SOURCE_DIR and CATAMARAN_BIN_DIR in their
# environment.

set(CATAMARAN_ISA_plain "")
set(CATAMARAN_ISA_avx2 -mavx2 -mfma -mf16c)
set(CATAMARAN_ISA_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
    -mprefer-vector-width=512)
set(CATAMARAN_SIMD_FLAGS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)

add_custom_target(fuzz_targets)

function(catamaran_folder NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SUBFOLDERS" "" "WITHOUT;DEPS;LIBS;SOURCES")
  set(library catamaran_${NAME})

  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(ARG_SUBFOLDERS)
    file(GLOB below CONFIGURE_DEPENDS */*.cc)
    foreach(subfolder fuzz ${ARG_WITHOUT})
      list(FILTER below EXCLUDE REGEX "/${subfolder}/[^/]*$")
    endforeach()
    list(APPEND sources ${below})
  endif()
  file(GLOB protos CONFIGURE_DEPENDS *.proto)
  file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/*_fuzz.cc)
  foreach(kind slow_test test simd plugin alone main)
    set(${kind}_sources ${sources})
    list(FILTER ${kind}_sources INCLUDE REGEX "_${kind}\\.cc$")
    list(FILTER sources EXCLUDE REGEX "_${kind}\\.cc$")
  endforeach()

  set(links ${ARG_LIBS})
  foreach(dep IN LISTS ARG_DEPS)
    if(TARGET catamaran_${dep})
      list(APPEND links catamaran_${dep})
    endif()
  endforeach()

  catamaran_batches(${library} sources)
  foreach(proto IN LISTS protos)
    catamaran_protobuf(${proto} generated)
    list(APPEND sources ${generated})
  endforeach()
  list(APPEND sources ${ARG_SOURCES})

  if(simd_sources)
    set(isas plain)
    if(CATAMARAN_X86)
      list(APPEND isas avx2 avx512)
    endif()
    foreach(isa IN LISTS isas)
      add_library(${library}_${isa} OBJECT ${simd_sources})
      target_link_libraries(${library}_${isa} PRIVATE ${links})
      target_compile_options(${library}_${isa} PRIVATE
        ${CATAMARAN_SIMD_FLAGS} ${CATAMARAN_ISA_${isa}})
      target_compile_definitions(${library}_${isa} PRIVATE CATAMARAN_ISA=${isa})
      list(APPEND sources $<TARGET_OBJECTS:${library}_${isa}>)
    endforeach()
  endif()

  if(sources)
    add_library(${library} STATIC ${sources})
    target_link_libraries(${library} PUBLIC ${links})
    target_compile_definitions(${library} PRIVATE
      CATAMARAN_HAS_X86_ISAS=$<BOOL:${CATAMARAN_X86}>)
  else()
    add_library(${library} INTERFACE)
    target_link_libraries(${library} INTERFACE ${links})
  endif()

  set(plugins)
  foreach(source IN LISTS plugin_sources)
    get_filename_component(plugin ${source} NAME_WE)
    add_library(${plugin} MODULE ${source})
    set_target_properties(${plugin} PROPERTIES PREFIX "")
    # Our symbols come from the program that loads it: only what headers need is passed on.
    target_include_directories(${plugin} PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${plugin} PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
    add_dependencies(${plugin} ${library})
    list(APPEND plugins ${plugin})
  endforeach()

  if(NOT CATAMARAN_FUZZ)
    catamaran_batches(${NAME}_test test_sources)
    catamaran_batches(${NAME}_slow_test slow_test_sources)
    if(alone_sources)
      add_library(${library}_alone OBJECT ${alone_sources})
      add_dependencies(${library}_alone ${library})
      set_target_properties(${library}_alone PROPERTIES CXX_STANDARD 17)
      target_compile_options(${library}_alone PRIVATE -fno-exceptions -fno-rtti)
      list(APPEND test_sources $<TARGET_OBJECTS:${library}_alone>)
    endif()
    catamaran_test(${NAME}_test "${test_sources}" ${library} "${plugins}")
    catamaran_test(${NAME}_slow_test "${slow_test_sources}" ${library} "${plugins}")
    if(TARGET ${NAME}_slow_test)
      set_tests_properties(${NAME}_slow_test PROPERTIES LABELS slow)
    endif()
  else()
    foreach(source IN LISTS fuzzers)
      catamaran_fuzzer(${source} ${library})
    endforeach()
  endif()

  foreach(source IN LISTS main_sources)
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "_main$" "" program ${program})
    catamaran_program(${program} SOURCES ${source} LIBS ${library})
  endforeach()
endfunction()

# Replaces the files in the list VARIABLE by batches of them that compile as one, unless
# CATAMARAN_BATCH_BYTES is 0 or there is but one file: most of a file's compile time goes to the
# headers that it shares with its neighbours. tools/batch_sources says which files go together.
# It looks into them, so what a file declares anew counts from the next configuring on; tools/build
# configures every time.
function(catamaran_batches TARGET VARIABLE)
  list(LENGTH ${VARIABLE} count)
  if(NOT CATAMARAN_BATCH_BYTES OR count LESS 2)
    return()
  endif()
  set(files)
  foreach(file IN LISTS ${VARIABLE})
    get_filename_component(file "${file}" ABSOLUTE)
    file(RELATIVE_PATH file "${PROJECT_SOURCE_DIR}" "${file}")
    list(APPEND files "${file}")
  endforeach()
  execute_process(
    COMMAND "${PROJECT_SOURCE_DIR}/tools/batch_sources" "${CATAMARAN_GEN_DIR}/batches/${TARGET}"
      ${CATAMARAN_BATCH_BYTES} ${files}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" batches "${batches}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes the files of a batch for headers, in which unnamed namespaces are suspicious.
    set_source_files_properties(${batches} PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
  endif()
  set(${VARIABLE} ${batches} PARENT_SCOPE)
endfunction()

# One libFuzzer program, bin/x_fuzz for fuzz/x_fuzz.cc.
function(catamaran_fuzzer SOURCE LIBRARY)
  get_filename_component(fuzzer ${SOURCE} NAME_WE)
  add_executable(${fuzzer} ${SOURCE})
  target_link_libraries(${fuzzer} PRIVATE ${LIBRARY})
  target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${fuzzer})
endfunction()

# catamaran_program(NAME SOURCES file... [DEPS folder...] [LIBS target...]): bin/NAME.
function(catamaran_program NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS;LIBS")
  list(TRANSFORM ARG_DEPS PREPEND catamaran_)
  catamaran_batches(${NAME} ARG_SOURCES)
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LIBS} ${ARG_DEPS})
endfunction()

# One GoogleTest program and its ctest test; nothing when there are no sources.
function(catamaran_test NAME SOURCES LIBRARY PLUGINS)
  if(NOT SOURCES)
    return()
  endif()
  add_executable(${NAME} ${SOURCES})
  target_link_libraries(${NAME} PRIVATE ${LIBRARY} GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE CATAMARAN_HAS_X86_ISAS=$<BOOL:${CATAMARAN_X86}>)
  target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(PLUGINS)
    add_dependencies(${NAME} ${PLUGINS})
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME} --gtest_brief=1
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(environment "CATAMARAN_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "CATAMARAN_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(CATAMARAN_SANITIZE MATCHES "address")
    # GCC 13 aligns frames that outlive their function to less than a vector of 64 bytes needs.
    list(APPEND environment "ASAN_OPTIONS=detect_stack_use_after_return=0")
  endif()
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
endfunction()

# Runs protoc on one file of the source tree; sets OUT to the generated sources.
function(catamaran_protobuf PROTO OUT)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${PROTO}")
  string(REGEX REPLACE "\\.proto$" "" stem "${path}")
  set(stem "${CATAMARAN_GEN_DIR}/${stem}")
  set(made "${stem}.pb.cc" "${stem}.pb.h")
  set(grpc)
  file(STRINGS "${PROTO}" services REGEX "^service ")
  if(services)
    list(APPEND made "${stem}.grpc.pb.cc" "${stem}.grpc.pb.h")
    set(grpc "--grpc_out=${CATAMARAN_GEN_DIR}"
      "--plugin=protoc-gen-grpc=${CATAMARAN_GRPC_PLUGIN}")
  endif()
  add_custom_command(
    OUTPUT ${made}
    COMMAND protobuf::protoc "--cpp_out=${CATAMARAN_GEN_DIR}" ${grpc} -I "${PROJECT_SOURCE_DIR}"
      "${PROTO}"
    DEPENDS "${PROTO}"
    COMMENT "protoc ${path}" VERBATIM)
  set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS -w)
  set(${OUT} ${made} PARENT_SCOPE)
endfunction()

# Makes, from the files of ops/, the explicit list of ops and the extracted references; sets OUT
# to the generated sources, or to nothing when there is no op yet. See tools/extract_ops.
function(catamaran_op_sources OUT)
  file(GLOB headers CONFIGURE_DEPENDS *.h */*.h)
  file(GLOB sources CONFIGURE_DEPENDS *.cc */*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|simd|plugin|alone|main)\\.cc$")
  if(NOT sources)
    set(${OUT} "" PARENT_SCOPE)
    return()
  endif()
  set(made
    "${CATAMARAN_GEN_DIR}/catamaran/ops/op_list.cc"
    "${CATAMARAN_GEN_DIR}/catamaran/ops/reference_sources.cc"
    "${CATAMARAN_GEN_DIR}/references.h")
  set(script "${PROJECT_SOURCE_DIR}/tools/extract_ops")
  # The files go in as a list, so that adding or removing one runs the script again.
  set(inputs "${CMAKE_CURRENT_BINARY_DIR}/op_files.txt")
  string(REPLACE "${PROJECT_SOURCE_DIR}/" "" lines "${headers};${sources}")
  string(REPLACE ";" "\n" lines "${lines}")
  file(GENERATE OUTPUT "${inputs}" CONTENT "${lines}\n")
  add_custom_command(
    OUTPUT ${made}
    COMMAND "${script}" "${inputs}" "${CATAMARAN_GEN_DIR}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS ${headers} ${sources} "${inputs}" "${script}"
    COMMENT "Listing the ops" VERBATIM)
  set(${OUT} ${made} PARENT_SCOPE)
endfunction()
