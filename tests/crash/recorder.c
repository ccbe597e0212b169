// LD_PRELOAD recorder: every change under $PLOG_DIR is appended to $PLOG_OUT, so a power cut can be replayed at any point.
// record: u8 op, u32 pathlen, path, u64 a, u32 datalen, data.  ops: W=write(a=offset) T=truncate(a=size) F=fsync C=create U=unlink R=rename(data=new path) D=fsync of a directory A=acknowledgement(data)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static char *fdpath[65536]; static int out = -1; static const char *dir; static size_t dl; static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static void init(void) { if (!dir) { dir = getenv("PLOG_DIR"); if (!dir) dir = "\1"; dl = strlen(dir); const char *o = getenv("PLOG_OUT"); if (o) out = syscall(SYS_openat, AT_FDCWD, o, O_WRONLY | O_CREAT | O_APPEND, 0600); } }
static void rec(char op, const char *p, uint64_t a, const void *d, uint32_t n) {
  if (out < 0) return; uint32_t pl = strlen(p); char h[4096 + 32]; size_t k = 0; h[k++] = op; memcpy(h + k, &pl, 4); k += 4; memcpy(h + k, p, pl); k += pl; memcpy(h + k, &a, 8); k += 8; memcpy(h + k, &n, 4); k += 4;
  struct iovec v[2] = {{h, k}, {(void *)d, n}}; syscall(SYS_writev, out, v, n ? 2 : 1); }
static int mine(const char *p) { init(); return p && !strncmp(p, dir, dl); }
#define REAL(n) static __typeof__(&n) r_##n; if (!r_##n) r_##n = dlsym(RTLD_NEXT, #n)
static int opened(int fd, const char *p, int fl, int existed) { if (fd >= 0 && fd < 65536) { char full[4096]; if (p[0] != '/') { if (!getcwd(full, 2000)) return fd; strcat(full, "/"); strncat(full, p, 1900); p = full; }
  pthread_mutex_lock(&mu); free(fdpath[fd]); fdpath[fd] = 0; if (mine(p)) { fdpath[fd] = strdup(p); if ((fl & O_CREAT) && !existed) rec('C', p, 0, 0, 0); if ((fl & O_TRUNC) && existed) rec('T', p, 0, 0, 0); } pthread_mutex_unlock(&mu); } return fd; }
static int ex(const char *p) { struct stat s; return !stat(p, &s); }
#define OPEN(NAME) int NAME(const char *p, int fl, ...) { REAL(NAME); mode_t m = 0; if (fl & (O_CREAT | O_TMPFILE)) { va_list ap; va_start(ap, fl); m = va_arg(ap, int); va_end(ap); } int e = ex(p); return opened(r_##NAME(p, fl, m), p, fl, e); }
OPEN(open) OPEN(open64)
#define W(NAME, OFF) ssize_t NAME(int fd, const void *b, size_t n, OFF o) { REAL(NAME); char *p = fd >= 0 && fd < 65536 ? fdpath[fd] : 0; if (p) pthread_mutex_lock(&mu); ssize_t r = r_##NAME(fd, b, n, o); if (p) { if (r > 0) rec('W', p, o, b, r); pthread_mutex_unlock(&mu); } return r; }
W(pwrite, off_t) W(pwrite64, off64_t)
ssize_t write(int fd, const void *b, size_t n) { REAL(write); init(); if (fd == 199) { pthread_mutex_lock(&mu); rec('A', "", 0, b, n); pthread_mutex_unlock(&mu); return n; }
  char *p = fd >= 0 && fd < 65536 ? fdpath[fd] : 0; if (!p) return r_write(fd, b, n); pthread_mutex_lock(&mu); off_t o = lseek(fd, 0, SEEK_CUR); ssize_t r = r_write(fd, b, n); if (r > 0) rec('W', p, o, b, r); pthread_mutex_unlock(&mu); return r; }
#define SYNC(NAME) int NAME(int fd) { REAL(NAME); char *p = fd >= 0 && fd < 65536 ? fdpath[fd] : 0; struct stat s; if (p) { pthread_mutex_lock(&mu); rec(!fstat(fd, &s) && S_ISDIR(s.st_mode) ? 'D' : 'F', p, 0, 0, 0); pthread_mutex_unlock(&mu); return 0; } return r_##NAME(fd); }
SYNC(fsync) SYNC(fdatasync)
#define TR(NAME, OFF) int NAME(int fd, OFF n) { REAL(NAME); char *p = fd >= 0 && fd < 65536 ? fdpath[fd] : 0; int r = r_##NAME(fd, n); if (p && !r) { pthread_mutex_lock(&mu); rec('T', p, n, 0, 0); pthread_mutex_unlock(&mu); } return r; }
TR(ftruncate, off_t) TR(ftruncate64, off64_t)
int unlink(const char *p) { REAL(unlink); int r = r_unlink(p); if (!r && mine(p)) { pthread_mutex_lock(&mu); rec('U', p, 0, 0, 0); pthread_mutex_unlock(&mu); } return r; }
int rename(const char *a, const char *b) { REAL(rename); int r = r_rename(a, b); if (!r && mine(a)) { pthread_mutex_lock(&mu); rec('R', a, 0, b, strlen(b)); pthread_mutex_unlock(&mu); } return r; }
int close(int fd) { REAL(close); if (fd >= 0 && fd < 65536 && fdpath[fd]) { pthread_mutex_lock(&mu); free(fdpath[fd]); fdpath[fd] = 0; pthread_mutex_unlock(&mu); } return r_close(fd); }
