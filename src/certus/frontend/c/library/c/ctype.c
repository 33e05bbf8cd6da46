/* <ctype.h> in the locale "C". C leaves open which nonzero number stands for "true". */

#include "certus.h"

#define ALNUM(c) (ALPHA(c) || DIGIT(c))
#define BLANK(c) ((c) == ' ' || (c) == '\t')
#define CNTRL(c) (WITHIN(c, 0, 31) || (c) == 127)
#define GRAPH(c) WITHIN(c, 33, 126)
#define PRINT(c) WITHIN(c, 32, 126)
#define PUNCT(c) (GRAPH(c) && !ALNUM(c))
#define XDIGIT(c) (DIGIT(c) || WITHIN(c, 'A', 'F') || WITHIN(c, 'a', 'f'))

int isalnum(int c) { return truth(ALNUM(c)); }
int isalpha(int c) { return truth(ALPHA(c)); }
int isascii(int c) { return truth(WITHIN(c, 0, 127)); }
int isblank(int c) { return truth(BLANK(c)); }
int iscntrl(int c) { return truth(CNTRL(c)); }
int isdigit(int c) { return truth(DIGIT(c)); }
int isgraph(int c) { return truth(GRAPH(c)); }
int islower(int c) { return truth(LOWER(c)); }
int isprint(int c) { return truth(PRINT(c)); }
int ispunct(int c) { return truth(PUNCT(c)); }
int isspace(int c) { return truth(SPACE(c)); }
int isupper(int c) { return truth(UPPER(c)); }
int isxdigit(int c) { return truth(XDIGIT(c)); }
int toascii(int c) { return c & 127; }
int tolower(int c) { return TO_LOWER(c); }
int toupper(int c) { return TO_UPPER(c); }

/* glibc's tables, from -128 to 255: each function returns the address of a pointer to the entry of character 0.
 * Negative numbers stand for characters, too, except -1, the end of a file. */

#define FLAGS(c)                                                                                                      \
    (BLANK(c) << 0 | CNTRL(c) << 1 | PUNCT(c) << 2 | ALNUM(c) << 3 | UPPER(c) << 8 | LOWER(c) << 9 | ALPHA(c) << 10 | \
     DIGIT(c) << 11 | XDIGIT(c) << 12 | SPACE(c) << 13 | PRINT(c) << 14 | GRAPH(c) << 15)
#define ALIKE(first, last) [128 + (first)... 128 + (last)] = FLAGS(first) /* characters with the same flags */
#define LOWER_OF(c) ((c) < -1 ? (c) + 256 : TO_LOWER(c))
#define UPPER_OF(c) ((c) < -1 ? (c) + 256 : TO_UPPER(c))
#define ROW4(f, c) f((c)), f((c) + 1), f((c) + 2), f((c) + 3)
#define ROW16(f, c) ROW4(f, c), ROW4(f, c + 4), ROW4(f, c + 8), ROW4(f, c + 12)
#define ROW64(f, c) ROW16(f, c), ROW16(f, c + 16), ROW16(f, c + 32), ROW16(f, c + 48)
#define TABLE(f) {ROW64(f, -128), ROW64(f, -64), ROW64(f, 0), ROW64(f, 64), ROW64(f, 128), ROW64(f, 192)}

const unsigned short **__ctype_b_loc(void)
{
    static const unsigned short table[384] = {
        ALIKE(0, 8),     ALIKE(9, 9),     ALIKE(10, 13),   ALIKE(14, 31),   ALIKE(' ', ' '),
        ALIKE('!', '/'), ALIKE('0', '9'), ALIKE(':', '@'), ALIKE('A', 'F'), ALIKE('G', 'Z'),
        ALIKE('[', '`'), ALIKE('a', 'f'), ALIKE('g', 'z'), ALIKE('{', '~'), ALIKE(127, 127)};
    static const unsigned short *zero = table + 128;
    return &zero;
}

const int **__ctype_tolower_loc(void)
{
    static const int table[384] = TABLE(LOWER_OF), *zero = table + 128;
    return &zero;
}

const int **__ctype_toupper_loc(void)
{
    static const int table[384] = TABLE(UPPER_OF), *zero = table + 128;
    return &zero;
}
