// A guest that tries to leave its files by what C programs and raw WASI calls can do and Go's library does not:
// folders that are held open, names relative to them, descriptors that nobody gave it, pointers that lead nowhere.
//
// A call names one case and two folders: W may be written, S may not be touched, and holds "key" and nothing else. The
// answer is "error" and why, or whatever the guest got hold of. make escape-guest builds it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

__attribute__((import_module("sallyport"), import_name("read"))) int host_read(int, void *, int);
__attribute__((import_module("sallyport"), import_name("write"))) int host_write(int, const void *, int);

static char request[65536], answer[8192], got[4096];
static char w[1024], s[1024], path[4096];

// member copies a text member of the request; the driver writes no escapes.
static void member(const char *name, char *to, size_t room) {
	char key[64];
	snprintf(key, sizeof key, "\"%s\":\"", name);
	char *p = strstr(request, key);
	*to = 0;
	if (!p) return;
	p += strlen(key);
	size_t n = strcspn(p, "\"");
	if (n >= room) n = room - 1;
	memcpy(to, p, n);
	to[n] = 0;
}

static int failed(const char *what) {
	snprintf(got, sizeof got, "error %s: errno %d", what, errno);
	return 0;
}

static int raw_failed(const char *what, int err) {
	snprintf(got, sizeof got, "error %s: errno %d", what, err);
	return 0;
}

// slurp reads what it can of an open file.
static int slurp(int fd, const char *what) {
	if (fd < 0) return failed(what);
	ssize_t n = read(fd, got, sizeof got - 1);
	if (n < 0) return failed("read");
	got[n] = 0;
	close(fd);
	return 1;
}

static int folder(const char *p) { return open(p, O_RDONLY | O_DIRECTORY); }

static void join(const char *a, const char *b) { snprintf(path, sizeof path, "%s%s", a, b); }

static int open_up(void) { return slurp(openat(folder(w), "../secret/key", O_RDONLY), "openat ../secret/key"); }

static int open_up_twice(void) {
	int up = openat(folder(w), "..", O_RDONLY | O_DIRECTORY);
	if (up < 0) return failed("openat ..");
	return slurp(openat(up, "secret/key", O_RDONLY), "openat secret/key");
}

static int open_absolute(void) {
	join(s, "/key");
	return slurp(openat(folder(w), path, O_RDONLY), "openat an absolute path");
}

// open_moved holds a folder open that then lies less deep than before.
static int open_moved(void) {
	join(w, "/a"), mkdir(path, 0755);
	join(w, "/a/b"), mkdir(path, 0755);
	int b = folder(path);
	char to[4096];
	snprintf(to, sizeof to, "%s/b", w);
	if (rename(path, to)) return failed("rename");
	return slurp(openat(b, "../../secret/key", O_RDONLY), "openat ../../secret/key");
}

static int raw_open(int fd, const char *name, const char *what) {
	__wasi_fd_t out = 0;
	int err = __wasi_path_open(fd, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, name, 0, ~0ull, ~0ull, 0, &out);
	return err ? raw_failed(what, err) : slurp(out, what);
}

static int raw_dots(void) {
	snprintf(path, sizeof path, "../../../../../../../../..%s/key", s);
	return raw_open(3, path, "path_open with dots");
}

static int raw_absolute(void) {
	join(s, "/key");
	return raw_open(3, path, "path_open of an absolute path");
}

static int raw_renumbered(void) {
	int err = __wasi_fd_renumber(3, 9);
	join(s, "/key");
	return err ? raw_open(3, path + 1, "path_open") : raw_open(9, path + 1, "path_open on a moved descriptor");
}

static int raw_link(void) {
	join(s, "/key");
	char to[4096];
	snprintf(to, sizeof to, "%s/k", w);
	int err = __wasi_path_link(3, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path + 1, 3, to + 1);
	return err ? raw_failed("path_link", err) : slurp(open(to, O_RDONLY), "open the link");
}

static int raw_rename(void) {
	char to[4096];
	join(s, "/key");
	snprintf(to, sizeof to, "%s/k", w);
	int err = __wasi_path_rename(3, path + 1, folder(w), "k");
	return err ? raw_failed("path_rename", err) : slurp(open(to, O_RDONLY), "open what was moved");
}

static int raw_stat(void) {
	__wasi_filestat_t st;
	join(s, "/key");
	int err = __wasi_path_filestat_get(3, 0, path + 1, &st);
	if (err) return raw_failed("path_filestat_get", err);
	snprintf(got, sizeof got, "it has %llu bytes", (unsigned long long)st.size);
	return 1;
}

static int raw_unlink(void) {
	join(s, "/key");
	int err = __wasi_path_unlink_file(3, path + 1);
	return err ? raw_failed("path_unlink_file", err) : 1;
}

// link_then_create follows a link of its own, that leads nowhere yet.
static int link_then_create(void) {
	char to[4096];
	join(s, "/new"), snprintf(to, sizeof to, "%s/l", w);
	if (symlink(path, to) && symlinkat("../secret/new", folder(w), "l")) return failed("symlink");
	int fd = open(to, O_WRONLY | O_CREAT, 0644);
	if (fd < 0) return failed("create through the link");
	write(fd, "x", 1);
	close(fd);
	return 1;
}

// all_descriptors reads from each number that a descriptor could have.
static int all_descriptors(void) {
	for (int fd = 4; fd < 5000; fd++) {
		if (read(fd, got, sizeof got - 1) >= 0 || pread(fd, got, 1, 0) >= 0) return 1;
	}
	return raw_failed("no descriptor is open", EBADF);
}

static int up_by_readdir(void) {
	DIR *d = fdopendir(openat(folder(w), "../secret", O_RDONLY | O_DIRECTORY));
	if (!d) return failed("fdopendir");
	got[0] = 0;
	for (struct dirent *e; (e = readdir(d));) strncat(got, e->d_name, sizeof got - strlen(got) - 1);
	return 1;
}

// nowhere gives the host pointers outside of the guest's memory.
static int nowhere(void) {
	__wasi_iovec_t io = {(uint8_t *)0xfffffff0u, 0x7fffffff};
	size_t n = 0;
	join(w, "/ok");
	int fd = open(path, O_RDONLY);
	int a = __wasi_fd_read(fd, &io, 1, &n);
	int b = __wasi_fd_read(fd, (__wasi_iovec_t *)0xfffffff8u, 0x10000000, &n);
	if (a && b) return raw_failed("pointers that lead nowhere", a);
	snprintf(got, sizeof got, "%d %d", a, b);
	return 1;
}

static int wild_cookie(void) {
	size_t n = 0;
	int err = __wasi_fd_readdir(folder(w), (uint8_t *)got, sizeof got, 0xffffffffffffff00ull, &n);
	return err || n == 0 ? raw_failed("fd_readdir from nowhere", err) : 1;
}

static int sockets(void) {
	size_t n = 0;
	__wasi_ciovec_t io = {(const uint8_t *)"x", 1};
	for (int fd = 0; fd < 64; fd++) {
		if (__wasi_sock_send(fd, &io, 1, 0, &n) == 0) return 1;
	}
	return raw_failed("no socket is open", ENOTSOCK);
}

static const struct {
	const char *name;
	int (*try)(void);
} cases[] = {
	{"open up", open_up}, {"open up twice", open_up_twice}, {"open absolute", open_absolute}, {"open moved", open_moved},
	{"raw dots", raw_dots}, {"raw absolute", raw_absolute}, {"raw renumbered", raw_renumbered}, {"raw link", raw_link},
	{"raw rename", raw_rename}, {"raw stat", raw_stat}, {"raw unlink", raw_unlink}, {"link then create", link_then_create},
	{"all descriptors", all_descriptors}, {"up by readdir", up_by_readdir}, {"nowhere", nowhere}, {"wild cookie", wild_cookie},
	{"sockets", sockets},
};

__attribute__((export_name("mcp_handle"))) int mcp_handle(int size) {
	char name[64];
	int n = host_read(0, request, sizeof request - 1);
	request[n < 0 ? 0 : n] = 0;
	member("case", name, sizeof name), member("w", w, sizeof w), member("s", s, sizeof s);
	snprintf(got, sizeof got, "no case is called so");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(cases[i].name, name)) continue;
		snprintf(got, sizeof got, "it succeeded");
		cases[i].try();
	}
	if (!strcmp(name, "granted")) {
		join(w, "/ok");
		slurp(openat(folder(w), "ok", O_RDONLY), "openat");
	}
	for (char *p = got; *p; p++) {
		if (*p == '"' || *p == '\\' || *p < ' ') *p = '?';
	}
	n = snprintf(answer, sizeof answer, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}", got);
	host_write(1, answer, n);
	return 0;
}
