# SPDX-License-Identifier: Apache-2.0
# sdsfs_layer(NAME SOURCES ... LINK ...): one static library a layer. Headers are included from src/,
# as "layer/header.h", so that an include shows which layer it reaches into.
function(sdsfs_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(sdsfs_${name} STATIC ${arg_SOURCES})
  target_include_directories(sdsfs_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sdsfs_${name} PUBLIC sdsfs_flags ${arg_LINK})
endfunction()

# sdsfs_unit_test(NAME LAYERS... ): tests/unit/.../test_NAME.c against cmocka, label "unit".
function(sdsfs_unit_test name)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE ${ARGN} PkgConfig::cmocka)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
  target_compile_definitions(test_${name} PRIVATE SDSFS_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
