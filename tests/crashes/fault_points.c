/*
 * Counts the points of a process at which it changes a file or uses a connection, and injects one
 * fault: a kill, a torn write, a full disk, a cut connection, or a stop. Loaded with LD_PRELOAD, so
 * that native libraries are seen too. Nothing happens before `fault_arm` is called, and nothing
 * outside its folder: other files are not counted.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { OFF, COUNT, KILL, TEAR, FULL, CUT, STOP };
enum kind { CHANGE, GROWTH, SOCKET };
enum verdict { PASS, TORN, FAIL };

static enum action action = OFF;
static long target;
static int log_fd = -1;
static char root[PATH_MAX];
static size_t root_length;
static char excluded[PATH_MAX];
static atomic_long points;

/* On a full disk these files can still be written: the database ends the process when it cannot merge
 * its log into the file, so that turnetl checks the space before. */
static int is_of_merge(const char *place)
{
    static const char *const ends[] = {"graph.lbug", ".rewritten", ".shadow", ".checkpoint"};
    size_t length = strlen(place);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        if (length >= size && strcmp(place + length - size, ends[i]) == 0)
            return 1;
    }
    return 0;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

/* Arm the process: files below `folder` count, but for those whose path goes on with `without`; `n`
 * is the point of the fault, and a line per point is written to `log` unless it is -1. */
void fault_arm(int what, const char *folder, const char *without, long n, int log)
{
    snprintf(excluded, sizeof excluded, "%s", without);
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    target = n;
    log_fd = log;
    atomic_store(&points, 0);
    action = what;
}

void fault_disarm(void) { action = OFF; }

long fault_count(void) { return atomic_load(&points); }

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
    if (n == target && (action == KILL || (action == TEAR && size < 2)))
        kill(getpid(), SIGKILL);
    if (n == target && action == STOP)
        kill(getpid(), SIGSTOP);
    if (n == target && action == TEAR)
        return TORN;
    if (n >= target && action == FULL && kind == GROWTH && !is_of_merge(place)) {
        errno = ENOSPC;
        return FAIL;
    }
    if (n == target && action == CUT && kind == SOCKET) {
        errno = ECONNRESET;
        return FAIL;
    }
    return PASS;
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
        return PASS;
    errno = saved;
    return point(kind, name, path + root_length, NULL, 0);
}

static enum verdict at_file(enum kind kind, const char *name, int fd, size_t size)
{
    char path[PATH_MAX];
    int saved = errno;
    if (action == OFF || !opened(fd, path))
        return PASS;
    errno = saved;
    return point(kind, name, path + root_length, NULL, size);
}

static enum verdict at_socket(const char *name, int fd, const char *data, size_t size)
{
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    char place[32];
    int saved = errno;
    if (action == OFF)
        return PASS;
    int is_tcp = getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET;
    errno = saved;
    if (!is_tcp)
        return PASS;
    snprintf(place, sizeof place, "port-%d", ntohs(peer.sin_port));
    enum verdict verdict = point(SOCKET, name, place, data, size);
    if (verdict == FAIL) {
        shutdown(fd, SHUT_RDWR);
        errno = ECONNRESET;
    }
    return verdict;
}

static void die(void) { kill(getpid(), SIGKILL); }

#define PATH_CALL(name, kind, parameters, arguments, folder, file) \
    int name parameters \
    { \
        REAL(int, #name, PARAMETERS parameters); \
        return at_path(kind, #name, folder, file) == FAIL ? -1 : real arguments; \
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
PATH_CALL(truncate, CHANGE, (const char *file, off_t size), (file, size), AT_FDCWD, file)
PATH_CALL(truncate64, CHANGE, (const char *file, off64_t size), (file, size), AT_FDCWD, file)

#define FILE_CALL(name, kind, parameters, arguments) \
    int name parameters \
    { \
        REAL(int, #name, PARAMETERS parameters); \
        return at_file(kind, #name, fd, 0) == FAIL ? -1 : real arguments; \
    }

FILE_CALL(fsync, CHANGE, (int fd), (fd))
FILE_CALL(fdatasync, CHANGE, (int fd), (fd))
FILE_CALL(ftruncate, CHANGE, (int fd, off_t size), (fd, size))
FILE_CALL(ftruncate64, CHANGE, (int fd, off64_t size), (fd, size))
FILE_CALL(fallocate, GROWTH, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
FILE_CALL(fallocate64, GROWTH, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))
FILE_CALL(fchmod, CHANGE, (int fd, mode_t mode), (fd, mode))

int posix_fallocate(int fd, off_t at, off_t size)
{
    REAL(int, "posix_fallocate", int, off_t, off_t);
    return at_file(GROWTH, "posix_fallocate", fd, 0) == FAIL ? ENOSPC : real(fd, at, size);
}

int posix_fallocate64(int fd, off64_t at, off64_t size)
{
    REAL(int, "posix_fallocate64", int, off64_t, off64_t);
    return at_file(GROWTH, "posix_fallocate64", fd, 0) == FAIL ? ENOSPC : real(fd, at, size);
}

#define WRITE_CALL(name, parameters, size, arguments, half) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, #name, PARAMETERS parameters); \
        enum verdict verdict = at_file(GROWTH, #name, fd, size); \
        if (verdict == FAIL) \
            return -1; \
        if (verdict == TORN) { \
            real half; \
            die(); \
        } \
        return real arguments; \
    }

WRITE_CALL(pwrite, (int fd, const void *data, size_t size, off_t at), size, (fd, data, size, at), (fd, data, size / 2, at))
WRITE_CALL(pwrite64, (int fd, const void *data, size_t size, off64_t at), size, (fd, data, size, at), (fd, data, size / 2, at))
WRITE_CALL(writev, (int fd, const struct iovec *parts, int number), (size_t)number, (fd, parts, number), (fd, parts, number / 2))
WRITE_CALL(pwritev, (int fd, const struct iovec *parts, int number, off_t at), (size_t)number, (fd, parts, number, at), (fd, parts, number / 2, at))
WRITE_CALL(pwritev64, (int fd, const struct iovec *parts, int number, off64_t at), (size_t)number, (fd, parts, number, at), (fd, parts, number / 2, at))

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    enum verdict verdict = at_file(GROWTH, "write", fd, size);
    if (verdict == PASS && at_socket("write", fd, data, size) == FAIL)
        return -1;
    if (verdict == FAIL)
        return -1;
    if (verdict == TORN) {
        real(fd, data, size / 2);
        die();
    }
    return real(fd, data, size);
}

ssize_t sendfile64(int fd, int from, off64_t *at, size_t size)
{
    REAL(ssize_t, "sendfile64", int, int, off64_t *, size_t);
    return at_file(GROWTH, "sendfile64", fd, 0) == FAIL ? -1 : real(fd, from, at, size);
}

ssize_t copy_file_range(int from, off64_t *a, int fd, off64_t *b, size_t size, unsigned flags)
{
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    return at_file(GROWTH, "copy_file_range", fd, 0) == FAIL ? -1 : real(from, a, fd, b, size, flags);
}

static int writes(int flags) { return flags & (O_CREAT | O_TRUNC); }

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
        if (writes(flags) && at_path(GROWTH, #name, folder, file) == FAIL) \
            return -1; \
        return real arguments; \
    }

OPEN_CALL(open, (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN_CALL(open64, (const char *file, int flags, ...), AT_FDCWD, (file, flags, mode))
OPEN_CALL(openat, (int folder, const char *file, int flags, ...), folder, (folder, file, flags, mode))
OPEN_CALL(openat64, (int folder, const char *file, int flags, ...), folder, (folder, file, flags, mode))

#define SOCKET_CALL(name, parameters, data, size, arguments) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, #name, PARAMETERS parameters); \
        return at_socket(#name, fd, data, size) == FAIL ? -1 : real arguments; \
    }

SOCKET_CALL(send, (int fd, const void *data, size_t size, int flags), data, size, (fd, data, size, flags))
SOCKET_CALL(sendto, (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length), data, size, (fd, data, size, flags, to, length))
SOCKET_CALL(sendmsg, (int fd, const struct msghdr *message, int flags), message->msg_iov->iov_base, message->msg_iov->iov_len, (fd, message, flags))
SOCKET_CALL(recv, (int fd, void *data, size_t size, int flags), "", 0, (fd, data, size, flags))
SOCKET_CALL(recvfrom, (int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length), "", 0, (fd, data, size, flags, from, length))
SOCKET_CALL(recvmsg, (int fd, struct msghdr *message, int flags), "", 0, (fd, message, flags))
