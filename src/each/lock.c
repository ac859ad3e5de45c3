/* lock.c - one process for each item, by names that only one process can make.
 *
 * The lock of an item is the name ID.lock, a hard link to the journal of the process that holds it. If that process has
 * died, another one takes the item over by a second name, which contains the nonce of the dead process: ID.NONCE.lock.
 * A further process continues the chain in the same way. The process at the end of the chain that begins with ID.lock
 * holds the item, and only it removes ID.lock, before the other names of the chain.
 *
 * No name is ever replaced, and a process removes the lock of another one only when it holds the item itself. So a
 * process that found another one dead, and is slow to act on it, cannot remove a lock that is newer than what it saw:
 * docs/design/031-farm.md has the argument.
 */
#include "each/each.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_CAP = 64 };

/* The name of an item's lock; after != 0: of the process that follows the dead process of that nonce. */
static const char *lock_name(char out[NAME_CAP], uint64_t id, uint64_t after)
{
    int n = snprintf(out, NAME_CAP, "%016llx", (unsigned long long)id);
    snprintf(out + n, (size_t)(NAME_CAP - n), after ? ".%016llx.lock" : ".lock", (unsigned long long)after);
    return out;
}

/* Gives this process the name. False, with errno: EEXIST = another process has it. */
static bool link_own(const wf__each_journal *j, const char *name)
{
    wf__file_info own, named;
    if (wf__link(j->dir, j->own_name, name))
        return true;
    int error = errno;
    /* on NFS the link may have been made although the answer was lost */
    if (wf__fd_info(j->own, &own) && wf__path_info(j->dir, name, &named) && own.device == named.device &&
        own.number == named.number)
        return true;
    errno = error;
    return false;
}

/* Follows the chain of an item to its end. The last owner is *top; depth 0: there is no chain. False: errno. */
static bool follow(const wf__each_journal *j, wf__each_lock *lock, wf__each_owner *top, int64_t *mtime)
{
    char name[NAME_CAP];
    lock->depth = 0;
    while (lock->depth < WF__EACH_CHAIN) {
        uint64_t after = lock->depth ? lock->chain[lock->depth - 1] : 0;
        wf__each_owner owner;
        if (!wf__journal_owner(j, lock_name(name, lock->id, after), &owner, mtime))
            return errno == ENOENT || errno == ESTALE;
        *top = owner;
        if (owner.nonce == 0) { /* damaged: no process can follow it */
            errno = EIO;
            return false;
        }
        lock->chain[lock->depth++] = owner.nonce;
    }
    errno = ELOOP;
    return false;
}

wf__each_claim wf__lock_take(const wf__each_journal *j, uint64_t id, wf__each_lock *out)
{
    enum { ATTEMPTS = 64 };
    char name[NAME_CAP];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        wf__each_owner top = { 0 }, last = { 0 };
        int64_t mtime = 0;
        *out = (wf__each_lock){ .id = id };
        if (!follow(j, out, &top, &mtime))
            return WF__EACH_ERROR;
        uint64_t after = 0;
        if (out->depth > 0) {
            if (top.nonce == j->owner.nonce) { /* a lock that this process could not remove */
                out->depth--;
                return WF__EACH_MINE;
            }
            if (!wf__journal_is_dead(j, &top, mtime, j->patience))
                return WF__EACH_TAKEN;
            after = top.nonce;
        }
        if (!link_own(j, lock_name(name, id, after))) {
            if (errno == EEXIST)
                continue;
            return WF__EACH_ERROR;
        }
        if (after == 0)
            return WF__EACH_MINE;
        /* The chain may have ended between the look at it and the link, which then is no part of any chain. */
        wf__each_lock again = { .id = id };
        if (follow(j, &again, &last, &mtime) && again.depth == out->depth + 1 && last.nonce == j->owner.nonce)
            return WF__EACH_MINE;
        wf__unlink(j->dir, name);
    }
    return WF__EACH_TAKEN;
}

void wf__lock_release(const wf__each_journal *j, const wf__each_lock *lock)
{
    char name[NAME_CAP];
    wf__each_owner owner;
    int64_t mtime;
    uint64_t first = lock->depth ? lock->chain[0] : j->owner.nonce;
    /* A process that was silent for too long may have lost the item; its followers then remove the chain. */
    if (wf__journal_owner(j, lock_name(name, lock->id, j->owner.nonce), &owner, &mtime) ||
        !wf__journal_owner(j, lock_name(name, lock->id, 0), &owner, &mtime) || owner.nonce != first)
        return;
    wf__unlink(j->dir, name);
    for (int k = 0; k < lock->depth; k++)
        wf__unlink(j->dir, lock_name(name, lock->id, lock->chain[k]));
}

/* Removes a lock whose process has ended. ID.lock is removed by taking the item over and releasing it. A further name is
 * removed if there is no ID.lock: it is in no chain then, and in none later, as the process that it follows has ended. */
static bool clean_one(void *user, const wf__dir_entry *entry)
{
    const wf__each_journal *j = user;
    enum { DIGITS = 16 };
    char *end, name[NAME_CAP];
    wf__each_lock lock;
    wf__each_owner owner;
    int64_t mtime;
    uint64_t id = strtoull(entry->name, &end, 16);
    if (end != entry->name + DIGITS || !entry->regular)
        return true;
    bool base = strcmp(end, ".lock") == 0;
    if ((!base && strlen(end) != strlen(".0123456789abcdef.lock")) ||
        !wf__journal_owner(j, entry->name, &owner, &mtime) || owner.nonce == j->owner.nonce ||
        !wf__journal_is_dead(j, &owner, mtime, j->patience))
        return true;
    if (base && wf__lock_take(j, id, &lock) == WF__EACH_MINE)
        wf__lock_release(j, &lock);
    else if (!base && !wf__journal_owner(j, lock_name(name, id, 0), &owner, &mtime) && errno == ENOENT)
        wf__unlink(j->dir, entry->name);
    return true;
}

void wf__lock_clean(const wf__each_journal *j) { wf__dir_list(j->dir, clean_one, (void *)(uintptr_t)j); }
