#include "catamaran/data/features/time_text.h"

#include <algorithm>
#include <cmath>

namespace catamaran {
namespace {

constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int DaysInMonth(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

class TimeParser {
 public:
  explicit TimeParser(std::string_view text) : text_(text) {}

  bool Run(double zone, double* seconds) {
    Spaces();
    if (!Date() || month_ < 1 || month_ > 12 || day_ < 1 || day_ > DaysInMonth(year_, month_)) {
      return false;
    }
    double of_day = 0;
    double ahead = zone;
    const size_t before = at_;
    if (Take('T') || Take('t') || Spaces()) {
      if (at_ < text_.size()) {
        if (!TimeOfDay(&of_day) || !Offset(&ahead)) return false;
      } else if (text_[before] == 'T' || text_[before] == 't') {
        return false;
      }
    }
    Spaces();
    if (at_ != text_.size()) return false;
    *seconds = static_cast<double>(DaysOf(year_, month_, day_)) * 86400 + of_day - ahead;
    return true;
  }

 private:
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Spaces() {
    const size_t begin = at_;
    while (Take(' ')) continue;
    return at_ > begin;
  }
  // How many digits stand here.
  size_t Digits() const {
    size_t count = 0;
    while (at_ + count < text_.size() && IsDigit(text_[at_ + count])) ++count;
    return count;
  }
  bool Number(size_t least, size_t most, int* value) {
    const size_t count = std::min(Digits(), most);
    if (count < least) return false;
    *value = 0;
    for (size_t i = 0; i < count; ++i) *value = *value * 10 + (text_[at_++] - '0');
    return true;
  }
  bool MonthName() {
    char name[3];
    if (text_.size() - at_ < 3) return false;
    for (size_t i = 0; i < 3; ++i) name[i] = static_cast<char>(text_[at_ + i] | 0x20);
    const size_t found = kMonths.find(std::string_view(name, 3));
    if (found == std::string_view::npos || found % 3 != 0) return false;
    month_ = static_cast<int>(found / 3) + 1;
    at_ += 3;
    while (at_ < text_.size() && (text_[at_] | 0x20) >= 'a' && (text_[at_] | 0x20) <= 'z') ++at_;
    return true;
  }
  bool Year(size_t digits) {
    int year = 0;
    if (!Number(digits, digits, &year)) return false;
    year_ = year;
    return true;
  }

  bool Date() {
    const size_t digits = Digits();
    if (digits == 8) return Year(4) && Number(2, 2, &month_) && Number(2, 2, &day_);
    if (digits == 4) {
      if (!Year(4)) return false;
      const char between = at_ < text_.size() ? text_[at_] : '\0';
      if (between != '-' && between != '/') return false;
      return Take(between) && Number(1, 2, &month_) && Take(between) && Number(1, 2, &day_);
    }
    if (digits == 1 || digits == 2) {
      if (!Number(1, 2, &day_)) return false;
      const char between = at_ < text_.size() ? text_[at_] : '\0';
      if (between != '-' && between != ' ') return false;
      return Take(between) && MonthName() && Take(between) && Year(4);
    }
    if (!MonthName() || !Spaces() || !Number(1, 2, &day_)) return false;
    Take(',');
    return Spaces() && Year(4);
  }

  bool TimeOfDay(double* seconds) {
    int hour = 0, minute = 0, second = 0;
    double fraction = 0;
    if (!Number(1, 2, &hour) || !Take(':') || !Number(2, 2, &minute)) return false;
    if (Take(':')) {
      if (!Number(2, 2, &second)) return false;
      if (Take('.')) {
        double unit = 0.1;
        if (Digits() == 0) return false;
        for (; at_ < text_.size() && IsDigit(text_[at_]); ++at_, unit /= 10) {
          fraction += unit * (text_[at_] - '0');
        }
      }
    }
    if (hour > 24 || minute > 59 || second > 60) return false;
    *seconds = hour * 3600.0 + minute * 60.0 + second + fraction;
    return true;
  }

  bool Offset(double* ahead) {
    if (Take('Z') || Take('z')) {
      *ahead = 0;
      return true;
    }
    const bool minus = at_ < text_.size() && text_[at_] == '-';
    if (!minus && (at_ >= text_.size() || text_[at_] != '+')) return true;
    ++at_;
    int hours = 0, minutes = 0;
    if (!Number(2, 2, &hours)) return false;
    Take(':');
    if (Digits() > 0 && !Number(2, 2, &minutes)) return false;
    if (hours > 23 || minutes > 59) return false;
    *ahead = (minus ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int64_t year_ = 0;
  int month_ = 0, day_ = 0;
};

}  // namespace

bool ParseTime(std::string_view text, double zone, double* seconds) {
  return TimeParser(text).Run(zone, seconds);
}

// Years begin in March here, so that the leap day is the last of its year.
int64_t DaysOf(int64_t year, int month, int day) {
  const int64_t shifted = month <= 2 ? year - 1 : year;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
  const int64_t of_era = shifted - era * 400;
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
}

CalendarTime ToCalendar(double seconds) {
  const auto whole = static_cast<int64_t>(std::floor(seconds));
  const int64_t days = whole >= 0 ? whole / 86400 : (whole + 1) / 86400 - 1;
  const auto of_day = static_cast<int>(whole - days * 86400);
  CalendarTime time;
  time.hour = of_day / 3600;
  time.minute = of_day / 60 % 60;
  time.second = of_day % 60;
  time.weekday = static_cast<int>(((days + 3) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t of_era = shifted - era * 146097;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto month = static_cast<int>((5 * day_of_year + 2) / 153);  // 0: March
  time.day = static_cast<int>(day_of_year - (153 * month + 2) / 5) + 1;
  time.month = month < 10 ? month + 3 : month - 9;
  time.year = year_of_era + era * 400 + (time.month <= 2 ? 1 : 0);
  time.day_of_year = static_cast<int>(days - DaysOf(time.year, 1, 1)) + 1;
  return time;
}

}  // namespace catamaran
