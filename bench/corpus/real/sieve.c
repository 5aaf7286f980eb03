/* A segmented prime sieve that writes every prime as soon as it is found, ten to a line, by write; with LARGE collected in 64 KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 16];
static size_t used;

static void put(const char *text, size_t length) {
#ifdef LARGE
    if (used + length > sizeof block) {
        if (write(1, block, used) < 0) exit(1);
        used = 0;
    }
    memcpy(block + used, text, length);
    used += length;
#else
    if (write(1, text, length) < 0) exit(1);
#endif
}

static char composite[100000];

int main(int count, char **arguments) {
    long wanted = count > 1 ? atol(arguments[count - 1]) : 20000, found = 0;
    for (long from = 2; found < wanted; from += sizeof composite) {
        memset(composite, 0, sizeof composite);
        for (long p = 2; p * p < from + (long)sizeof composite; p++) {
            long first = (from + p - 1) / p * p;
            if (first < p * p) first = p * p;
            for (long n = first; n < from + (long)sizeof composite; n += p) composite[n - from] = 1;
        }
        for (long n = from; n < from + (long)sizeof composite && found < wanted; n++)
            if (!composite[n - from]) {
                char text[32];
                int length = 0;
                char digits[24];
                int many = 0;
                for (long rest = n; rest; rest /= 10) digits[many++] = '0' + rest % 10;
                while (many) text[length++] = digits[--many];
                text[length++] = ++found % 10 ? ' ' : '\n';
                put(text, length);
            }
    }
    put("\n", 1);
    if (used && write(1, block, used) < 0) exit(1);
}
