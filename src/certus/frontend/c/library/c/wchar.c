/* Wide strings: <wchar.h>, in the locale "C". Wide characters are compared as the signed integers that they are. */

#include "certus.h"

size_t wcslen(const wchar_t *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

size_t wcsnlen(const wchar_t *s, size_t limit)
{
    size_t n = 0;
    while (n < limit && s[n]) n++;
    return n;
}

wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = from[i];
    return to;
}

wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t count)
{
    if (to <= from) for (size_t i = 0; i < count; i++) to[i] = from[i];
    else for (size_t i = count; i > 0; i--) to[i - 1] = from[i - 1];
    return to;
}

wchar_t *wmemset(wchar_t *to, wchar_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = value;
    return to;
}

int wmemcmp(const wchar_t *a, const wchar_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i]) return difference(a[i], b[i]);
    return 0;
}

wchar_t *wmemchr(const wchar_t *s, wchar_t wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s[i] == wanted) return (wchar_t *)(s + i);
    return 0;
}

wchar_t *wcscpy(wchar_t *to, const wchar_t *from)
{
    size_t i = 0;
    while ((to[i] = from[i])) i++;
    return to;
}

wchar_t *wcsncpy(wchar_t *to, const wchar_t *from, size_t count)
{
    size_t i = 0;
    for (; i < count && from[i]; i++) to[i] = from[i];
    for (; i < count; i++) to[i] = 0;
    return to;
}

wchar_t *wcscat(wchar_t *to, const wchar_t *from)
{
    wcscpy(to + wcslen(to), from);
    return to;
}

wchar_t *wcsncat(wchar_t *to, const wchar_t *from, size_t limit)
{
    wchar_t *end = to + wcslen(to);
    size_t i = 0;
    for (; i < limit && from[i]; i++) end[i] = from[i];
    end[i] = 0;
    return to;
}

int wcscmp(const wchar_t *a, const wchar_t *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i]) i++;
    return difference(a[i], b[i]);
}

int wcsncmp(const wchar_t *a, const wchar_t *b, size_t limit)
{
    for (size_t i = 0; i < limit; i++)
        if (a[i] != b[i] || !a[i]) return difference(a[i], b[i]);
    return 0;
}

wchar_t *wcschr(const wchar_t *s, wchar_t wanted)
{
    while (*s && *s != wanted) s++;
    return *s == wanted ? (wchar_t *)s : 0;
}

wchar_t *wcsrchr(const wchar_t *s, wchar_t wanted)
{
    const wchar_t *found = 0;
    for (;; s++) {
        if (*s == wanted) found = s;
        if (!*s) return (wchar_t *)found;
    }
}

wchar_t *wcsstr(const wchar_t *s, const wchar_t *part)
{
    for (;; s++) {
        size_t i = 0;
        while (part[i] && s[i] == part[i]) i++;
        if (!part[i]) return (wchar_t *)s;
        if (!s[i]) return 0;
    }
}

static _Bool among(wchar_t c, const wchar_t *set)
{
    while (*set && *set != c) set++;
    return *set;
}

size_t wcsspn(const wchar_t *s, const wchar_t *set)
{
    size_t n = 0;
    while (s[n] && among(s[n], set)) n++;
    return n;
}

size_t wcscspn(const wchar_t *s, const wchar_t *set)
{
    size_t n = 0;
    while (s[n] && !among(s[n], set)) n++;
    return n;
}

wchar_t *wcspbrk(const wchar_t *s, const wchar_t *set)
{
    s += wcscspn(s, set);
    return *s ? (wchar_t *)s : 0;
}

/* Read a string, but at most `limit` characters of it. */
void __certus_wide_string(const wchar_t *s, size_t limit)
{
    for (size_t n = 0; n < limit && s[n]; n++)
        ;
}
