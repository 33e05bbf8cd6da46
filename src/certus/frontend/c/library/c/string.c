/* Strings: <string.h> and <strings.h>. `strcoll` and those that do not tell upper from lower case are those of the
 * locale "C". */

#include "certus.h"

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

size_t strnlen(const char *s, size_t limit)
{
    size_t n = 0;
    while (n < limit && s[n]) n++;
    return n;
}

/* ------------------------------------------------------------------------------------------ copies */

/* Copy a string; return where its copy ends. */
char *stpcpy(char *to, const char *from)
{
    size_t i = 0;
    while ((to[i] = from[i])) i++;
    return to + i;
}

char *strcpy(char *to, const char *from)
{
    for (size_t i = 0; (to[i] = from[i]); i++) {}
    return to;
}

/* Fill `count` characters: with those of a string, then with zeros; return where the string ends. */
char *stpncpy(char *to, const char *from, size_t count)
{
    size_t length = 0;
    for (; length < count && from[length]; length++) to[length] = from[length];
    for (size_t i = length; i < count; i++) to[i] = 0;
    return to + length;
}

char *strncpy(char *to, const char *from, size_t count)
{
    stpncpy(to, from, count);
    return to;
}

/* Copy at most `limit` characters and then a zero. */
static void copy_part(char *to, const char *from, size_t limit)
{
    size_t i = 0;
    for (; i < limit && from[i]; i++) to[i] = from[i];
    to[i] = 0;
}

char *strcat(char *to, const char *from)
{
    char *end = to + strlen(to);
    while ((*end++ = *from++)) {}
    return to;
}

char *strncat(char *to, const char *from, size_t limit)
{
    copy_part(to + strlen(to), from, limit);
    return to;
}

char *strndup(const char *s, size_t limit)
{
    size_t length = strnlen(s, limit);
    char *made = malloc(length + 1);
    if (made) copy_part(made, s, length);
    return made;
}

char *strdup(const char *s)
{
    size_t length = strlen(s);
    char *made = malloc(length + 1);
    if (made) copy_part(made, s, length);
    return made;
}

/* ------------------------------------------------------------------------------------- comparisons */

int strcmp(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i]) i++;
    return difference((byte)a[i], (byte)b[i]);
}

int strncmp(const char *a, const char *b, size_t limit)
{
    for (size_t i = 0; i < limit; i++)
        if (a[i] != b[i] || !a[i]) return difference((byte)a[i], (byte)b[i]);
    return 0;
}

static inline int lower(char c) { return TO_LOWER((byte)c); }

int strcasecmp(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && lower(a[i]) == lower(b[i])) i++;
    return difference(lower(a[i]), lower(b[i]));
}

int strncasecmp(const char *a, const char *b, size_t limit)
{
    for (size_t i = 0; i < limit; i++)
        if (lower(a[i]) != lower(b[i]) || !a[i]) return difference(lower(a[i]), lower(b[i]));
    return 0;
}

/* ---------------------------------------------------------------------------------------- searches */

char *strchr(const char *s, int wanted)
{
    while (*s && *s != (char)wanted) s++;
    return *s == (char)wanted ? (char *)s : 0;
}

char *strchrnul(const char *s, int wanted)
{
    while (*s && *s != (char)wanted) s++;
    return (char *)s;
}

char *strrchr(const char *s, int wanted)
{
    const char *found = 0;
    for (;; s++) {
        if (*s == (char)wanted) found = s;
        if (!*s) return (char *)found;
    }
}

/* Whether a character is one of a set; zero is in none. */
static _Bool among(char c, const char *set)
{
    while (*set && *set != c) set++;
    return *set;
}

size_t strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && among(s[n], set)) n++;
    return n;
}

size_t strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && !among(s[n], set)) n++;
    return n;
}

char *strpbrk(const char *s, const char *set)
{
    s += strcspn(s, set);
    return *s ? (char *)s : 0;
}

char *strstr(const char *s, const char *part)
{
    for (;; s++) {
        size_t i = 0;
        while (part[i] && s[i] == part[i]) i++;
        if (!part[i]) return (char *)s;
        if (!s[i]) return 0;
    }
}

char *strcasestr(const char *s, const char *part)
{
    for (;; s++) {
        size_t i = 0;
        while (part[i] && lower(s[i]) == lower(part[i])) i++;
        if (!part[i]) return (char *)s;
        if (!s[i]) return 0;
    }
}

/* ------------------------------------------------------------------------------------------ tokens */

/* End the token at `s` before the next character of the set; return what follows, null if it was the last. */
static char *cut(char *s, const char *set)
{
    s += strcspn(s, set);
    if (!*s) return 0;
    *s = 0;
    return s + 1;
}

char *strsep(char **rest, const char *set)
{
    char *token = *rest;
    if (token) *rest = cut(token, set);
    return token;
}

char *strtok_r(char *s, const char *set, char **rest)
{
    if (!s) s = *rest; /* a string, as C demands: null is an invalid access */
    s += strspn(s, set);
    if (!*s) {
        *rest = s;
        return 0;
    }
    char *following = cut(s, set);
    *rest = following ? following : s + strlen(s);
    return s;
}

char *strtok(char *s, const char *set)
{
    static char *rest;
    return strtok_r(s, set, &rest);
}

/* ------------------------------------------------------------------------------------ for printing */

/* Read a string, but at most `limit` characters of it. */
size_t __certus_string(const char *s, size_t limit)
{
    size_t n = 0;
    while (n < limit && s[n]) n++;
    return n;
}
