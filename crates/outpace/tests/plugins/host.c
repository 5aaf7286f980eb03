/* A host of plugins: host OBJECT ENDING LINES loads the object, has it print, unloads it, and ends. */

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *object;
static const char *ending;
static int lines;

static void check(int is_so, const char *what)
{
    if (!is_so) {
        const char *why = dlerror();
        fprintf(stderr, "host: %s: %s\n", what, why ? why : "failed");
        _exit(2);
    }
}

/* As a server that has a process for each of its visitors. */
static void fork_often(void (*print_lines)(const char *, int))
{
    enum { CHILDREN = 300, AT_A_TIME = 10 };
    for (int begun = 0; begun < CHILDREN; begun++) {
        pid_t child = fork();
        check(child >= 0, "fork");
        if (child == 0) {
            print_lines("child", 1);
            exit(0);
        }
        if (begun % AT_A_TIME == 0)
            print_lines("parent", 1);
        if (begun >= AT_A_TIME)
            check(wait(NULL) > 0, "wait");
    }
    while (wait(NULL) > 0) {
    }
}

static void load_print_and_unload(void)
{
    void *plugin = dlopen(object, RTLD_NOW);
    check(plugin != NULL, "dlopen");
    if (strcmp(ending, "SIGTERM") == 0 || strcmp(ending, "abort") == 0 || strcmp(ending, "init, main first") == 0) {
        void (*survive_signals)(void) = (void (*)(void))dlsym(plugin, "survive_signals");
        check(survive_signals != NULL, "survive_signals");
        survive_signals();
    }
    void (*print_lines)(const char *, int) =
        (void (*)(const char *, int))dlsym(plugin, "print_lines");
    check(print_lines != NULL, "print_lines");
    if (strcmp(ending, "unused") != 0)
        print_lines("plugin", lines);
    if (strcmp(ending, "forks") == 0)
        fork_often(print_lines);
    check(dlclose(plugin) == 0, "dlclose");
    if (strcmp(ending, "unused") == 0)
        check(dlopen(object, RTLD_NOW | RTLD_NOLOAD) == NULL, "it is still there");
}

static void *thread(void *nothing)
{
    load_print_and_unload();
    return nothing;
}

static void *thread_after_main(void *main_thread)
{
    check(pthread_join(*(pthread_t *)main_thread, NULL) == 0, "pthread_join");
    load_print_and_unload();
    return NULL;
}

int main(int argc, char **argv)
{
    check(argc == 4, "host OBJECT ENDING LINES");
    object = argv[1];
    ending = argv[2];
    lines = atoi(argv[3]);
    if (strcmp(ending, "thread") == 0) {
        pthread_t other;
        check(pthread_create(&other, NULL, thread, NULL) == 0, "pthread_create");
        check(pthread_join(other, NULL) == 0, "pthread_join");
        return 0;
    }
    load_print_and_unload();
    if (strstr(ending, "main first")) {
        /* The others go on, and the last of them ends the process. */
        static pthread_t main_thread, other;
        main_thread = pthread_self();
        check(pthread_create(&other, NULL, thread_after_main, &main_thread) == 0, "pthread_create");
        pthread_exit(NULL);
    }
    if (strcmp(ending, "again") == 0) {
        load_print_and_unload();
        load_print_and_unload();
    }
    if (strcmp(ending, "fork") == 0 || strcmp(ending, "unused") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0);
        int status;
        check(waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    if (strcmp(ending, "SIGTERM") == 0) {
        raise(SIGTERM);
        for (;;)
            pause();
    }
    if (strcmp(ending, "abort") == 0)
        abort();
    return 0;
}
