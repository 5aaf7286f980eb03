/* ladder/outpace-h: inline appends of include/outpace.h on one guard. */
#include "rung.h"

#include "outpace.h"

/* The value that is printed in place of i. */
#ifndef NUMBER
#define NUMBER(i) (i)
#endif

int main(int argc, char **argv) {
    unsigned long long messages = rung_messages(argc, argv);
    outpace_guard guard;

    rung_begin();
    outpace_out out = outpace_lock(outpace_stdout(), &guard);
    for (unsigned long long i = 0; i < messages; i++) {
        outpace_str(&out, "Hello, ");
        outpace_uint(&out, NUMBER(i));
        outpace_char(&out, '\t');
        outpace_end(&out);
    }
    outpace_unlock(&out);
    rung_called();
    int error = outpace_flush(outpace_stdout());
    if (error) return rung_failed(error);
    return rung_end();
}
