/* Objects: functions on memory of <string.h>, and loops over elements of one, two, four and eight bytes. The lowering
 * copies and fills objects with these loops; it knows the elements of the objects, so that these keep their types. */

#include "certus.h"

#define LOOPS(bytes, type, word)                                                                                      \
    void __certus_copy##bytes(type *to, const type *from, size_t count)                                               \
    {                                                                                                                 \
        for (size_t i = 0; i < count; i++) to[i] = from[i];                                                           \
    }                                                                                                                 \
    void __certus_move##bytes(type *to, const type *from, size_t count)                                               \
    {                                                                                                                 \
        if (to <= from) for (size_t i = 0; i < count; i++) to[i] = from[i];                                           \
        else for (size_t i = count; i > 0; i--) to[i - 1] = from[i - 1];                                              \
    }                                                                                                                 \
    void __certus_fill##bytes(type *to, type value, size_t count)                                                     \
    {                                                                                                                 \
        for (size_t i = 0; i < count; i++) to[i] = value;                                                             \
    }                                                                                                                 \
    void __certus_unknown##bytes(type *to, size_t count) /* the elements get any values */                            \
    {                                                                                                                 \
        for (size_t i = 0; i < count; i++) to[i] = __certus_unknown_##word();                                         \
    }                                                                                                                 \
    void __certus_perhaps##bytes(type *to, size_t count) /* the elements may get any values, or stay as they are */   \
    {                                                                                                                 \
        for (size_t i = 0; i < count; i++)                                                                            \
            if (__certus_unknown_byte()) to[i] = __certus_unknown_##word();                                           \
    }

LOOPS(1, byte, byte)
LOOPS(2, unsigned short, short)
LOOPS(4, unsigned, int)
LOOPS(8, unsigned long long, word)

/* What `realloc` copies: at most `count` bytes, and not more than the old object has. */
void __certus_move_object(byte *to, const byte *from, size_t count)
{
    for (size_t i = 0; i < count && __certus_is_readable(from + i, 1); i++) to[i] = from[i];
}

void __certus_input1(byte *to, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = __certus_input_byte();
}

void *memccpy(void *to, const void *from, int last, size_t count)
{
    byte *t = to;
    const byte *f = from;
    for (size_t i = 0; i < count; i++) {
        t[i] = f[i];
        if (f[i] == (byte)last) return t + i + 1;
    }
    return 0;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const byte *x = a, *y = b;
    __certus_readable(a, count);
    __certus_readable(b, count);
    for (size_t i = 0; i < count; i++)
        if (x[i] != y[i]) return difference(x[i], y[i]);
    return 0;
}

void *memchr(const void *in, int wanted, size_t count)
{
    const byte *s = in;
    for (size_t i = 0; i < count; i++)
        if (s[i] == (byte)wanted) return (void *)(s + i);
    return 0;
}

void *memrchr(const void *in, int wanted, size_t count)
{
    const byte *s = in;
    for (size_t i = count; i > 0; i--)
        if (s[i - 1] == (byte)wanted) return (void *)(s + i - 1);
    return 0;
}

void *rawmemchr(const void *in, int wanted)
{
    const byte *s = in;
    while (*s != (byte)wanted) s++;
    return (void *)s;
}

void *memmem(const void *in, size_t count, const void *part, size_t length)
{
    const byte *s = in, *p = part;
    __certus_readable(in, count);
    __certus_readable(part, length);
    for (size_t i = 0; length <= count && i <= count - length; i++) {
        size_t same = 0;
        while (same < length && s[i + same] == p[same]) same++;
        if (same == length) return (void *)(s + i);
    }
    return 0;
}
