/* A journal: a record of 200 bytes into a file that is synced at times, and an acknowledgement on standard output by write for each; with
   LARGE the acknowledgements are collected. The first argument is where the journal is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 16];
static size_t used;

int main(int count, char **arguments) {
    if (count < 3) return 2;
    long lines = atol(arguments[count - 1]);
    int file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return 1;
    for (long n = 0; n < lines; n++) {
        char record[200], line[64];
        memset(record, 'a' + n % 26, sizeof record);
        if (pwrite(file, record, sizeof record, n % 1000 * sizeof record) < 0) return 1;
        if (n % 4000 == 3999) fdatasync(file);
        int length = sprintf(line, "record %ld is safe\n", n);
#ifdef LARGE
        if (used + length > sizeof block) {
            if (write(1, block, used) < 0) return 1;
            used = 0;
        }
        memcpy(block + used, line, length);
        used += length;
#else
        if (write(1, line, length) < 0) return 1;
#endif
    }
    if (used && write(1, block, used) < 0) return 1;
    close(file);
    unlink(arguments[1]);
}
