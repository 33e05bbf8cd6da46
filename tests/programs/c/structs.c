// decided-by: bmc
#include <assert.h>

struct point { int x, y; };
struct shape { struct point corner[2]; char name; struct point *best; };

static struct point swap(struct point p) {
    struct point q = {p.y, p.x};
    p.x = 1000;
    return q;
}

int main(void) {
    struct shape s = {.corner = {{1, 2}, {3}}, .name = 'r'};
    struct shape t = s;
    t.corner[1].y = 9;
    assert(s.corner[1].y == 0 && t.corner[1].y == 9 && t.corner[0].y == 2 && s.best == 0); // HOLDS
    s.best = &t.corner[1];
    s.best->x++;
    assert(t.corner[1].x == 4); // HOLDS
    t.corner[0] = swap(*s.best);
    assert(t.corner[0].x == 9 && t.corner[0].y == 4 && s.best->x == 4); // HOLDS
    assert(swap(swap(t.corner[0])).x == 9); // HOLDS
}
