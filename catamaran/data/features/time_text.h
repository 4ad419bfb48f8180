// data/features/time_text.h
//
// Times as people write them, and their parts in the calendar (Gregorian, before its beginning
// too). No leap seconds, no names of zones.

#pragma once

#include <cstdint>
#include <string_view>

namespace catamaran {

// Seconds since 1970-01-01 00:00 UTC. False if `text` is none of
//
//   2022-01-31   2022/01/31   20220131   31-Jan-2022   31 Jan 2022   Jan 31, 2022
//
// alone or with a time behind a space or a T, as 7:05, 07:05:59 or 07:05:59.25, which may end with
// Z or an offset as +01:00 or -0530. Without an offset it is `zone` seconds ahead of UTC.
bool ParseTime(std::string_view text, double zone, double* seconds);

struct CalendarTime {
  int64_t year = 1970;
  int month = 1, day = 1;  // from 1
  int hour = 0, minute = 0, second = 0;
  int weekday = 0;      // 0: Monday
  int day_of_year = 1;  // from 1
};

// REQUIRES: |seconds| < 1e15.
CalendarTime ToCalendar(double seconds);

// Days since 1970-01-01. REQUIRES: month from 1 to 12.
int64_t DaysOf(int64_t year, int month, int day);

}  // namespace catamaran
