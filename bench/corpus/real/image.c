/* A portable pixmap of the Mandelbrot set, a row of 1000 pixels (3000 bytes) a write; with LARGE 64 KiB. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long rows = (count > 1 ? atol(arguments[count - 1]) : 20000) / 8;
    static char buffer[1 << 16];
#ifdef LARGE
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#else
    setvbuf(stdout, buffer, _IOFBF, 3000);
#endif
    for (long y = 0; y < rows; y++) {
        char row[3000];
        for (int x = 0; x < 1000; x++) {
            double a = 0, b = 0, p = x / 400.0 - 2, q = y % 500 / 250.0 - 1;
            int i = 0;
            for (; i < 6 && a * a + b * b < 4; i++) {
                double t = a * a - b * b + p;
                b = 2 * a * b + q;
                a = t;
            }
            row[3 * x] = 'A' + i;
            row[3 * x + 1] = 'a' + i * 2;
            row[3 * x + 2] = x % 100 == 99 ? '\n' : '0' + i;
        }
        fwrite(row, 1, sizeof row, stdout);
    }
}
