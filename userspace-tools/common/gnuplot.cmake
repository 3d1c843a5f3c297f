# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# gnuplot_text makes texts for gnuplot and pages for its pictures, and calls no program.
# gnuplot draws with them.
include_guard()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# Another project of this build may have it.
if(TARGET gnuplot_text)
	return()
endif()
add_library(gnuplot_text STATIC
	"${CMAKE_CURRENT_LIST_DIR}/gnuplot_text.cpp"
	"${CMAKE_CURRENT_LIST_DIR}/html.cpp"
)
target_link_libraries(gnuplot_text PUBLIC fmt::fmt nlohmann_json::nlohmann_json)

add_library(gnuplot STATIC
	"${CMAKE_CURRENT_LIST_DIR}/gnuplot.cpp"
	"${CMAKE_CURRENT_LIST_DIR}/process.cpp"
)
target_link_libraries(gnuplot PUBLIC gnuplot_text)
