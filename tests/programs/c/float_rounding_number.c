// decided-by: execution
#include <assert.h>
#include <fenv.h>
#include <float.h>

int main(void) {
    assert(FLT_ROUNDS == 1); // HOLDS
    fesetround(FE_UPWARD);
    assert(FLT_ROUNDS == 2); // HOLDS
    fesetround(FE_DOWNWARD);
    assert(FLT_ROUNDS == 3); // HOLDS
    fesetround(FE_TOWARDZERO);
    assert(FLT_ROUNDS == 0); // HOLDS
}
