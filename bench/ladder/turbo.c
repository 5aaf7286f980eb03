/* ladder/turbo-c: the message's decimal digits are incremented in place; 8 KiB on the stack, one
 * write a buffer. */
#include "rung.h"

#define CAPACITY 8192

int main(int argc, char **argv) {
    unsigned long long messages = rung_messages(argc, argv);
    char buffer[CAPACITY];
    char message[32] = "Hello, 0\t";
    char *const first = message + 7;
    char *last = first;
    size_t length = 9;
    size_t used = 0;

    rung_begin();
    while (messages--) {
        if (used + length > CAPACITY) {
            rung_write_all(buffer, used);
            used = 0;
        }
        memcpy(buffer + used, message, length);
        used += length;

        char *digit = last;
        while (*digit == '9') {
            *digit = '0';
            if (digit == first) {
                *first = '1';
                *++last = '0';
                last[1] = '\t';
                length++;
                goto next;
            }
            digit--;
        }
        ++*digit;
    next:;
    }
    rung_called();
    rung_write_all(buffer, used);
    return rung_end();
}
