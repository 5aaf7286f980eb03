/* draw/animation-notcurses and noise-notcurses: the pictures of the workloads by notcurses, a plane as large as the terminal. WORKLOAD chooses.
 * https://github.com/dankamongmen/notcurses */
// flags: -Wl,--no-as-needed -lnotcurses-core
#include "rung.h"

#include <locale.h>
#include <notcurses/notcurses.h>
#include <signal.h>
#include <stdint.h>

/* xorshift64*, as the workloads have it. */
static uint64_t state = 0x9E3779B97F4A7C15ULL;

static uint32_t below(uint32_t n) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(((state * 0x2545F4914F6CDD1DULL >> 32) * n) >> 32);
}

static unsigned rows, columns;
static unsigned char *levels;

static void new_levels(void) {
    for (unsigned at = 0; at < columns * rows * 2; at++) {
        unsigned height = rows * 2 - at / columns;
        unsigned base = height * 160 / (rows * 2);
        levels[at] = (unsigned char)(base + below(height * 95 / (rows * 2) + 1));
    }
}

static int draw(struct notcurses *terminal, struct ncplane *plane, unsigned rotation) {
    for (unsigned y = 0; y < rows; y++) {
        for (unsigned x = 0; x < columns; x++) {
            unsigned from = (x + rotation) % columns;
            unsigned top = levels[y * 2 * columns + from], bottom = levels[(y * 2 + 1) * columns + from];
            ncplane_set_fg_rgb8(plane, top, top, top);
            ncplane_set_bg_rgb8(plane, bottom, bottom, bottom);
            if (ncplane_putegc_yx(plane, (int)y, (int)x, "\xe2\x96\x80", NULL) < 0) return -1;
        }
    }
    return notcurses_render(terminal);
}

/* Initialising waits for the terminal's answers (DA1), with no limit of its own. */
static const unsigned LIMIT_SECONDS = 10;

static void unanswered(int signal) {
    (void)signal;
    static const char why[] = "the terminal does not answer notcurses' questions\n";
    if (write(2, why, sizeof why - 1) < 0) _exit(2);
    _exit(1);
}

int main(int argc, char **argv) {
    unsigned long long frames = rung_messages(argc, argv);
    const char *workload = getenv("WORKLOAD");
    int is_noise = workload && strcmp(workload, "noise") == 0;
    setlocale(LC_ALL, "C.UTF-8");
    setenv("COLORTERM", "24bit", 1);
    /* notcurses asks this terminal, but would read the answers from another one. */
    dup2(1, 0);
    struct notcurses_options options = {
        .flags = NCOPTION_SUPPRESS_BANNERS | NCOPTION_NO_QUIT_SIGHANDLERS | NCOPTION_NO_WINCH_SIGHANDLER | NCOPTION_INHIBIT_SETLOCALE,
    };
    signal(SIGALRM, unanswered);
    alarm(LIMIT_SECONDS);
    struct notcurses *terminal = notcurses_core_init(&options, stdout);
    alarm(0);
    if (!terminal) return 1;
    struct ncplane *plane = notcurses_stddim_yx(terminal, &rows, &columns);
    levels = malloc((size_t)columns * rows * 2);
    if (!levels) return 1;
    new_levels();
    if (draw(terminal, plane, 0)) return 1;

    rung_begin();
    for (unsigned long long frame = 1; frame <= frames; frame++) {
        if (is_noise) new_levels();
        if (draw(terminal, plane, is_noise ? 0 : (unsigned)(frame % columns))) return 1;
    }
    rung_called();
    int status = rung_end();
    /* The terminal is not restored: its picture is compared. */
    fflush(NULL);
    _exit(status);
}
