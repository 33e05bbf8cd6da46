// The program of Figure 1 of Flanagan, "Software Model Checking via Iterative Abstraction Refinement of Constraint
// Logic Queries": a class of rational numbers whose denominator must not be zero.
//
//     certus verify examples/rational.c --engine clp
//     certus verify examples/rational.c --engine clp --property no-div-zero -D NDEBUG
#include <assert.h>

extern int __VERIFIER_nondet_int(void);

struct Rat {
  int n, d;
};

static void make(struct Rat *self, int x, int y) {
  self->n = x;
  self->d = y;
}

static int trunc_of(struct Rat *self) {
  assert(self->d != 0);
  return self->n / self->d;
}

int main(void) {
  int x = __VERIFIER_nondet_int();
  int y = __VERIFIER_nondet_int();
  if (y == 0)
    return 0;
  struct Rat r;
  make(&r, x, y);
  int sum = 0;
  for (int i = 0; i < 100000; i++)
    sum ^= trunc_of(&r);
  return sum;
}
