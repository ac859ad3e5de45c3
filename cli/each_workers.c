/* each_workers.c - the processes of weft each: starts them, gives them items, shows progress, and ends them.
 *
 * The command forks its workers before it has a context, so it has one thread. What they share is a board in memory: the
 * number of the next item, and the mark of each. A worker that is free takes the next item. If a worker dies, its item
 * has failed and another worker takes its place. The workers end by themselves when their parent has ended.
 */
#include "each.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_ITEM = 0 };

typedef struct board {
    atomic_size_t next;   /* number of the next one in `open` */
    atomic_bool stop;     /* no further items are begun */
    atomic_ullong bytes;  /* inputs of items done */
    atomic_size_t marked; /* items that have a mark */
    atomic_size_t failed;
} board;

/* The one crew of this process, for its signal handlers and callbacks. */
static struct {
    board *board;
    atomic_size_t *place_of; /* in `open`, plus 1: of the item that each worker does; NO_ITEM = none */
    atomic_uchar *mark;      /* of each one in `open` */
    size_t *place;           /* in `open`, of each item */
    int number;              /* of this worker */
    pid_t parent;
    bool terminal;
} here;

static volatile sig_atomic_t caught, caught_again;

static void on_signal(int number)
{
    caught_again = caught != 0;
    caught = number;
}

static void on_child(int number) { (void)number; }

/* ---- in a worker ---- */

static bool orphaned(void) { return getppid() != here.parent; }

bool crew_poll(void *user)
{
    (void)user;
    return caught || orphaned();
}

int crew_number(void) { return here.number; }

bool crew_stop(void *user)
{
    (void)user;
    return caught || orphaned() || atomic_load(&here.board->stop);
}

/* Asks the system to read the inputs of an item that a worker will take soon. */
static void read_ahead(const wf_each_item *item)
{
#ifdef POSIX_FADV_WILLNEED
    for (size_t k = 0; k < item->input_count; k++) {
        int fd = open(item->inputs[k], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0) {
            posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
            close(fd);
        }
    }
#else
    (void)item;
#endif
}

bool crew_next(void *user, size_t *item)
{
    const crew *c = user;
    size_t at;
    do {
        at = atomic_fetch_add(&here.board->next, 1);
        if (at >= c->opens)
            return false;
    } while (atomic_load(&here.mark[at]) != MARK_OPEN); /* in the first round all are open */
    *item = c->open[at];
    if (c->opens - at > (size_t)c->jobs)
        read_ahead(&c->items[c->open[at + (size_t)c->jobs]]);
    return true;
}

/* Prints a message in one piece, as several processes do. */
static void say(char *text)
{
    const char *clear = here.terminal ? "\r\033[K" : "";
    char *line = append(NULL, "%sweft each: %s\n", clear, text);
    fputs(line, stderr);
    free(line);
    free(text);
}

static void set_mark(size_t place, mark m)
{
    atomic_store(&here.mark[place], (unsigned char)m);
    atomic_fetch_add(&here.board->marked, 1);
    if (m == MARK_FAILED)
        atomic_fetch_add(&here.board->failed, 1);
}

void crew_report(void *user, const wf_each_report *r)
{
    const crew *c = user;
    size_t place = here.place[r->item];
    switch (r->event) {
    case WF_EACH_STARTED:
        atomic_store(&here.place_of[here.number], place + 1);
        return;
    case WF_EACH_FINISHED:
        atomic_fetch_add(&here.board->bytes, r->bytes);
        set_mark(place, MARK_DONE);
        break;
    case WF_EACH_SKIPPED:
        set_mark(place, MARK_SKIPPED);
        break;
    case WF_EACH_BUSY:
        set_mark(place, MARK_BUSY);
        break;
    case WF_EACH_FAILED: {
        const char *name = c->items[r->item].name;
        bool named = strncmp(r->message, name, strlen(name)) == 0;
        set_mark(place, MARK_FAILED);
        if (c->strict || r->status == WF_ERR_SYNTAX)
            atomic_store(&here.board->stop, true);
        say(append(NULL, "%s%s%s", named ? "" : name, named ? "" : ": ", r->message));
        break;
    }
    }
    atomic_store(&here.place_of[here.number], NO_ITEM);
}

/* ---- in the parent ---- */

/* Leaves signals ignored that were ignored when the command began, as by nohup. */
static void catch_signal(int signal, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler }, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, NULL, &old) != 0 || old.sa_handler != SIG_IGN || signal == SIGCHLD)
        sigaction(signal, &action, NULL);
}

/* Signals that the parent waits for are blocked elsewhere, so that none is lost between a test and the wait. */
static void waited_for(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGCHLD);
}

/* Starts the worker of that number. */
static bool start(crew *c, pid_t *worker, int number)
{
    sigset_t set;
    fflush(NULL);
    atomic_store(&here.place_of[number], NO_ITEM);
    pid_t process = fork();
    if (process < 0)
        return false;
    if (process == 0) {
        here.number = number;
        waited_for(&set);
        catch_signal(SIGCHLD, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        int result = c->work(c->user);
        fflush(NULL);
        _exit(result);
    }
    worker[number] = process;
    return true;
}

const char *three_digits(double v, char buf[static NUMBER_CAP])
{
    snprintf(buf, NUMBER_CAP, "%.*f", v < 1 ? 3 : v < 10 ? 2 : v < 100 ? 1 : 0, v);
    return buf;
}

static void show_progress(const crew *c, double elapsed)
{
    size_t marked = atomic_load(&here.board->marked), bad = atomic_load(&here.board->failed);
    double rate = elapsed > 0 ? (double)marked / elapsed : 0, left = rate > 0 ? (double)(c->opens - marked) / rate : 0;
    char text[NUMBER_CAP];
    fprintf(stderr, "%s%zu of %zu", here.terminal ? "\r\033[K" : "weft each: ", marked, c->opens);
    if (bad)
        fprintf(stderr, ", %zu failed", bad);
    if (marked)
        fprintf(stderr, ", %s files/s, about %.0f s left", three_digits(rate, text), left);
    fputs(here.terminal ? " " : "\n", stderr);
    fflush(stderr);
}

/* Notes how a worker ended, which may have been in the middle of an item. */
static void note_end(crew *c, int number, int status)
{
    size_t place = atomic_exchange(&here.place_of[number], NO_ITEM);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK)
        return;
    if (WIFEXITED(status)) { /* after a message */
        c->broken = true;
        atomic_store(&here.board->stop, true);
        return;
    }
    int signal = WTERMSIG(status);
    if (caught_again)
        return; /* send_to_all has killed it */
    if (place == NO_ITEM) {
        say(append(NULL, "a worker was ended by signal %d (%s)", signal, strsignal(signal)));
        if (++c->idle_deaths > c->jobs) { /* workers die before they begin an item */
            c->broken = true;
            atomic_store(&here.board->stop, true);
        }
        return;
    }
    set_mark(place - 1, MARK_FAILED);
    if (c->strict)
        atomic_store(&here.board->stop, true);
    say(append(NULL, "%s: its worker was ended by signal %d (%s)", c->items[c->open[place - 1]].name, signal,
               strsignal(signal)));
}

static void send_to_all(const crew *c, const pid_t *worker, int signal)
{
    for (int i = 0; i < c->jobs; i++)
        if (worker[i])
            kill(worker[i], signal);
}

/* Takes note of the workers that have ended, and starts others for those that died. Returns how many run. */
static int reap(crew *c, pid_t *worker, int running)
{
    int status;
    pid_t process;
    while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
        int number = 0;
        while (number < c->jobs && worker[number] != process)
            number++;
        if (number == c->jobs)
            continue;
        worker[number] = 0;
        running--;
        note_end(c, number, status);
        bool more = atomic_load(&here.board->next) < c->opens && !atomic_load(&here.board->stop) && !caught;
        if (WIFSIGNALED(status) && more && start(c, worker, number))
            running++;
    }
    return running;
}

/* Starts the workers, and waits until all have ended. */
static void run_round(crew *c, pid_t *worker, double begin)
{
    const double every = here.terminal ? 0.2 : 10;
    double shown = seconds();
    int running = 0;
    bool sent = false, visible = false;
    sigset_t set, open;
    waited_for(&set);
    sigprocmask(SIG_SETMASK, NULL, &open);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&set, i) == 1)
            sigdelset(&open, i);
    atomic_store(&here.board->next, 0);
    for (int i = 0; i < c->jobs; i++)
        running += start(c, worker, i);
    if (running == 0)
        c->broken = failed("cannot start a process: %s", strerror(errno)) != EXIT_OK;
    while ((running = reap(c, worker, running)) > 0) {
        if (caught_again) {
            send_to_all(c, worker, SIGKILL);
        } else if (caught && !sent) {
            sent = true;
            send_to_all(c, worker, (int)caught);
        }
        if (!c->quiet && seconds() - shown >= every) {
            shown = seconds();
            show_progress(c, shown - begin);
            visible = here.terminal;
        }
        struct timespec wait = { .tv_sec = here.terminal ? 0 : 1, .tv_nsec = here.terminal ? 200000000 : 0 };
        pselect(0, NULL, NULL, NULL, &wait, &open);
    }
    if (visible)
        fputs("\r\033[K", stderr);
}

int run_crew(crew *c)
{
    size_t bytes = sizeof(board) + (size_t)c->jobs * sizeof(atomic_size_t) + c->opens * sizeof(atomic_uchar);
    board *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return failed("no memory for %zu items", c->opens);
    here.board = shared;
    here.place_of = (atomic_size_t *)(shared + 1);
    here.mark = (atomic_uchar *)(here.place_of + c->jobs);
    here.parent = getpid();
    here.terminal = isatty(STDERR_FILENO);
    here.place = allocate(c->open[c->opens - 1] + 1, sizeof *here.place);
    for (size_t i = 0; i < c->opens; i++)
        here.place[c->open[i]] = i;
    pid_t *worker = allocate((size_t)c->jobs, sizeof *worker);
    sigset_t set, old;
    waited_for(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    catch_signal(SIGINT, on_signal);
    catch_signal(SIGTERM, on_signal);
    catch_signal(SIGHUP, on_signal);
    catch_signal(SIGCHLD, on_child);
    double begin = seconds();
    /* A worker that died may have taken items that it had not begun: further rounds do them. */
    enum { MOST_IDLE = 3 }; /* rounds without any item done */
    for (int idle = 0; idle < MOST_IDLE;) {
        size_t before = atomic_load(&shared->marked);
        run_round(c, worker, begin);
        if (c->broken || caught || atomic_load(&shared->stop) || atomic_load(&shared->marked) == c->opens)
            break;
        idle = atomic_load(&shared->marked) > before ? 0 : idle + 1;
    }
    c->seconds = seconds() - begin;
    c->signal = (int)caught;
    c->bytes = atomic_load(&shared->bytes);
    for (size_t i = 0; i < c->opens; i++)
        c->mark[i] = (mark)atomic_load(&here.mark[i]);
    catch_signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    free(worker);
    free(here.place);
    munmap(shared, bytes);
    return EXIT_OK;
}
