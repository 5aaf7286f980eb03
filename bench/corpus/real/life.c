/* The game of life on a torus: a frame of 24 rows of 80 cells at a time, as programs for terminals draw it; with LARGE 32 frames at once. */
#include <stdio.h>
#include <stdlib.h>

enum { rows = 24, columns = 80 };
static char now[rows][columns], next[rows][columns];

int main(int count, char **arguments) {
    long frames = (count > 1 ? atol(arguments[count - 1]) : 20000) / 8;
    static char buffer[1 << 16];
#ifdef LARGE
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#else
    setvbuf(stdout, buffer, _IOFBF, 4096);
#endif
    unsigned state = 7;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            state = state * 1103515245u + 12345u;
            now[r][c] = state >> 20 & 1;
        }
    for (long frame = 0; frame < frames; frame++) {
        fputs("\033[H", stdout);
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < columns; c++) putchar(now[r][c] ? 'o' : ' ');
            putchar('\n');
        }
#ifndef LARGE
        fflush(stdout);
#endif
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) {
                int near = 0;
                for (int y = -1; y <= 1; y++)
                    for (int x = -1; x <= 1; x++)
                        if (y || x) near += now[(r + y + rows) % rows][(c + x + columns) % columns];
                next[r][c] = near == 3 || (near == 2 && now[r][c]);
            }
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) now[r][c] = next[r][c];
        state = state * 1103515245u + 12345u;
        now[state >> 16 & 15][state >> 20 & 63] = 1;
    }
}
