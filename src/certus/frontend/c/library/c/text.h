/* Functions about strings of characters of any type, included by a file that defines the names in capitals:
 * CHARACTER, the type; SEARCHED, that of a character to search for; CODE(c), the number that C compares;
 * NAME(part), a name of the file's functions. */

size_t NAME(len)(const CHARACTER *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

size_t NAME(nlen)(const CHARACTER *s, size_t limit)
{
    size_t n = 0;
    while (n < limit && s[n]) n++;
    return n;
}

/* ------------------------------------------------------------------------------------------ copies */

CHARACTER *NAME(cpy)(CHARACTER *to, const CHARACTER *from)
{
    for (size_t i = 0; (to[i] = from[i]); i++) {}
    return to;
}

CHARACTER *NAME(ncpy)(CHARACTER *to, const CHARACTER *from, size_t count)
{
    size_t length = 0;
    for (; length < count && from[length]; length++) to[length] = from[length];
    for (size_t i = length; i < count; i++) to[i] = 0;
    return to;
}

/* Copy at most `limit` characters and then a zero. */
static void copy_part(CHARACTER *to, const CHARACTER *from, size_t limit)
{
    size_t i = 0;
    for (; i < limit && from[i]; i++) to[i] = from[i];
    to[i] = 0;
}

CHARACTER *NAME(cat)(CHARACTER *to, const CHARACTER *from)
{
    CHARACTER *end = to + NAME(len)(to);
    while ((*end++ = *from++)) {}
    return to;
}

CHARACTER *NAME(ncat)(CHARACTER *to, const CHARACTER *from, size_t limit)
{
    copy_part(to + NAME(len)(to), from, limit);
    return to;
}

/* ------------------------------------------------------------------------------------- comparisons */

/* `cmp`, `ncmp` and `str` for strings whose characters have the numbers CODE(c). */
#define COMPARISONS(cmp, ncmp, str, CODE)                                                                             \
    int cmp(const CHARACTER *a, const CHARACTER *b)                                                                   \
    {                                                                                                                 \
        size_t i = 0;                                                                                                 \
        while (a[i] && CODE(a[i]) == CODE(b[i])) i++;                                                                 \
        return difference(CODE(a[i]), CODE(b[i]));                                                                    \
    }                                                                                                                 \
    int ncmp(const CHARACTER *a, const CHARACTER *b, size_t limit)                                                    \
    {                                                                                                                 \
        for (size_t i = 0; i < limit; i++)                                                                            \
            if (CODE(a[i]) != CODE(b[i]) || !a[i]) return difference(CODE(a[i]), CODE(b[i]));                         \
        return 0;                                                                                                     \
    }                                                                                                                 \
    CHARACTER *str(const CHARACTER *s, const CHARACTER *part)                                                         \
    {                                                                                                                 \
        for (;; s++) {                                                                                                \
            size_t i = 0;                                                                                             \
            while (part[i] && CODE(s[i]) == CODE(part[i])) i++;                                                       \
            if (!part[i]) return (CHARACTER *)s;                                                                      \
            if (!s[i]) return 0;                                                                                      \
        }                                                                                                             \
    }

COMPARISONS(NAME(cmp), NAME(ncmp), NAME(str), CODE)

/* ---------------------------------------------------------------------------------------- searches */

CHARACTER *NAME(chr)(const CHARACTER *s, SEARCHED wanted)
{
    while (*s && *s != (CHARACTER)wanted) s++;
    return *s == (CHARACTER)wanted ? (CHARACTER *)s : 0;
}

CHARACTER *NAME(rchr)(const CHARACTER *s, SEARCHED wanted)
{
    const CHARACTER *last = 0;
    for (;; s++) {
        if (*s == (CHARACTER)wanted) last = s;
        if (!*s) return (CHARACTER *)last;
    }
}

/* Whether a character is one of a set; zero is in none. */
static _Bool among(CHARACTER c, const CHARACTER *set)
{
    while (*set && *set != c) set++;
    return *set;
}

size_t NAME(spn)(const CHARACTER *s, const CHARACTER *set)
{
    size_t n = 0;
    while (s[n] && among(s[n], set)) n++;
    return n;
}

size_t NAME(cspn)(const CHARACTER *s, const CHARACTER *set)
{
    size_t n = 0;
    while (s[n] && !among(s[n], set)) n++;
    return n;
}

CHARACTER *NAME(pbrk)(const CHARACTER *s, const CHARACTER *set)
{
    s += NAME(cspn)(s, set);
    return *s ? (CHARACTER *)s : 0;
}
