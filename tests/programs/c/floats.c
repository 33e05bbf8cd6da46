// decided-by: execution bmc
#include <assert.h>
#include <math.h>

struct point { float x, y; };

struct point sum(struct point a, struct point b) {
    struct point result = {a.x + b.x, a.y + b.y};
    return result;
}

double total(int count, ...) {
    __builtin_va_list list;
    double result = 0;
    __builtin_va_start(list, count);
    while (count-- > 0) result += __builtin_va_arg(list, double);
    __builtin_va_end(list);
    return result;
}

double table[3] = {1.0, 0.1, -2.5};

int main(void) {
    double tenth = 0.1, fifth = 0.2;
    assert(tenth + fifth != 0.3 && tenth + fifth > 0.3); // HOLDS
    float rounded = 0.1f;
    assert(rounded > 0.1 && rounded == 0x1.99999ap-4f); // HOLDS
    double zero = 0.0, minus = -zero, nan = zero / zero;
    assert(minus == zero && 1 / minus < 0 && 1 / zero > 0); // HOLDS
    assert(nan != nan && !(nan < 1) && !(nan >= 1) && !(nan == nan)); // HOLDS
    assert(isnan(nan) && isinf(1 / zero) && !isfinite(nan) && fpclassify(zero) == FP_ZERO); // HOLDS
    assert((int)3.99 == 3 && (int)-3.99 == -3 && (unsigned char)255.5 == 255); // HOLDS
    assert((float)16777217 == 16777216.0f && (double)16777217 == 16777217.0); // HOLDS
    double unit = 0;
    for (int i = 0; i < 10; i++) unit += tenth;
    assert(unit != 1.0 && fabs(unit - 1.0) < 1e-15); // HOLDS
    struct point p = {1, 2}, q = {0.5f, 0.25f};
    p = sum(p, q);
    assert(p.x == 1.5f && p.y == 2.25f); // HOLDS
    assert(total(3, 1.5f, 2.0, table[2]) == 1.0); // HOLDS
    assert(floor(-2.5) == -3 && ceil(-2.5) == -2 && round(2.5) == 3 && rint(2.5) == 2); // HOLDS
    assert(sqrt(2.0) * sqrt(2.0) != 2.0 && fmod(5.5, -2) == 1.5 && remainder(5, 3) == -1); // HOLDS
    union { double number; unsigned long long bits; } both = {-0.0};
    assert(both.bits == 1ull << 63); // HOLDS
    int exponent;
    double whole;
    assert(frexp(8.0, &exponent) == 0.5 && exponent == 4 && ldexp(0x1.8p0, -1074) == 0x1p-1073); // HOLDS
    assert(modf(-2.75, &whole) == -0.75 && whole == -2 && nextafter(1.0, 2.0) == 1 + 0x1p-52); // HOLDS
}
