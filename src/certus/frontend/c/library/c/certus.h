/* What the models of the C library share.
 *
 * The files of this folder define functions of the C library in C. The Clang that compiles the user's program compiles
 * them, with the same flags, and a function becomes part of the program if the program calls it. They are exact: where
 * C leaves a value open, it comes from `__certus_unspecified_int`. They need no other headers and no C library.
 *
 * Rules for their text: characters are compared as `unsigned char`, as C says. There is no signed overflow, no shift that
 * is too wide and no division that may fail, so that checks of these are switched off, except in arithmetic.c. A function
 * without loop that touches no memory is one expression, which becomes one term. */

#ifndef CERTUS_H
#define CERTUS_H

typedef __SIZE_TYPE__ size_t;
typedef __WCHAR_TYPE__ wchar_t;
typedef unsigned char byte;

/* The lowering gives these their meaning. Any value of the result's type: `unspecified` ones C leaves open, so that
 * proofs allow for all and a run takes 0; on `unknown` ones no counterexample may depend, since something is not
 * modelled; `input` ones come from outside the program. */

int __certus_unspecified_int(void);
int __certus_unspecified_natural(void); /* not negative, and so small that 1 can be added */
byte __certus_unknown_byte(void);
unsigned short __certus_unknown_short(void);
unsigned __certus_unknown_int(void);
unsigned long long __certus_unknown_word(void);
byte __certus_input_byte(void);
unsigned __certus_input_argument_length(void); /* of an argument of `main` */
byte __certus_input_argument_byte(void);

void __certus_readable(const void *, size_t); /* it is an error unless these bytes may be read, or written */
void __certus_writable(void *, size_t);
_Bool __certus_is_readable(const void *, size_t); /* whether they may be read */
void __certus_assume(_Bool);                                 /* other executions end here */
void *__certus_static_object(size_t size, const char *name); /* a new one, which never ends, with any contents */
void *malloc(size_t);

int *__errno_location(void);
#define errno (*__errno_location())
#define EINVAL 22
#define ERANGE 34

/* A positive number if the condition holds, and otherwise zero. */
static inline int truth(_Bool condition)
{
    int open = __certus_unspecified_natural();
    return condition ? 1 + open : 0;
}

/* Any number that has the sign of the difference. */
static inline int difference(int a, int b)
{
    int open = __certus_unspecified_natural();
    return a < b ? -1 - open : a > b ? 1 + open : 0;
}

/* The classes of characters in the locale "C". */
#define WITHIN(c, low, high) ((c) >= (low) && (c) <= (high))
#define DIGIT(c) WITHIN(c, '0', '9')
#define LOWER(c) WITHIN(c, 'a', 'z')
#define UPPER(c) WITHIN(c, 'A', 'Z')
#define ALPHA(c) (LOWER(c) || UPPER(c))
#define SPACE(c) ((c) == ' ' || WITHIN(c, '\t', '\r'))
#define TO_LOWER(c) (UPPER(c) ? (c) + ('a' - 'A') : (c))
#define TO_UPPER(c) (LOWER(c) ? (c) - ('a' - 'A') : (c))

#endif
