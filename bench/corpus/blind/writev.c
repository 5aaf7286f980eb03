/* writev of the parts of each line; with LARGE copied into one buffer: the remedy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
    static char buffer[1 << 16];
    size_t length = 0;
    for (long n = 0; n < lines; n++) {
        char digits[24];
        size_t size = sprintf(digits, "%ld", n);
        struct iovec parts[3] = {{"GET /item/", 10}, {digits, size}, {" HTTP/1.1\n", 10}};
#ifdef LARGE
        if (length + 64 > sizeof buffer) {
            if (write(1, buffer, length) < 0) return 1;
            length = 0;
        }
        for (int k = 0; k < 3; k++) {
            memcpy(buffer + length, parts[k].iov_base, parts[k].iov_len);
            length += parts[k].iov_len;
        }
#else
        if (writev(1, parts, 3) < 0) return 1;
#endif
    }
    return write(1, buffer, length) < 0;
}
