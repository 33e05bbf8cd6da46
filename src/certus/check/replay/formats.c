/* Library functions that only the sanitized build has: they read and write exactly the memory that C says, so that
 * Clang's checks see it. Other builds discard output, and use a C library for the rest. This text follows
 * runtime.c. What is written to a stream is discarded. Numbers with a fraction are not formatted: a function that
 * must write one notes that the run is not exact. */

typedef __builtin_va_list va_list;

extern int certus_noted;

/* ------------------------------------------------------------------------------------------ printing */

/* The end of what is written so far; nothing is stored beyond `most` bytes. */
struct output { char *to; size_t most, count; };

static void put(struct output *output, char c)
{
    if (output->count < output->most) output->to[output->count] = c;
    output->count++;
}

static void pad(struct output *output, long n, char c) { while (n-- > 0) put(output, c); }

struct field { int left, zero, plus, space, other, upper; long width, precision; };

static void put_number(
    struct output *output, const struct field *f, unsigned long long value, int negative, int base)
{
    char digits[32];
    const char *sign = negative ? "-" : f->plus ? "+" : f->space ? " " : "", *prefix = "";
    long n = 0, zeros;
    if (f->other && base == 16 && value) prefix = f->upper ? "0X" : "0x";
    for (; value; value /= (unsigned)base)
        digits[n++] = (f->upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % (unsigned)base];
    if (f->other && base == 8 && f->precision <= n) digits[n++] = '0';
    zeros = f->precision < 0 ? n == 0 : f->precision - n;
    if (zeros < 0) zeros = 0;
    long length = n + zeros + (*sign != 0) + (*prefix ? 2 : 0);
    if (f->zero && !f->left && f->precision < 0 && f->width > length) zeros += f->width - length, length = f->width;
    if (!f->left) pad(output, f->width - length, ' ');
    for (; *sign; sign++) put(output, *sign);
    for (; *prefix; prefix++) put(output, *prefix);
    pad(output, zeros, '0');
    while (n) put(output, digits[--n]);
    if (f->left) pad(output, f->width - length, ' ');
}

static void put_string(struct output *output, const struct field *f, const char *s)
{
    long n = 0;
    while ((f->precision < 0 || n < f->precision) && s[n]) n++;
    if (!f->left) pad(output, f->width - n, ' ');
    for (long i = 0; i < n; i++) put(output, s[i]);
    if (f->left) pad(output, f->width - n, ' ');
}

static const char *number(const char *format, long *value, va_list *arguments)
{
    if (*format == '*') {
        *value = __builtin_va_arg(*arguments, int);
        return format + 1;
    }
    for (*value = 0; *format >= '0' && *format <= '9'; format++) *value = 10 * *value + (*format - '0');
    return format;
}

enum length { INT, CHAR, SHORT, LONG, LONG_LONG, LONG_DOUBLE };

static const char *length_of(const char *format, enum length *length)
{
    *length = INT;
    for (;; format++)
        switch (*format) {
        case 'h': *length = *length == SHORT ? CHAR : SHORT; break;
        case 'l': *length = *length == LONG ? LONG_LONG : LONG; break;
        case 'j': case 'q': *length = LONG_LONG; break;
        case 'z': case 't': *length = LONG; break;
        case 'L': *length = LONG_DOUBLE; break;
        default: return format;
        }
}

static long long signed_argument(enum length length, va_list *arguments)
{
    if (length == LONG_LONG || length == LONG_DOUBLE) return __builtin_va_arg(*arguments, long long);
    if (length == LONG) return __builtin_va_arg(*arguments, long);
    int value = __builtin_va_arg(*arguments, int);
    return length == CHAR ? (signed char)value : length == SHORT ? (short)value : value;
}

static unsigned long long unsigned_argument(enum length length, va_list *arguments)
{
    if (length == LONG_LONG || length == LONG_DOUBLE) return __builtin_va_arg(*arguments, unsigned long long);
    if (length == LONG) return __builtin_va_arg(*arguments, unsigned long);
    unsigned value = __builtin_va_arg(*arguments, unsigned);
    return length == CHAR ? (byte)value : length == SHORT ? (unsigned short)value : value;
}

static void store_count(enum length length, va_list *arguments, size_t count)
{
    void *to = __builtin_va_arg(*arguments, void *);
    switch (length) {
    case CHAR: *(signed char *)to = (signed char)count; break;
    case SHORT: *(short *)to = (short)count; break;
    case LONG: *(long *)to = (long)count; break;
    case LONG_LONG: case LONG_DOUBLE: *(long long *)to = (long long)count; break;
    default: *(int *)to = (int)count;
    }
}

/* Format one argument; return the rest of the format. */
static const char *print_field(struct output *output, const char *format, va_list *arguments)
{
    struct field f = {0, 0, 0, 0, 0, 0, 0, -1};
    enum length length;
    for (;; format++) {
        if (*format == '-') f.left = 1;
        else if (*format == '0') f.zero = 1;
        else if (*format == '+') f.plus = 1;
        else if (*format == ' ') f.space = 1;
        else if (*format == '#') f.other = 1;
        else if (*format != '\'') break;
    }
    format = number(format, &f.width, arguments);
    if (f.width < 0) f.left = 1, f.width = -f.width;
    if (*format == '.') format = number(format + 1, &f.precision, arguments);
    format = length_of(format, &length);
    long long value;
    int base;
    switch (*format) {
    case 'd': case 'i':
        value = signed_argument(length, arguments);
        put_number(output, &f, value < 0 ? 0ULL - value : value, value < 0, 10);
        break;
    case 'u': case 'o': case 'x': case 'X':
        f.plus = f.space = 0, f.upper = *format == 'X';
        base = *format == 'u' ? 10 : *format == 'o' ? 8 : 16;
        put_number(output, &f, unsigned_argument(length, arguments), 0, base);
        break;
    case 'p':
        f.other = 1;
        put_number(output, &f, (size_t)__builtin_va_arg(*arguments, void *), 0, 16);
        break;
    case 'c':
        pad(output, f.left ? 0 : f.width - 1, ' ');
        put(output, (char)__builtin_va_arg(*arguments, int));
        pad(output, f.left ? f.width - 1 : 0, ' ');
        break;
    case 's':
        if (length == LONG) {
            const wchar_t *wide = __builtin_va_arg(*arguments, const wchar_t *);
            for (long n = 0; (f.precision < 0 || n < f.precision) && wide[n]; n++) put(output, (char)wide[n]);
        } else {
            put_string(output, &f, __builtin_va_arg(*arguments, const char *));
        }
        break;
    case 'n': store_count(length, arguments, output->count); break;
    case '%': put(output, '%'); break;
    case 'm': if (output->most) certus_noted = 1; break;
    default:
        if (length == LONG_DOUBLE) (void)__builtin_va_arg(*arguments, long double);
        else (void)__builtin_va_arg(*arguments, double);
        if (output->most) certus_noted = 1;
    }
    return *format ? format + 1 : format;
}

static int print(char *to, size_t most, const char *format, va_list *arguments)
{
    struct output output = {to, most ? most - 1 : 0, 0};
    while (*format)
        if (*format == '%') format = print_field(&output, format + 1, arguments);
        else put(&output, *format++);
    if (most) to[output.count < most ? output.count : most - 1] = 0;
    return (int)output.count;
}

static int print_to(char *to, size_t most, const char *format, va_list arguments)
{
    va_list own;
    __builtin_va_copy(own, arguments);
    return print(to, most, format, &own);
}

#define PRINT(last, ...) \
    va_list arguments; \
    __builtin_va_start(arguments, last); \
    return print_to(__VA_ARGS__, last, arguments)

#define NO_LIMIT ((size_t)-1 >> 1)

WEAK int printf(const char *format, ...) { PRINT(format, 0, 0); }
WEAK int fprintf(void *to, const char *format, ...) { (void)to; PRINT(format, 0, 0); }
WEAK int vprintf(const char *format, va_list a) { return print_to(0, 0, format, a); }
WEAK int vfprintf(void *to, const char *format, va_list a) { (void)to; return print_to(0, 0, format, a); }
WEAK int sprintf(char *to, const char *format, ...) { PRINT(format, to, NO_LIMIT); }
WEAK int snprintf(char *to, size_t most, const char *format, ...) { PRINT(format, to, most); }
WEAK int vsprintf(char *to, const char *format, va_list a) { return print_to(to, NO_LIMIT, format, a); }
WEAK int vsnprintf(char *to, size_t most, const char *format, va_list a) { return print_to(to, most, format, a); }
WEAK int puts(const char *s) { return (int)strlen(s) + 1; }
WEAK int fputs(const char *s, void *to) { (void)to; return strlen(s) != 0; }
WEAK void perror(const char *s) { if (s) (void)strlen(s); }
WEAK int putchar(int c) { return (byte)c; }
WEAK int fputc(int c, void *to) { (void)to; return (byte)c; }
WEAK int putc(int c, void *to) { (void)to; return (byte)c; }

/* ------------------------------------------------------------------------------------------- numbers */

/* The value of digits in a base. Numbers beyond `most` become `most`, negative ones beyond `least` become it. */
static unsigned long long read_number(
    const char *s, char **end, int base, unsigned long long most, unsigned long long least)
{
    const char *start = s;
    unsigned long long value = 0;
    int negative = 0, digits = 0, over = 0;
    while (isspace((byte)*s)) s++;
    if (*s == '+' || *s == '-') negative = *s++ == '-';
    if ((base == 0 || base == 16) && s[0] == '0' && (s[1] | 32) == 'x' && isxdigit((byte)s[2])) s += 2, base = 16;
    if (base == 0) base = *s == '0' ? 8 : 10;
    unsigned long long limit = negative ? least : most;
    for (;; s++, digits++) {
        int digit = isdigit((byte)*s) ? *s - '0' : isalpha((byte)*s) ? (*s | 32) - 'a' + 10 : 99;
        if (digit >= base) break;
        if (over || value > (limit - (unsigned)digit) / (unsigned)base) over = 1;
        else value = value * (unsigned)base + (unsigned)digit;
    }
    if (end) *end = (char *)(digits ? s : start);
    if (over) return negative && least != most ? -least : most;
    return negative ? -value : value;
}

#define LONGEST(type) (~(unsigned type)0 >> 1)
#define SIGNED(type, s, end, base) (type)read_number(s, end, base, LONGEST(type), LONGEST(type) + 1ULL)
#define UNSIGNED(type, s, end, base) (unsigned type)read_number(s, end, base, ~(unsigned type)0, ~(unsigned type)0)

WEAK long strtol(const char *s, char **end, int base) { return SIGNED(long, s, end, base); }
WEAK long long strtoll(const char *s, char **end, int base) { return SIGNED(long long, s, end, base); }
WEAK unsigned long strtoul(const char *s, char **end, int base) { return UNSIGNED(long, s, end, base); }
WEAK unsigned long long strtoull(const char *s, char **end, int base) { return UNSIGNED(long long, s, end, base); }
WEAK long __isoc23_strtol(const char *s, char **end, int base) { return SIGNED(long, s, end, base); }
WEAK unsigned long __isoc23_strtoul(const char *s, char **end, int base) { return UNSIGNED(long, s, end, base); }
WEAK int atoi(const char *s) { return (int)SIGNED(long, s, 0, 10); }
WEAK long atol(const char *s) { return SIGNED(long, s, 0, 10); }
WEAK long long atoll(const char *s) { return SIGNED(long long, s, 0, 10); }

/* --------------------------------------------------------------------------- comparing, sorting, searching */

WEAK int strncasecmp(const char *a, const char *b, size_t n)
{
    for (; n; a++, b++, n--) {
        int difference = tolower((byte)*a) - tolower((byte)*b);
        if (difference || !*a) return difference;
    }
    return 0;
}

WEAK int strcasecmp(const char *a, const char *b) { return strncasecmp(a, b, (size_t)-1); }

WEAK void qsort(void *start, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < count; i++)
        for (byte *at = (byte *)start + i * size; at > (byte *)start && compare(at - size, at) > 0; at -= size)
            for (size_t k = 0; k < size; k++) {
                byte kept = at[k];
                at[k] = at[k - size], at[k - size] = kept;
            }
}

WEAK void *bsearch(
    const void *key, const void *start, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    while (count) {
        const byte *middle = (const byte *)start + count / 2 * size;
        int order = compare(key, middle);
        if (!order) return (void *)middle;
        if (order > 0) start = middle + size, count -= count / 2 + 1;
        else count /= 2;
    }
    return 0;
}
