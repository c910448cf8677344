# data/calibration/collectives.csv → a C++ table: cmake -DCSV=… -DOUTPUT=… -P collective_curves.cmake
file(STRINGS "${CSV}" rows)
list(POP_FRONT rows)  # the names of the columns

set(kNames all_reduce kAllReduce all_gather kAllGather reduce_scatter kReduceScatter
           all_to_all kAllToAll)
set(points "")
set(curves "")
set(number 0)
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^([^,]*),([^,]*),([^,]*),([0-9]+),[^,]*,(.+)$")
    message(FATAL_ERROR "${CSV}: not a row: ${row}")
  endif()
  set(link "${CMAKE_MATCH_1}")
  set(card "${CMAKE_MATCH_2}")
  set(collective "${CMAKE_MATCH_3}")
  set(ranks "${CMAKE_MATCH_4}")
  set(pairs "${CMAKE_MATCH_5}")
  list(FIND kNames "${collective}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${CSV}: no collective is called ${collective}")
  endif()
  math(EXPR at "${at} + 1")
  list(GET kNames ${at} collective)
  string(REGEX REPLACE "([0-9]+):([0-9.e+]+) ?" "{\\1.0, \\2 * 1e-6}, " pairs "${pairs}")
  string(APPEND points "constexpr CurvePoint kPoints${number}[] = {${pairs}};\n")
  string(APPEND curves "    {\"${link}\", \"${card}\", program::Collective::${collective}, ${ranks}, "
                       "kPoints${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE "${OUTPUT}" "#include \"time/collective_curves.h\"

namespace trainfit::time {
namespace {

${points}
constexpr CollectiveCurve kCurves[] = {
${curves}};

}  // namespace

std::span<const CollectiveCurve> CollectiveCurves() { return kCurves; }

}  // namespace trainfit::time
")
