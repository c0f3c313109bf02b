/*
 * Counts the points of a process at which it changes a file or uses a connection, and injects one
 * fault: a kill, a torn write, a full disk, a cut connection, or a stop. Loaded with LD_PRELOAD, so
 * that native libraries are seen too. Nothing happens before `fault_arm` is called, and nothing
 * outside its folder: other files are not counted.
 *
 * A point is before a call. A change is after one that succeeded and that others may notice when the
 * process is dead: of a file, or something sent. Kills are numbered by changes. Where writes are torn,
 * a change is the first half of a write to a file, which is then completed, and nothing else.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { OFF, COUNT, KILL, TEAR, FULL, CUT, STOP, STEP, STEP_TEAR, TRACE };
enum kind { CHANGE, GROWTH, SOCKET };
enum verdict { UNSEEN, PASS, FAIL };

static enum action action = OFF;
static long target;
static int log_fd = -1;
static char root[PATH_MAX];
static size_t root_length;
static char excluded[PATH_MAX];
static atomic_long points;
static atomic_long changes;

/* On a full disk the last write of the shadow file, which is no page, and the record that commits a
 * merge of the embedded graph's log succeed: if one of them fails, the database aborts the process. */
static int aborts(const char *place, size_t size)
{
    static const char *const ends[] = {".wal.checkpoint", ".shadow"};
    size_t length = strlen(place);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (size > 0 && size < 4096 && length >= end && strcmp(place + length - end, ends[i]) == 0)
            return 1;
    }
    return 0;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

/* Arm the process: files below `folder` count, but for those whose path goes on with `without`; `n`
 * is the point of the fault, or the change after which the process dies; a line per point and change
 * is written to `log` unless it is -1. */
void fault_arm(int what, const char *folder, const char *without, long n, int log)
{
    snprintf(excluded, sizeof excluded, "%s", without);
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    target = n;
    log_fd = log;
    atomic_store(&points, 0);
    atomic_store(&changes, 0);
    /* A process that is stopped must not outlive the program that would continue it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    action = what;
}

void fault_disarm(void) { action = OFF; }

/* End the process as a kill from outside does: no code of it runs again. */
static void die(void) { kill(getpid(), SIGKILL); }

static void note(const char *name, const char *place, const char *data, size_t size)
{
    char line[PATH_MAX + 512];
    int length = snprintf(line, PATH_MAX + 64, "%s %s ", name, place);
    for (size_t i = 0; data && i < size && i < 400; i++)
        line[length++] = data[i] >= ' ' && data[i] <= '~' ? data[i] : '.';
    line[length++] = '\n';
    syscall(SYS_write, log_fd, line, length);
}

static enum verdict point(enum kind kind, const char *name, const char *place, const char *data, size_t size)
{
    long n = atomic_fetch_add(&points, 1) + 1;
    if (log_fd >= 0)
        note(name, place, data, size);
    if (action == KILL && target == 0)
        die();
    if (n == target && action == STOP)
        kill(getpid(), SIGSTOP);
    if (n >= target && action == FULL && kind == GROWTH && !aborts(place, size)) {
        errno = ENOSPC;
        return FAIL;
    }
    if (n == target && action == CUT && kind == SOCKET) {
        errno = ECONNRESET;
        return FAIL;
    }
    return PASS;
}

static int tears(void) { return action == TEAR || action == STEP_TEAR; }

/* Note that a call changed what outlives the process. */
static void changed(void)
{
    long n = atomic_fetch_add(&changes, 1) + 1;
    int saved = errno;
    if (log_fd >= 0)
        note("changed", "", NULL, 0);
    if (n == target && (action == KILL || action == TEAR))
        die();
    if (action == STEP || action == STEP_TEAR)
        raise(SIGSTOP);
    errno = saved;
}

/* A point of the program itself, such as a step of a task. */
void fault_point(const char *name)
{
    if (action != OFF)
        point(CHANGE, name, "", NULL, 0);
}

static int counts(const char *path)
{
    return strncmp(path, root, root_length) == 0
        && (!excluded[0] || strncmp(path + root_length, excluded, strlen(excluded)) != 0);
}

/* The path of an open file; return whether it counts. */
static int opened(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return counts(path);
}

static int below(int folder, const char *name, char *path)
{
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return counts(path);
    }
    if (folder == AT_FDCWD ? !getcwd(path, PATH_MAX) : !opened(folder, path))
        return 0;
    size_t length = strlen(path);
    snprintf(path + length, PATH_MAX - length, "/%s", name);
    return counts(path);
}

static enum verdict at_path(enum kind kind, const char *name, int folder, const char *file)
{
    char path[PATH_MAX];
    int saved = errno;
    if (action == OFF || !below(folder, file, path))
        return UNSEEN;
    errno = saved;
    return point(kind, name, path + root_length, NULL, 0);
}

static enum verdict at_file(enum kind kind, const char *name, int fd, size_t size)
{
    char path[PATH_MAX];
    int saved = errno;
    if (action == OFF || !opened(fd, path))
        return UNSEEN;
    errno = saved;
    return point(kind, name, path + root_length, NULL, size);
}

/* A call on part of a file: traced with its offset and size. */
static enum verdict at_part(enum kind kind, const char *name, int fd, size_t size, off_t at)
{
    char path[PATH_MAX], part[64];
    if (action != TRACE)
        return at_file(kind, name, fd, size);
    int saved = errno;
    int is_seen = opened(fd, path);
    errno = saved;
    if (!is_seen)
        return UNSEEN;
    int length = snprintf(part, sizeof part, "%lld %zu", (long long)at, size);
    return point(kind, name, path + root_length, part, length);
}

static enum verdict at_socket(const char *name, int fd, const char *data, size_t size)
{
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    char place[32];
    int saved = errno;
    if (action == OFF)
        return UNSEEN;
    int is_tcp = getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET;
    errno = saved;
    if (!is_tcp)
        return UNSEEN;
    snprintf(place, sizeof place, "port-%d", ntohs(peer.sin_port));
    enum verdict verdict = point(SOCKET, name, place, data, size);
    if (verdict == FAIL) {
        shutdown(fd, SHUT_RDWR);
        errno = ECONNRESET;
    }
    return verdict;
}

/* Return the result of a call, which changed something if it is `least` or more. */
static ssize_t done(enum verdict verdict, ssize_t result, ssize_t least)
{
    if (verdict != UNSEEN && result >= least && !tears())
        changed();
    return result;
}

#define PATH_CALL(name, kind, parameters, arguments, folder, file) \
    int name parameters \
    { \
        REAL(int, #name, PARAMETERS parameters); \
        enum verdict verdict = at_path(kind, #name, folder, file); \
        return verdict == FAIL ? -1 : (int)done(verdict, real arguments, 0); \
    }
#define PARAMETERS(...) __VA_ARGS__

PATH_CALL(rename, CHANGE, (const char *from, const char *to), (from, to), AT_FDCWD, to)
PATH_CALL(renameat, CHANGE, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to)
PATH_CALL(renameat2, CHANGE, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), b, to)
PATH_CALL(link, GROWTH, (const char *from, const char *to), (from, to), AT_FDCWD, to)
PATH_CALL(symlink, GROWTH, (const char *from, const char *to), (from, to), AT_FDCWD, to)
PATH_CALL(unlink, CHANGE, (const char *file), (file), AT_FDCWD, file)
PATH_CALL(unlinkat, CHANGE, (int folder, const char *file, int flags), (folder, file, flags), folder, file)
PATH_CALL(remove, CHANGE, (const char *file), (file), AT_FDCWD, file)
PATH_CALL(rmdir, CHANGE, (const char *file), (file), AT_FDCWD, file)
PATH_CALL(mkdir, GROWTH, (const char *file, mode_t mode), (file, mode), AT_FDCWD, file)
PATH_CALL(mkdirat, GROWTH, (int folder, const char *file, mode_t mode), (folder, file, mode), folder, file)
PATH_CALL(chmod, CHANGE, (const char *file, mode_t mode), (file, mode), AT_FDCWD, file)
PATH_CALL(fchmodat, CHANGE, (int folder, const char *file, mode_t mode, int flags), (folder, file, mode, flags), folder, file)
PATH_CALL(truncate, CHANGE, (const char *file, off_t size), (file, size), AT_FDCWD, file)
PATH_CALL(truncate64, CHANGE, (const char *file, off64_t size), (file, size), AT_FDCWD, file)

#define FILE_CALL(name, kind, parameters, arguments) \
    int name parameters \
    { \
        REAL(int, #name, PARAMETERS parameters); \
        enum verdict verdict = at_file(kind, #name, fd, 0); \
        return verdict == FAIL ? -1 : (int)done(verdict, real arguments, 0); \
    }

/* What is written is seen by all processes, also before it is on the disk. */
#define SYNC_CALL(name) \
    int name(int fd) \
    { \
        REAL(int, #name, int); \
        return at_file(CHANGE, #name, fd, 0) == FAIL ? -1 : real(fd); \
    }

SYNC_CALL(fsync)
SYNC_CALL(fdatasync)
FILE_CALL(ftruncate, CHANGE, (int fd, off_t size), (fd, size))
FILE_CALL(ftruncate64, CHANGE, (int fd, off64_t size), (fd, size))
FILE_CALL(fallocate, GROWTH, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
FILE_CALL(fallocate64, GROWTH, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))
FILE_CALL(fchmod, CHANGE, (int fd, mode_t mode), (fd, mode))

int posix_fallocate(int fd, off_t at, off_t size)
{
    REAL(int, "posix_fallocate", int, off_t, off_t);
    enum verdict verdict = at_file(GROWTH, "posix_fallocate", fd, 0);
    return verdict == FAIL ? ENOSPC : -(int)done(verdict, -real(fd, at, size), 0);
}

int posix_fallocate64(int fd, off64_t at, off64_t size)
{
    REAL(int, "posix_fallocate64", int, off64_t, off64_t);
    enum verdict verdict = at_file(GROWTH, "posix_fallocate64", fd, 0);
    return verdict == FAIL ? ENOSPC : -(int)done(verdict, -real(fd, at, size), 0);
}

/* A write at a place of the file: its first half, and then all of it. */
#define WRITE_CALL(name, parameters, size, arguments, half) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, #name, PARAMETERS parameters); \
        enum verdict verdict = at_part(GROWTH, #name, fd, size, at); \
        if (verdict == FAIL) \
            return -1; \
        if (verdict == PASS && tears() && real half >= 0) \
            changed(); \
        return done(verdict, real arguments, 1); \
    }

WRITE_CALL(pwrite, (int fd, const void *data, size_t size, off_t at), size, (fd, data, size, at), (fd, data, size / 2, at))
WRITE_CALL(pwrite64, (int fd, const void *data, size_t size, off64_t at), size, (fd, data, size, at), (fd, data, size / 2, at))
WRITE_CALL(pwritev, (int fd, const struct iovec *parts, int number, off_t at), 0, (fd, parts, number, at), (fd, parts, number / 2, at))
WRITE_CALL(pwritev64, (int fd, const struct iovec *parts, int number, off64_t at), 0, (fd, parts, number, at), (fd, parts, number / 2, at))

/* A read at a place of the file is a point only in a trace. */
#define READ_CALL(name, type) \
    ssize_t name(int fd, void *data, size_t size, type at) \
    { \
        REAL(ssize_t, #name, int, void *, size_t, type); \
        if (action == TRACE) \
            at_part(CHANGE, #name, fd, size, at); \
        return real(fd, data, size, at); \
    }

READ_CALL(pread, off_t)
READ_CALL(pread64, off64_t)

/* Write the first half; return its size. */
static ssize_t torn(ssize_t (*real)(int, const void *, size_t), int fd, const void *data, size_t size)
{
    ssize_t half = real(fd, data, size / 2);
    if (half < 0)
        return 0;
    changed();
    return half;
}

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    enum verdict verdict = at_file(GROWTH, "write", fd, 0);
    ssize_t half = verdict == PASS && tears() ? torn(real, fd, data, size) : 0;
    if (verdict == UNSEEN)
        verdict = at_socket("write", fd, data, size);
    if (verdict == FAIL)
        return -1;
    ssize_t rest = done(verdict, real(fd, (const char *)data + half, size - half), 1);
    return rest < 0 ? rest : half + rest;
}

ssize_t writev(int fd, const struct iovec *parts, int number)
{
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    enum verdict verdict = at_file(GROWTH, "writev", fd, 0);
    if (verdict == FAIL)
        return -1;
    ssize_t half = 0;
    if (verdict == PASS && tears() && number > 1) {
        half = real(fd, parts, 1);
        changed();
    }
    ssize_t rest = done(verdict, half > 0 ? real(fd, parts + 1, number - 1) : real(fd, parts, number), 1);
    return rest < 0 ? rest : half + rest;
}

ssize_t sendfile64(int fd, int from, off64_t *at, size_t size)
{
    REAL(ssize_t, "sendfile64", int, int, off64_t *, size_t);
    enum verdict verdict = at_file(GROWTH, "sendfile64", fd, 0);
    return verdict == FAIL ? -1 : done(verdict, real(fd, from, at, size), 1);
}

ssize_t copy_file_range(int from, off64_t *a, int fd, off64_t *b, size_t size, unsigned flags)
{
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    enum verdict verdict = at_file(GROWTH, "copy_file_range", fd, 0);
    return verdict == FAIL ? -1 : done(verdict, real(from, a, fd, b, size, flags), 1);
}

static int writes(int flags) { return flags & (O_CREAT | O_TRUNC); }

/* Whether opening the file with these flags creates or empties it. */
static int alters(int folder, const char *file, int flags)
{
    struct stat found;
    int saved = errno;
    int exists = fstatat(folder, file, &found, AT_SYMLINK_NOFOLLOW) == 0;
    errno = saved;
    return exists ? (flags & O_TRUNC) && found.st_size > 0 : flags & O_CREAT;
}

#define OPEN_CALL(name, parameters, folder, arguments) \
    int name parameters \
    { \
        REAL(int, #name, PARAMETERS parameters); \
        mode_t mode = 0; \
        if (flags & O_CREAT) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        if (!writes(flags)) \
            return real arguments; \
        int is_altering = action != OFF && alters(folder, file, flags); \
        enum verdict verdict = at_path(GROWTH, #name, folder, file); \
        if (verdict == FAIL) \
            return -1; \
        return (int)done(is_altering ? verdict : UNSEEN, real arguments, 0); \
    }

OPEN_CALL(open, (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN_CALL(open64, (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN_CALL(openat, (int folder, const char *file, int flags, ...), folder, (folder, file, flags, mode))
OPEN_CALL(openat64, (int folder, const char *file, int flags, ...), folder, (folder, file, flags, mode))

#define SEND_CALL(name, parameters, data, size, arguments) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, #name, PARAMETERS parameters); \
        enum verdict verdict = at_socket(#name, fd, data, size); \
        return verdict == FAIL ? -1 : done(verdict, real arguments, 1); \
    }

SEND_CALL(send, (int fd, const void *data, size_t size, int flags), data, size, (fd, data, size, flags))
SEND_CALL(sendto, (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length), data, size, (fd, data, size, flags, to, length))
SEND_CALL(sendmsg, (int fd, const struct msghdr *message, int flags), message->msg_iov->iov_base, message->msg_iov->iov_len, (fd, message, flags))

#define RECEIVE_CALL(name, parameters, arguments) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, #name, PARAMETERS parameters); \
        return at_socket(#name, fd, "", 0) == FAIL ? -1 : real arguments; \
    }

RECEIVE_CALL(recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
RECEIVE_CALL(recvfrom, (int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length), (fd, data, size, flags, from, length))
RECEIVE_CALL(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
