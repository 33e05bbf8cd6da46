// decided-by: execution
#include <assert.h>
#include <fenv.h>
#include <math.h>

int main(void) {
    float one = 1.0f, ten = 10.0f, nearest = one / ten;
    assert(fesetround(FE_UPWARD) == 0); // HOLDS
    float above = one / ten;
    assert(rint(2.5) == 3 && nearbyint(-2.5) == -2 && fegetround() == FE_UPWARD); // HOLDS
    fesetround(FE_DOWNWARD);
    float below = one / ten, folded = 1.0f / 10.0f;
    assert(folded == below && below < above && rint(2.5) == 2); // HOLDS
    assert(nearest == above || nearest == below); // HOLDS
    fesetround(FE_TOWARDZERO);
    assert(one / ten == below && -one / ten == -below); // HOLDS
    assert(fesetround(77) != 0 && fegetround() == FE_TOWARDZERO); // HOLDS
}
