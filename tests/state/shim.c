/* Ends the process at its n-th call that changes a file or sends something: before the call, after it, or in its middle; or lets
   the call fail. Loaded with LD_PRELOAD; `shim_arm` begins to count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

enum { BEFORE, AFTER, TORN, FAILS_IO, FAILS_SPACE };

static long left = 0;
static int how = BEFORE;

void shim_arm(long n, int mode) { how = mode; left = n; }
long shim_left(void) { return left; }

static int due(void) { return left > 0 && __sync_sub_and_fetch(&left, 1) == 0; }
static void end(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define REAL(name, type) static type real; if (!real) real = (type)dlsym(RTLD_NEXT, name)

#define WRITING(name, count, declared, torn, all)                                   \
  if (count > 1 && due()) {                                                         \
    if (how == FAILS_IO || how == FAILS_SPACE) {                                    \
      errno = how == FAILS_IO ? EIO : ENOSPC; return -1; }                          \
    if (how == TORN) torn;                                                          \
    if (how == AFTER) all;                                                          \
    end();                                                                          \
  }                                                                                 \
  return all

typedef ssize_t (*write_t)(int, const void *, size_t);
ssize_t write(int fd, const void *data, size_t n) {
  REAL("write", write_t);
  if (fd == 2) return real(fd, data, n);
  WRITING("write", n, write_t, real(fd, data, n / 2), real(fd, data, n));
}
typedef ssize_t (*pwrite_t)(int, const void *, size_t, off_t);
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
  REAL("pwrite", pwrite_t);
  WRITING("pwrite", n, pwrite_t, real(fd, data, n / 2, at), real(fd, data, n, at));
}
typedef ssize_t (*pwrite64_t)(int, const void *, size_t, off64_t);
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
  REAL("pwrite64", pwrite64_t);
  WRITING("pwrite64", n, pwrite64_t, real(fd, data, n / 2, at), real(fd, data, n, at));
}
typedef ssize_t (*send_t)(int, const void *, size_t, int);
ssize_t send(int fd, const void *data, size_t n, int flags) {
  REAL("send", send_t);
  if (how == FAILS_IO || how == FAILS_SPACE) return real(fd, data, n, flags);
  WRITING("send", n, send_t, real(fd, data, n / 2, flags), real(fd, data, n, flags));
}

#define CALL(name, arguments, call, declared)                                       \
  int name arguments {                                                              \
    typedef int (*type) declared;                                                   \
    REAL(#name, type);                                                              \
    if (due()) {                                                                    \
      if (how == FAILS_IO || how == FAILS_SPACE) {                                  \
        errno = how == FAILS_IO ? EIO : ENOSPC; return -1; }                        \
      if (how == AFTER) real call;                                                  \
      end();                                                                        \
    }                                                                               \
    return real call;                                                               \
  }

CALL(fsync, (int fd), (fd), (int))
CALL(fdatasync, (int fd), (fd), (int))
CALL(ftruncate, (int fd, off_t n), (fd, n), (int, off_t))
CALL(ftruncate64, (int fd, off64_t n), (fd, n), (int, off64_t))
CALL(rename, (const char *a, const char *b), (a, b), (const char *, const char *))
CALL(unlink, (const char *a), (a), (const char *))
