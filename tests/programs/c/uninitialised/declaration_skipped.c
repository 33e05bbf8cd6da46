// property: no-uninitialised-read
int main(void) {
    goto inside;
    {
        int x = 4;
    inside:
        return x; // VIOLATED
    }
}
