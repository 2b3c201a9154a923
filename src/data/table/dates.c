#include "data/table/dates.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct date_reader {
    const char *at, *end;
    bool wrong;
} date_reader;

/* Reads exactly `count` digits. */
static int64_t number(date_reader *r, int count)
{
    int64_t value = 0;
    for (int k = 0; k < count; k++, r->at++) {
        if (r->at >= r->end || *r->at < '0' || *r->at > '9') {
            r->wrong = true;
            return 0;
        }
        value = value * 10 + (*r->at - '0');
    }
    return value;
}

static bool take(date_reader *r, const char *any)
{
    if (r->wrong || r->at >= r->end || strchr(any, *r->at) == NULL)
        return false;
    r->at++;
    return true;
}

static void need(date_reader *r, const char *any)
{
    r->wrong = !take(r, any) || r->wrong;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_in(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01 to the first of January of `year`. */
static int64_t days_before(int64_t year)
{
    int64_t y = year - 1;
    return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
}

static double fraction(date_reader *r)
{
    double value = 0, unit = 1;
    const char *begin = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        unit /= 10;
        value += unit * (*r->at - '0');
    }
    r->wrong = r->wrong || r->at == begin;
    return value;
}

/* The zone's distance from UTC in seconds. */
static int64_t zone(date_reader *r)
{
    if (take(r, "Zz") || r->at == r->end)
        return 0;
    int64_t sign = *r->at == '-' ? -1 : 1, hours, minutes = 0;
    need(r, "+-");
    hours = number(r, 2);
    if (r->at < r->end) {
        (void)take(r, ":");
        minutes = number(r, 2);
    }
    r->wrong = r->wrong || hours > 14 || minutes > 59;
    return sign * (hours * 3600 + minutes * 60);
}

static double time_of_day(date_reader *r)
{
    int64_t hour = number(r, 2), minute, second = 0;
    double part = 0;
    need(r, ":");
    minute = number(r, 2);
    if (take(r, ":")) {
        second = number(r, 2);
        if (take(r, ".,"))
            part = fraction(r);
    }
    r->wrong = r->wrong || hour > 23 || minute > 59 || second > 59;
    return (double)(hour * 3600 + minute * 60 + second - zone(r)) + part;
}

bool hw_date_read(const char *begin, const char *end, double *seconds, bool *timed)
{
    date_reader r = {.at = begin, .end = end};
    int64_t year = number(&r, 4), month, day;
    need(&r, "-");
    month = number(&r, 2);
    need(&r, "-");
    day = number(&r, 2);
    if (r.wrong || year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return false;
    int64_t days = days_before(year) + day - 1;
    for (int64_t m = 1; m < month; m++)
        days += days_in(year, m);
    *timed = r.at < r.end;
    *seconds = (double)(days * 86400);
    if (*timed) {
        need(&r, "Tt ");
        *seconds += time_of_day(&r);
    }
    return !r.wrong && r.at == r.end;
}

void hw_date_split(double seconds, hw_date_parts *parts)
{
    int64_t days = (int64_t)floor(seconds / 86400.0), within = (int64_t)floor(seconds - (double)days * 86400.0);
    int64_t year = 1970 + (days >= 0 ? days / 366 : days / 365 - 1), month = 1; /* or earlier */
    while (days_before(year + 1) <= days)
        year++;
    int64_t left = days - days_before(year);
    for (; left >= days_in(year, month); month++)
        left -= days_in(year, month);
    parts->month = (size_t)month - 1;
    parts->weekday = (size_t)((days % 7 + 10) % 7); /* 1970-01-01 was a Thursday */
    parts->hour = (size_t)(within / 3600 < 23 ? within / 3600 : 23);
}
