/* Strings: <string.h> and <strings.h>. `strcoll` and those that do not tell upper from lower case are those of the
 * locale "C". */

#include "certus.h"

#define CHARACTER char
#define SEARCHED int
#define CODE(c) ((byte)(c))
#define NAME(part) str##part
#include "text.h"

/* ------------------------------------------------------------------------------------------ copies */

/* Copy a string; return where its copy ends. */
char *stpcpy(char *to, const char *from)
{
    size_t i = 0;
    while ((to[i] = from[i])) i++;
    return to + i;
}

/* Fill `count` characters: with those of a string, then with zeros; return where the string ends. */
char *stpncpy(char *to, const char *from, size_t count)
{
    size_t length = 0;
    for (; length < count && from[length]; length++) to[length] = from[length];
    for (size_t i = length; i < count; i++) to[i] = 0;
    return to + length;
}

static char *duplicate(const char *s, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy) copy_part(copy, s, length);
    return copy;
}

char *strndup(const char *s, size_t limit) { return duplicate(s, strnlen(s, limit)); }
char *strdup(const char *s) { return duplicate(s, strlen(s)); }

/* ------------------------------------------------------------------------------------- comparisons */

static inline int lower(char c) { return TO_LOWER((byte)c); }

COMPARISONS(strcasecmp, strncasecmp, strcasestr, lower)

/* ---------------------------------------------------------------------------------------- searches */

char *strchrnul(const char *s, int wanted)
{
    while (*s && *s != (char)wanted) s++;
    return (char *)s;
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

/* Whether a character is a flag, a part of the width or the precision, or a length of a conversion. */
static inline _Bool modifies(char c)
{
    return WITHIN(c, '*', '.') || DIGIT(c) || c == ' ' || c == '#' || c == '\'' || c == 'I' || c == 'L' || c == 'h' ||
           c == 'j' || c == 'l' || c == 'q' || c == 't' || c == 'z';
}

/* Read a format of the `printf` family; return how many arguments it uses at most. If it may use one of them as a
 * pointer, or one by its number, that is more than any call has. */
size_t __certus_format(const char *s)
{
    size_t used = 0;
    _Bool inside = 0;
    for (; *s; s++) {
        if (!inside) {
            inside = *s == '%';
        } else if (!modifies(*s)) {
            if (*s == 's' || *s == 'S' || *s == 'n' || *s == '$') return -1;
            used += *s != '%';
            inside = 0;
        } else if (*s == '*') {
            used++;
        }
    }
    return inside ? -1 : used;
}
