/* A program that writes to its terminal in every way that the shim has to keep right. Its first argument says which. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

static void line(int fd, const char *text, int n) {
    char buffer[128];
    int length = snprintf(buffer, sizeof buffer, "%s %d\n", text, n);
    /* A terminal's write that a signal finds waiting for room is short: also by one that does nothing, if the thread that
       the kernel would have told had it blocked, as posix_spawn(3) does. */
    for (int at = 0; at < length;) {
        ssize_t written = write(fd, buffer + at, length - at);
        if (written <= 0) {
            abort();
        }
        at += written;
    }
}

static void burst(int n) {
    for (int i = 0; i < n; i++) {
        line(1, "burst", i);
    }
}

static void streams(void) {
    FILE *uncancelled = fopen("/dev/tty", "wc");
    int copy = dup(1), tty = open("/dev/tty", O_WRONLY), again = open(ttyname(1), O_RDWR);
    for (int i = 0; i < 200; i++) {
        line(1, "write", i);
        printf("printf %d\n", i);
        fflush(stdout);
        line(2, "stderr", i);
        fprintf(stderr, "fprintf %d\n", i);
        line(copy, "dup", i);
        line(tty, "tty", i);
        line(again, "again", i);
        struct iovec parts[3] = {{"wri", 3}, {"", 0}, {"tev\n", 4}};
        if (writev(1, parts, 3) != 7) {
            abort();
        }
        dprintf(1, "dprintf %d\n", i);
        syscall(SYS_write, 1, "syscall\n", 8);
        puts("puts");
        fflush(stdout);
        write(1, "be", 2);
        write(tty, "gin", 3);
        write(1, "ning\nmiddle\nen", 14);
        write(2, "d\n", 2);
        fprintf(uncancelled, "mode c %d\n", i);
        fflush(uncancelled);
    }
    static char large[40000];
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = '\n';
    burst(10);
    write(1, large, sizeof large);
    burst(10);
}

static void spawned(char *const words[]) {
    pid_t child;
    if (posix_spawn(&child, words[0], NULL, NULL, words, environ) != 0) {
        abort();
    }
    waitpid(child, NULL, 0);
}

static void children(const char *other) {
    burst(50);
    pid_t child = fork();
    if (child == 0) {
        line(1, "child", 0);
        burst(20);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    burst(20);
    spawned((char *[]){(char *)other, "burst", NULL});
    burst(20);
    if (vfork() == 0) {
        execl(other, other, "burst", NULL);
        _exit(1);
    }
    wait(NULL);
    burst(20);
    system("echo from a shell");
    burst(20);
    FILE *shell = popen("echo from a pipe >/dev/tty", "r");
    pclose(shell);
    burst(20);
}

static void files(const char *path) {
    burst(20);
    int terminal = dup(1);
    close(1);
    if (open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) != 1) {
        abort();
    }
    burst(20);
    dup2(terminal, 1);
    burst(20);
    int reading = open(ttyname(1), O_RDONLY | O_NOCTTY);
    errno = 0;
    ssize_t result = write(reading, "no", 2);
    int error = errno;
    dprintf(1, "read only: %zd %d\n", result, error);
    for (int way = 0; way < 5; way++) {
        burst(3);
        int other = open(ttyname(1), O_RDONLY | O_NOCTTY);
        switch (way) {
        case 0: close(1); open(ttyname(2), O_RDONLY | O_NOCTTY); break;
        case 1: dup2(other, 1); break;
        case 2: dup3(other, 1, 0); break;
        case 3: syscall(SYS_dup3, other, 1, 0); break;
        case 4: fclose(fdopen(1, "w")); open(ttyname(2), O_RDONLY | O_NOCTTY); break;
        }
        errno = 0;
        result = write(1, "no", 2);
        error = errno;
        close(other);
        dup2(terminal, 1);
        dprintf(1, "way %d: %zd %d\n", way, result, error);
    }
    errno = 0;
    result = write(77, "no", 2);
    error = errno;
    dprintf(1, "closed: %zd %d\n", result, error);
}

static char *left;

static void *ends(void *unused) {
    char stack[65536];
    memset(stack, 'v', sizeof stack);
    left = (char *)(((size_t)stack + 16384) & ~(size_t)4095);
    write(1, left, 30);
    return unused;
}

/* The stack of a thread that has ended: what the C library made of it. */
static void ended(void) {
    pthread_t thread;
    pthread_attr_t detached;
    struct stat before, threads;
    stat("/proc/self/task", &before);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &detached, ends, NULL);
    do {
        usleep(1000);
        stat("/proc/self/task", &threads);
    } while (threads.st_nlink != before.st_nlink);
    errno = 0;
    ssize_t result = write(1, left, 30);
    int error = result < 0 ? errno : 0;
    dprintf(1, "\nended: %zd %d\n", result, error);
}

static void faults(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'y', 8192);
    mprotect(pages + 4096, 4096, PROT_NONE);
    void *places[] = {NULL, (void *)16, pages + 4096, (void *)-64, pages + 4090};
    for (int i = 0; i < 5; i++) {
        burst(3);
        errno = 0;
        ssize_t result = write(1, places[i], 30);
        int error = result < 0 ? errno : 0;
        dprintf(1, "\nwrite %d: %zd %d\n", i, result, error);
        struct iovec parts[2] = {{"good\n", 5}, {places[i], 30}};
        errno = 0;
        result = writev(1, parts, 2);
        error = result < 0 ? errno : 0;
        dprintf(1, "\nwritev %d: %zd %d\n", i, result, error);
    }
    for (int way = 0; way < 5; way++) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(page, 'w', 4096);
        write(1, page, 30);
        switch (way) {
        case 0: munmap(page, 4096); break;
        case 1: mprotect(page, 4096, PROT_NONE); break;
        case 2: mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
        case 3: syscall(SYS_munmap, page, 4096); break;
        case 4: mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, pages); break;
        }
        errno = 0;
        ssize_t result = write(1, page, 30);
        int error = result < 0 ? errno : 0;
        dprintf(1, "\ngone %d: %zd %d\n", way, result, error);
    }
    ended();
    errno = 0;
    dprintf(1, "writev: %zd", writev(1, NULL, 2));
    dprintf(1, " %d; %zd", errno, writev(1, (void *)places, -1));
    dprintf(1, " %d; %zd\n", errno, write(1, "", 0));
}

static void *writer(void *name) {
    for (int i = 0; i < 5000; i++) {
        line(1, name, i);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&all[i], NULL, writer, (char *[]){"one", "two", "three", "four"}[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(all[i], NULL);
    }
}

/* No file can be opened any more. */
static void *writer_at_the_limit(void *name) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    return writer(name);
}

static void thread_at_the_limit(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer_at_the_limit, "n");
    pthread_join(thread, NULL);
}

static volatile int is_over;

static void *writer_of_many(void *counter) {
    for (int i = 0; i < 20000; i++) {
        line(1, "n", i);
        *(volatile long *)counter = i + 1;
    }
    is_over = 1;
    return NULL;
}

static volatile long *shared(const char *path);
/* A thread whose writes are cut short by signals that do nothing. When it has come to a halt, or an end, a file is made. */
static void interrupted(const char *path) {
    char full[256];
    snprintf(full, sizeof full, "%s.full", path);
    volatile long *count = shared(path), before = -1;
    pthread_t thread;
    pthread_create(&thread, NULL, writer_of_many, (void *)count);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, NULL);
    while (!is_over) {
        for (int i = 0; i < 20 && !is_over; i++) {
            kill(getpid(), SIGCHLD);
            usleep(1000);
        }
        if (*count > 0 && *count == before) {
            close(open(full, O_CREAT | O_WRONLY, 0600));
        }
        before = *count;
    }
    pthread_join(thread, NULL);
    close(open(full, O_CREAT | O_WRONLY, 0600));
}

static volatile sig_atomic_t ticks;
static sigjmp_buf back;
static int leaps;

static void tick(int signal) {
    char text[32];
    int length = 0, n = ticks++;
    char digits[12];
    do {
        digits[length++] = '0' + n % 10;
    } while (n /= 10);
    int at = 0;
    memcpy(text, "tick ", 5);
    at = 5;
    while (length) {
        text[at++] = digits[--length];
    }
    text[at++] = '\n';
    write(1, text, at);
    if (leaps) {
        siglongjmp(back, 1);
    }
}

static void signals(void) {
    signal(SIGALRM, tick);
    volatile int i = 0, is_begun = 0;
    struct itimerval often = {{0, 300}, {0, 300}};
    if (leaps) {
        sigsetjmp(back, 1);
    }
    if (!is_begun) {
        is_begun = 1;
        setitimer(ITIMER_REAL, &often, NULL);
    }
    while (i < 20000) {
        line(1, "main", i);
        i++;
    }
    often = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    signal(SIGALRM, SIG_IGN);
    line(1, "end", ticks > 0);
}

static void counted(const char *path) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    ftruncate(file, 4096);
    volatile long *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (int i = 0;; i++) {
        line(1, "n", i);
        *count = i + 1;
        if (i % 5000 == 4999) {
            usleep(1000);
        }
    }
}

static void *ten_thousand(void *unused) {
    for (int n = 0; n < 10000; n++) {
        line(1, "t", n);
    }
    return NULL;
}

/* Forks again and again while another thread is in the C library's code, and looks whether that has become a file of its own. */
static void forks(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ten_thousand, NULL);
    for (int n = 0; n < 30; n++) {
        pid_t child = fork();
        if (child == 0) {
            line(1, "child", n);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    pthread_join(thread, NULL);
    char *text = NULL;
    size_t room = 0;
    int moved = 0;
    for (FILE *maps = fopen("/proc/self/maps", "r"); getline(&text, &room, maps) > 0;) {
        moved += strstr(text, "memfd:outpace-text") != NULL;
    }
    line(1, "moved", moved);
}

static void numbered_for_ever(void) {
    for (int n = 0;; n++) {
        line(1, "n", n);
        if (n % 10 == 9) {
            usleep(500);
        }
    }
}

static volatile long *shared(const char *path) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    ftruncate(file, 4096);
    volatile long *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return count;
}

/* Writes numbered lines, each while it holds a lock that all processes with that file share: their order is known. */
static void ordered(const char *path, int times) {
    volatile long *count = shared(path);
    for (int i = 0; i < times; i++) {
        while (__sync_lock_test_and_set(&count[1], 1)) {
            sched_yield();
        }
        line(1, "n", (*count)++);
        __sync_lock_release(&count[1]);
    }
}

static pid_t start(char *const words[]) {
    pid_t child;
    if (posix_spawn(&child, words[0], NULL, NULL, words, environ) != 0) {
        abort();
    }
    return child;
}

static void *ordering(void *path) {
    ordered(path, 3000);
    return NULL;
}

/* All kinds of children at once, and threads; then none, and again. */
static void family(char *self, char *path, char *other) {
    ordered(path, 500);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            if (fork() == 0) {
                ordered(path, 2000);
                if (i == 1) {
                    execl(self, self, "ordered", path, "500", NULL);
                }
                _exit(0);
            }
        }
        pthread_t thread;
        pthread_create(&thread, NULL, ordering, path);
        start((char *[]){self, "ordered", path, "2000", NULL});
        if (round != 1) {
            start((char *[]){other, "ordered", path, "100", NULL});
        }
        ordered(path, 3000);
        pthread_join(thread, NULL);
        while (wait(NULL) > 0) {
        }
        ordered(path, 5000);
    }
}

/* Several processes that count what they have written, until they are killed. */
static void counted(const char *path);
static void brood(const char *path, int size) {
    for (int i = 0; i < size; i++) {
        char own[256];
        snprintf(own, sizeof own, "%s.%d", path, i);
        if (fork() == 0) {
            volatile long *count = shared(own);
            char name[16];
            snprintf(name, sizeof name, "c%d", i);
            count[1] = getpid();
            for (int n = 0;; n++) {
                line(1, name, n);
                *count = n + 1;
                if (n % 500 == 499) {
                    usleep(1000);
                }
            }
        }
    }
    counted(path);
}

static void *counting(void *path) {
    volatile long *count = shared(path);
    for (int i = 0;; i++) {
        line(1, "n", i);
        *count = i + 1;
    }
    return NULL;
}

static void crowd(char *path, char *other) {
    pthread_t thread;
    /* A child's end would cut the other thread's write short (see `line`), and another line could come in between. */
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    pthread_create(&thread, NULL, counting, path);
    for (int i = 0; i < 4; i++) {
        usleep(500);
        spawned((char *[]){other, "knows", path, NULL});
    }
    _exit(0);
}

/* A write that is held up in the middle of its copy: by a page that has gone, and the handler that brings it back. */
static struct {
    int file;
    char *page, text[32];
    /* Only the main thread clears the second and the third: a thread that looked for the moment in between could sleep through it. */
    volatile int was_held, is_held, is_started, is_over;
} held;

static void bring_back(void) {
    ftruncate(held.file, 4096);
    memcpy(held.page, held.text, strlen(held.text));
}

static void holds_up(int signal) {
    bring_back();
    held.was_held = held.is_held = 1;
    while (!held.is_started) {
        usleep(100);
    }
    held.is_held = 2;
    (void)signal;
}

static void *held_thread(void *path) {
    volatile long *count = shared(path);
    for (int round = 0; round < 5; round++) {
        held.was_held = 0;
        while (!held.was_held) {
            /* Again, until the ring is open. */
            for (int i = 0; i < 5; i++) {
                snprintf(held.text, sizeof held.text, "n %ld\n", *count);
                bring_back();
                write(1, held.page, strlen(held.text));
                ++*count;
            }
            snprintf(held.text, sizeof held.text, "n %ld\n", *count);
            ftruncate(held.file, 0);
            if (write(1, held.page, strlen(held.text)) > 0) {
                ++*count;
            }
            usleep(1000);
        }
        while (held.is_started) {
            usleep(100);
        }
    }
    held.is_over = 1;
    return NULL;
}

static pid_t start(char *const words[]);
static void held_up(char *path, char *other) {
    volatile long *count = shared(path);
    pthread_t thread;
    char file[256], expected[24];
    snprintf(file, sizeof file, "%s.page", path);
    held.file = open(file, O_RDWR | O_CREAT, 0600);
    held.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, held.file, 0);
    signal(SIGBUS, holds_up);
    pthread_create(&thread, NULL, held_thread, path);
    while (!held.is_over) {
        if (held.is_held) {
            snprintf(expected, sizeof expected, "%ld", *count + 1);
            pid_t child = start((char *[]){other, "follows", path, expected, NULL});
            held.is_started = 1;
            waitpid(child, NULL, 0);
            /* The handler may get its processor later than the child. */
            while (held.is_held == 1) {
                usleep(100);
            }
            /* In this order: the other thread goes on by the second, and sets the first again. */
            held.is_held = 0;
            held.is_started = 0;
        }
        usleep(100);
    }
    pthread_join(thread, NULL);
}

static void follows(char *path, long expected) {
    volatile long *count = shared(path);
    while (*count < expected) {
        sched_yield();
    }
    line(1, "knows", expected);
}

static void does_not_wait(const char *path) {
    char text[1000];
    memset(text, 'z', sizeof text);
    text[999] = '\n';
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    long written = 0, refused = 0, quarrels = 0;
    while (written < 4000000) {
        ssize_t result = write(1, text, sizeof text);
        if (result > 0) {
            written += result;
            continue;
        }
        if (errno != EAGAIN) {
            abort();
        }
        refused++;
        if (refused == 1) {
            close(open(path, O_CREAT | O_WRONLY, 0600));
        }
        struct pollfd room = {1, POLLOUT, 0};
        if (poll(&room, 1, 0) > 0) {
            quarrels++;
        }
        poll(&room, 1, 1000);
    }
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) & ~O_NONBLOCK);
    dprintf(1, "written %ld refused %d quarrels %d\n", written, refused > 0, quarrels > 50);
}

static void settings(void) {
    struct termios cooked, raw;
    tcgetattr(1, &cooked);
    raw = cooked;
    raw.c_oflag &= ~OPOST;
    for (int i = 0; i < 20; i++) {
        burst(5);
        tcsetattr(1, i % 2 ? TCSANOW : TCSADRAIN, &raw);
        burst(5);
        ioctl(1, TCSETS + 1, &cooked);
        tcsetattr(1, TCSANOW, &cooked);
    }
    burst(5);
    tcdrain(1);
    int left = -1;
    burst(1);
    int asked = ioctl(1, TIOCOUTQ, &left);
    dprintf(1, "asked %d %d\n", asked, left >= 0);
    /* What the terminal makes of output, each in turn. */
    static const tcflag_t modes[] = {OPOST | ONLCR | XTABS, OPOST, OPOST | ONLCR | OLCUC, OPOST | ONLCR | OCRNL, OPOST | ONLRET, 0};
    for (int i = 0; i < 6; i++) {
        raw = cooked;
        raw.c_oflag = modes[i];
        tcsetattr(1, TCSANOW, &raw);
        for (int n = 0; n < 5; n++) {
            write(1, "ab\tc\r\n", 6);
            write(1, "d\te", 3);
            write(1, "\tf\n\n", 4);
        }
    }
    /* The columns that it counts, where half a line has ended in a mode without counting. */
    static const tcflag_t last[] = {OPOST | ONLCR | XTABS, OPOST | ONLCR | ONOCR};
    static const struct { tcflag_t mode; const char *text; } steps[] = {
        {OPOST | ONLCR, "abc"}, {0, "\nd\n"}, {OPOST | ONLCR, "e\nf\n"}, {OPOST, "ghi\n"}, {OPOST | ONLCR, "j\n"}};
    for (int i = 0; i < 4; i++) {
        for (int step = i < 2 ? 0 : 3; step < (i < 2 ? 3 : 5); step++) {
            raw.c_oflag = steps[step].mode;
            tcsetattr(1, TCSANOW, &raw);
            write(1, steps[step].text, strlen(steps[step].text));
        }
        raw.c_oflag = last[i % 2];
        tcsetattr(1, TCSANOW, &raw);
        write(1, "\tk\n", 3);
        write(1, "\rl\n", 3);
    }
    tcsetattr(1, TCSANOW, &cooked);
    raw = cooked;
    raw.c_lflag |= TOSTOP;
    tcsetattr(1, TCSANOW, &raw);
    burst(5);
}

static void *goes_on(void *unused) {
    usleep(20000);
    tcflow(1, TCOON);
    return unused;
}

/// Output that one thread stops, and another lets go on.
static void flow(void) {
    pthread_t other;
    burst(5);
    tcflow(1, TCOOFF);
    pthread_create(&other, NULL, goes_on, NULL);
    burst(5);
    pthread_join(other, NULL);
    ioctl(1, TCXONC, TCOOFF);
    ioctl(1, TCXONC, TCOON);
    burst(5);
}

/* Writes when a file is there, and makes another one when it has. */
static void on_demand(const char *path) {
    char done[256];
    snprintf(done, sizeof done, "%s.done", path);
    burst(5);
    line(1, "ready", 0);
    while (access(path, F_OK) != 0) {
        usleep(1000);
    }
    burst(30);
    line(1, "held", 0);
    close(open(done, O_CREAT | O_WRONLY, 0600));
}

static volatile long written;

static void *endless(void *unused) {
    for (;;) {
        write(1, "still\n", 6);
        written++;
    }
    return unused;
}

static void cancelled(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, endless, NULL);
    while (written < 1000) {
        usleep(100);
    }
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    line(1, "cancelled", result == PTHREAD_CANCELED);
}

static void sees(void) {
    printf("%d %d\n", getenv("LD_PRELOAD") == NULL, getenv("OUTPACE_RING") == NULL);
    for (int fd = 0; fd < 64; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("descriptor %d\n", fd);
        }
    }
    fflush(stdout);
    system("env | grep -c -e LD_PRELOAD -e OUTPACE_RING");
}

static void confined(void) {
    burst(20);
    prctl(PR_SET_SECCOMP, 1);
    burst(20);
    syscall(SYS_exit, 0);
}

/* Has the kernel write, by its own queue. */
static void submitted(void) {
    /* musl has no header of the kernel's for it: a pwrite, from offset 0, as linux/aio_abi.h lays it out. */
    struct { unsigned long long data, key; unsigned short code; short priority; unsigned fd; unsigned long long buffer, length, rest[3]; }
        order = {.code = 1, .fd = 1, .buffer = (unsigned long)"order\n", .length = 6}, *orders[] = {&order};
    unsigned long long context = 0, done[4];
    burst(20);
    if (syscall(SYS_io_setup, 1, &context) == -1) {
        abort();
    }
    for (int i = 0; i < 200; i++) {
        line(1, "before", i);
        if (syscall(SYS_io_submit, context, 1, orders) != 1 || syscall(SYS_io_getevents, context, 1, 1, done, NULL) != 1) {
            abort();
        }
    }
    burst(20);
}

/* Becomes another program, for which there is no clone3(2): as in old containers. */
static void without_clone3(char **words) {
    struct { unsigned short code; unsigned char yes, no; unsigned value; } filter[] = {
        {0x20, 0, 0, 0}, /* loads the number */
        {0x15, 0, 1, 435}, /* clone3? */
        {0x06, 0, 0, 0x50000 | ENOSYS},
        {0x06, 0, 0, 0x7fff0000}, /* allowed */
    };
    struct { unsigned short length; void *filter; } program = {4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, 2, &program) != 0) {
        abort();
    }
    execv(words[0], words);
}

/* Holds a process's first thread, of which no other process is told, until there is nothing more to read. */
static int holds(pid_t process) {
    if (ptrace(PTRACE_SEIZE, process, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, process, 0, 0) != 0) {
        return 1;
    }
    waitpid(process, NULL, __WALL);
    puts("held");
    fflush(stdout);
    while (read(0, (char[1]){0}, 1) > 0) {}
    return 0;
}

/* How large an environment may be for this program, in bytes more than there are: the kernel has a limit. */
static void fills(char *self) {
    enum { STRINGS = 20, MOST = 128 << 10 };
    static char texts[STRINGS][MOST];
    char *all[STRINGS + 1] = {0};
    long least = 0, most = (long)STRINGS * (MOST - 16);
    while (least < most) {
        long size = (least + most + 1) / 2, left = size;
        for (int i = 0; i < STRINGS; i++) {
            long length = left < MOST - 16 ? left : MOST - 16;
            memset(texts[i], 'A', length);
            texts[i][length] = 0;
            all[i] = texts[i];
            left -= length;
        }
        pid_t child = fork();
        if (child == 0) {
            execve(self, (char *[]){self, "nothing", NULL}, all);
            _exit(errno == E2BIG ? 1 : 2);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status == 0) least = size; else most = size - 1;
    }
    line(1, "fits", least);
}

/* Becomes another program, which the parent traces. */
static void traced(char **words) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execvp(words[0], words);
        _exit(127);
    }
    for (int status; waitpid(child, &status, 0) == child && WIFSTOPPED(status);) {
        int signal = WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, 0, signal == SIGTRAP ? 0 : signal);
    }
}

/* Functions of the C library by a handle of it, as foreign function interfaces reach them, in turn with those by name. */
#define BY_HANDLE(function) ((__typeof__(&function))dlsym(handle, #function))
static void by_handle(void) {
    void *handle = dlopen("libc.so.6", RTLD_LAZY);
    if (!handle)
        handle = dlopen(NULL, RTLD_LAZY);
    char *words[] = {"echo", "by handle", NULL}, text[] = "handle\n";
    struct iovec part = {text, sizeof text - 1};
    int ends[2];
    for (int i = 0; i < 40; i++) {
        line(1, "name", i);
        BY_HANDLE(write)(1, text, part.iov_len);
        line(1, "name", i);
        BY_HANDLE(writev)(1, &part, 1);
        line(1, "name", i);
        BY_HANDLE(syscall)(SYS_write, 1, text, part.iov_len);
        line(1, "name", i);
        pipe(ends);
        write(ends[1], text, part.iov_len);
        if (BY_HANDLE(splice)(ends[0], NULL, 1, NULL, part.iov_len, 0) < 0)
            write(1, text, part.iov_len);
        close(ends[0]);
        close(ends[1]);
        if (i % 10)
            continue;
        line(1, "name", i);
        pid_t child;
        BY_HANDLE(posix_spawn)(&child, "/bin/echo", NULL, NULL, words, environ);
        waitpid(child, NULL, 0);
        line(1, "name", i);
        if (!fork())
            BY_HANDLE(execve)("/bin/echo", words, environ);
        wait(NULL);
    }
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "", *more = count > 2 ? words[2] : "";
    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (!strcmp(what, "burst")) burst(30);
    else if (!strcmp(what, "streams")) streams();
    else if (!strcmp(what, "submitted")) submitted();
    else if (!strcmp(what, "children")) children(more);
    else if (!strcmp(what, "files")) files(more);
    else if (!strcmp(what, "faults")) faults();
    else if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "thread at the limit")) thread_at_the_limit();
    else if (!strcmp(what, "interrupted")) interrupted(more);
    else if (!strcmp(what, "signals")) signals();
    else if (!strcmp(what, "leaps")) { leaps = 1; signals(); }
    else if (!strcmp(what, "counted")) counted(more);
    else if (!strcmp(what, "by handle")) by_handle();
    else if (!strcmp(what, "crowd")) crowd((char *)more, words[3]);
    else if (!strcmp(what, "held up")) held_up((char *)more, words[3]);
    else if (!strcmp(what, "follows")) follows((char *)more, atol(words[3]));
    else if (!strcmp(what, "ordered")) ordered(more, atoi(words[3]));
    else if (!strcmp(what, "family")) family(words[0], (char *)more, words[3]);
    else if (!strcmp(what, "brood")) brood(more, atoi(words[3]));
    else if (!strcmp(what, "back")) { burst(500); spawned((char *[]){(char *)more, "burst", NULL}); numbered_for_ever(); }
    else if (!strcmp(what, "forks")) forks();
    else if (!strcmp(what, "endless")) numbered_for_ever();
    else if (!strcmp(what, "knows")) line(1, "knows", *shared(more));
    else if (!strcmp(what, "nonblocking")) does_not_wait(more);
    else if (!strcmp(what, "settings")) settings();
    else if (!strcmp(what, "flow")) flow();
    else if (!strcmp(what, "on demand")) on_demand(more);
    else if (!strcmp(what, "cancelled")) cancelled();
    else if (!strcmp(what, "sees")) sees();
    else if (!strcmp(what, "fills")) fills(words[0]);
    else if (!strcmp(what, "nothing")) return 0;
    else if (!strcmp(what, "traced")) traced(words + 2);
    else if (!strcmp(what, "confined")) confined();
    else if (!strcmp(what, "without-clone3")) without_clone3(words + 2);
    else if (!strcmp(what, "holds")) return holds(atoi(more));
    else if (!strcmp(what, "becomes")) { burst(30); execl(more, more, "burst", NULL); return 1; }
    else if (!strcmp(what, "aborts")) { burst(30); char *volatile p = malloc(20); free(p); free(p); }
    else if (!strcmp(what, "forever")) { burst(1000); line(1, "ready", 0); static const char on[999] = "on"; for (;;) { if (write(1, on, sizeof on) < 0) { int e = errno; close(open(more, O_CREAT | O_WRONLY, 0600)); return e; } usleep(1000); } }
    else if (!strcmp(what, "idle")) { burst(100); line(1, "idle", 0); pause(); }
    else return 2;
    return 0;
}
