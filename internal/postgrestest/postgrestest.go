// Package postgrestest runs PostgreSQL servers for tests, as Debian installs them.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Variable names the server of a run, for Schema: cmd/withpostgres sets it.
const Variable = "POSTGRES_TEST_URL"

// user is the account of servers if the caller is root, who may not run one.
const user = "nobody"

// Server is a server with its data in a folder. It listens on a socket in that folder only.
type Server struct {
	dir  string
	bin  string
	run  *exec.Cmd
	logs *os.File
}

// New starts a server for one test, which may end it.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Start makes a server in a new folder, and starts it. It is fast rather than durable: it does not wait for the disk.
func Start() (*Server, error) {
	dir, err := os.MkdirTemp("/dev/shm", "sp-postgres-") // in memory, and short, for the path of the socket
	if err != nil {
		dir, err = os.MkdirTemp("", "sp-postgres-")
	}
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.bin, err = programs(); err == nil {
		err = s.make()
	}
	if err == nil {
		err = s.Begin()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// programs returns the folder of the newest server.
func programs() (string, error) {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(all) == 0 {
		return "", errors.New("no PostgreSQL server is installed: apt-get install postgresql")
	}
	return filepath.Dir(slices.Max(all)), nil
}

func (s *Server) make() error {
	if os.Geteuid() == 0 {
		if out, err := exec.Command("chown", user, s.dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	out, err := s.command("initdb", "-D", s.data(), "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a program of the server, as its user.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	line := append([]string{filepath.Join(s.bin, name)}, args...)
	if os.Geteuid() == 0 {
		line = append([]string{"setpriv", "--reuid=" + user, "--regid=nogroup", "--clear-groups"}, line...)
	}
	c := exec.Command(line[0], line[1:]...)
	c.Dir, c.Env = "/", append(os.Environ(), "HOME=/nonexistent", "LC_ALL=C.UTF-8")
	return c
}

// Begin starts the server, and returns when it answers.
func (s *Server) Begin() (err error) {
	if s.logs, err = os.OpenFile(s.dir+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	s.run = s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
		"-c", "shared_buffers=32MB", "-c", "max_connections=200")
	s.run.Stdout, s.run.Stderr = s.logs, s.logs
	if err := s.run.Start(); err != nil {
		return err
	}
	for s.command("pg_isready", "-q", "-h", s.dir).Run() != nil {
		if err := s.run.Process.Signal(syscall.Signal(0)); err != nil || s.ended() {
			log, _ := os.ReadFile(s.dir + ".log")
			return fmt.Errorf("the server did not start: %v: %s", err, log)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// ended reports whether the server is a zombie, which ended before it answered.
func (s *Server) ended() bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.run.Process.Pid))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	return strings.HasPrefix(after, "Z")
}

// Spent returns the processor time of the connections that have ended.
func (s *Server) Spent() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.run.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	const children = 13 // proc_pid_stat(5): cutime and cstime, in hundredths of a second
	var user, system int
	if fields := strings.Fields(after); len(fields) > children+1 {
		_, err = fmt.Sscan(fields[children]+" "+fields[children+1], &user, &system)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// Crash ends the server at once, as a failed machine does, and returns when it has ended.
func (s *Server) Crash() error {
	if err := s.run.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	_ = s.run.Wait()
	return s.logs.Close()
}

// Close ends the server, and removes its data.
func (s *Server) Close() error {
	return errors.Join(s.Crash(), os.RemoveAll(s.dir), os.Remove(s.dir+".log"))
}

// URL returns the address of the server for one of its roles and for one schema.
func (s *Server) URL(role, schema string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(role), Path: "/postgres",
		RawQuery: url.Values{"host": {s.dir}, "search_path": {schema}}.Encode()}).String()
}

// SQL runs a script as a role, with psql. Each schema is made by a script first.
func (s *Server) SQL(role, script string) (string, error) {
	c := s.command("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", s.dir, "-U", role, "-d", "postgres")
	c.Stdin = strings.NewReader(script)
	out, err := c.CombinedOutput()
	return string(out), err
}

// Dump returns a dump of the database by pg_dump, while it is in use.
func (s *Server) Dump() ([]byte, error) {
	return s.command("pg_dump", "-h", s.dir, "-U", "owner", "-Fc", "postgres").Output()
}

// Restore brings a dump into the database by pg_restore.
func (s *Server) Restore(dump []byte) error {
	c := s.command("pg_restore", "-h", s.dir, "-U", "owner", "-d", "postgres", "--clean", "--if-exists", "--exit-on-error")
	c.Stdin = bytes.NewReader(dump)
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// creating is held while a schema is created: PostgreSQL lets one of two concurrent creations fail, even if the schema may
// exist.
var creating sync.Mutex

// Schema returns the address of a schema in the server of Variable: the same one for each call with a name. The driver
// is that of the caller's program.
func Schema(t testing.TB, name string) string {
	t.Helper()
	server := os.Getenv(Variable)
	if server == "" {
		t.Fatalf("%s is unset: use make postgres, or go run ./cmd/withpostgres go test -tags postgres …", Variable)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("t%x", sha256.Sum256([]byte(name)))[:20]
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	creating.Lock()
	defer creating.Unlock()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

// RequirePassword starts the server again, with passwords for its roles.
func (s *Server) RequirePassword() error {
	const rules = "local all all scram-sha-256\n"
	if err := s.Crash(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(rules), 0o600); err != nil {
		return err
	}
	return s.Begin()
}
