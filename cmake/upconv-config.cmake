# find_package(upconv) gives upconv::upconv (shared) and upconv::upconv_static.
include(${CMAKE_CURRENT_LIST_DIR}/upconv-targets.cmake)
