/* test_once.c - objects that several threads want at once: waiting for the one that makes it, failures, forks.
 *
 * ctest: threads
 */
#include "weft_test.h"
#include "base/os.h"
#include "run/cache/once.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 1000 };
static char object_text[] = "object";

static wf__str str_of(const char *text)
{
    wf__str s = { 0 };
    wf__str_add(&s, text);
    return s;
}

typedef struct wanted {
    wf__str key;
    bool from_other; /* the object is the one that the other thread made */
} wanted;

static void *want(void *user)
{
    wanted *w = user;
    wf__once *once = wf__once_begin(&w->key);
    const wf__str *made = wf__once_made(once);
    w->from_other = made && made->len == strlen(object_text) && !memcmp(made->at, object_text, made->len);
    assert_true(!made || w->from_other);
    wf__str own = { 0 };
    if (!made)
        own = str_of("another object");
    wf__once_end(once, &own);
    wf__str_free(&own);
    return NULL;
}

/* Makes the object, or fails to, while a second thread wants it. */
static bool other_gets(const char *made)
{
    wanted w = { .key = str_of("key") };
    wf__str key = str_of("key"), object = str_of(made);
    pthread_t thread;
    wf__once *once = wf__once_begin(&key);
    assert_non_null(once);
    assert_null(wf__once_made(once));
    assert_int_equal(pthread_create(&thread, NULL, want, &w), 0);
    wf__sleep(1e-3);
    wf__once_end(once, &object);
    assert_int_equal(pthread_join(thread, NULL), 0);
    wf__str_free(&object);
    wf__str_free(&key);
    wf__str_free(&w.key);
    return w.from_other;
}

static void test_waiting_thread_gets_the_object(void **state)
{
    (void)state;
    bool any = false; /* the second thread may come too late, and makes the object itself then */
    for (int round = 0; round < ROUNDS && !any; ++round)
        any = other_gets(object_text);
    assert_true(any);
}

static void test_waiting_thread_tries_after_a_failure(void **state)
{
    (void)state;
    for (int round = 0; round < 20; ++round)
        assert_false(other_gets(""));
}

static void test_other_keys_do_not_wait(void **state)
{
    (void)state;
    wf__str a = str_of("a"), b = str_of("ab"), none = { 0 };
    wf__once *first = wf__once_begin(&a), *second = wf__once_begin(&b);
    assert_true(first && second && first != second);
    assert_true(!wf__once_made(first) && !wf__once_made(second));
    wf__once_end(first, &none);
    first = wf__once_begin(&a); /* nothing is left of the entry before */
    assert_null(wf__once_made(first));
    assert_null(wf__once_begin(&a)); /* the same thread would wait for itself */
    wf__once_end(second, &none);
    wf__once_end(first, &none);
    wf__once_end(NULL, &none);
    wf__str_free(&a);
    wf__str_free(&b);
}

/* In the child no thread makes what the parent makes. */
static void test_fork(void **state)
{
    (void)state;
    wf__str key = str_of("key"), none = { 0 };
    wf__once *once = wf__once_begin(&key);
    assert_non_null(once);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        wf__once *own = wf__once_begin(&key);
        _exit(own && own != once && !wf__once_made(own) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    wf__once_end(once, &none);
    wf__str_free(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_thread_gets_the_object),
        cmocka_unit_test(test_waiting_thread_tries_after_a_failure),
        cmocka_unit_test(test_other_keys_do_not_wait),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
