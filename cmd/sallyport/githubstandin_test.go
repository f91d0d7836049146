//go:build programs && linux

package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// githubToken is the token that the stand-in expects.
const githubToken = "github_pat_11STANDIN0_correctHorseBatteryStaple"

// githubStandIn is an API of GitHub for any repository, with one of everything in it. Each response repeats the token.
type githubStandIn struct {
	server *httptest.Server
	host   string // its address, without the port
	during func() // called while the response to a PUT is awaited; nil is nothing

	mu   sync.Mutex
	seen []string
}

// newGitHubStandIn listens on loopback at port 80, since the server takes a host without a port.
func newGitHubStandIn(t *testing.T) *githubStandIn {
	t.Helper()
	g := &githubStandIn{}
	var listener net.Listener
	var err error
	for i := 1; i < 20 && listener == nil; i++ {
		g.host = fmt.Sprintf("127.80.7.%d", i)
		listener, err = net.Listen("tcp", g.host+":80")
	}
	if listener == nil {
		t.Fatalf("got %v, want port 80 of a loopback address: the test needs root, or sysctl net.ipv4.ip_unprivileged_port_start=80", err)
	}
	mux := http.NewServeMux()
	for pattern, text := range githubAPI {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api"+path, func(w http.ResponseWriter, r *http.Request) { g.answer(w, r, text) })
	}
	g.server = httptest.NewUnstartedServer(g.recorded(mux))
	_ = g.server.Listener.Close()
	g.server.Listener = listener
	g.server.Start()
	t.Cleanup(g.server.Close)
	return g
}

// addressed returns a text in which the addresses of GitHub are those of the stand-in.
func (g *githubStandIn) addressed(text string) string {
	return strings.NewReplacer("https://api.github.com/graphql", "http://"+g.host+"/api/graphql", "https://api.github.com/", "http://"+g.host+"/api/v3/").Replace(text)
}

// recorded keeps the compared parts of each request, and refuses those without the token.
func (g *githubStandIn) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fields := []string{r.Method, r.URL.String(), string(body)}
		for _, name := range []string{"Accept", "Content-Type", "X-GitHub-Api-Version", "Graphql-Features"} {
			fields = append(fields, r.Header.Get(name))
		}
		g.mu.Lock()
		g.seen = append(g.seen, strings.Join(fields, "|"))
		g.mu.Unlock()
		w.Header().Set("X-Authorization", r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer "+githubToken {
			http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

// take returns and forgets the requests.
func (g *githubStandIn) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := strings.Join(g.seen, "\n")
	g.seen = nil
	return all
}

// changesIn counts the requests of a log that change something.
func changesIn(log string) (n int) {
	for line := range strings.SplitSeq(log, "\n") {
		if method, _, ok := strings.Cut(line, "|/"); ok && method != "GET" {
			n++
		}
	}
	return n
}

func (g *githubStandIn) answer(w http.ResponseWriter, r *http.Request, text string) {
	status := http.StatusOK
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/graphql"):
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "mutation") {
			text = `{"data":{"repository":{"pullRequest":{"id":"PR_7"}}}}`
		}
	case strings.HasSuffix(r.URL.Path, "/update-branch"):
		status = http.StatusAccepted
	case strings.HasSuffix(r.URL.Path, "/contents/new.txt") && r.Method == "GET":
		status, text = http.StatusNotFound, `{"message":"Not Found"}`
	case r.Method == "POST":
		status = http.StatusCreated
	case strings.HasSuffix(r.Header.Get("Accept"), "diff"):
		text = "diff --git a/README.md b/README.md\n+größe\n"
	}
	if g.during != nil && r.Method == "PUT" {
		g.during()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.ReplaceAll(text, "AUTHORIZATION", r.Header.Get("Authorization")))
}

const (
	standInCommit = `{"sha":"c0ffee","html_url":"https://github.com/octo/hello/commit/c0ffee","commit":{"message":"first","author":{"name":"Octo","email":"o@example.com","date":"2026-01-02T03:04:05Z"}},` +
		`"author":{"login":"octo","id":1},"stats":{"additions":2,"deletions":1,"total":3},"files":[{"filename":"README.md","status":"modified","additions":2,"deletions":1,"changes":3,"patch":"@@ -1 +1 @@"}]}`
	standInGitCommit = `{"sha":"c0ffee","tree":{"sha":"7ee"},"message":"first","parents":[]}`
	standInRef       = `{"ref":"refs/heads/main","object":{"type":"commit","sha":"c0ffee"}}`
	standInFile      = `{"type":"file","name":"README.md","path":"README.md","sha":"b10b","size":6,"encoding":"base64","content":"Z3LDvMOf","html_url":"https://github.com/octo/hello/blob/main/README.md"}`
	standInIssue     = `{"id":70,"number":7,"title":"It <b>breaks</b>","body":"Größe","state":"open","html_url":"https://github.com/octo/hello/issues/7","user":{"login":"octo"},"labels":[{"name":"bug"}],"comments":1}`
	standInComment   = `{"id":71,"body":"Me too","html_url":"https://github.com/octo/hello/issues/7#issuecomment-71","user":{"login":"ada"}}`
	standInPull      = `{"id":80,"number":8,"title":"Mend it","body":"so","state":"open","html_url":"https://github.com/octo/hello/pull/8","head":{"ref":"mend","sha":"c0ffee"},"base":{"ref":"main","sha":"7ee"},"user":{"login":"octo"}}`
	standInRelease   = `{"id":90,"tag_name":"v1.0.0","name":"One","body":"All of it","html_url":"https://github.com/octo/hello/releases/tag/v1.0.0","published_at":"2026-01-02T03:04:05Z"}`
	standInRepo      = `{"id":1,"name":"hello","full_name":"octo/hello","default_branch":"main","html_url":"https://github.com/octo/hello"}`
)

// githubAPI are the responses by method and path.
var githubAPI = map[string]string{
	"GET /v3/user": `{"login":"octo","id":1,"html_url":"https://github.com/octo","name":"Octo","bio":"AUTHORIZATION"}`,

	"GET /v3/repos/{o}/{r}":                         standInRepo,
	"GET /v3/repos/{o}/{r}/commits":                 "[" + standInCommit + "]",
	"GET /v3/repos/{o}/{r}/commits/{sha}":           standInCommit,
	"GET /v3/repos/{o}/{r}/commits/{sha}/status":    `{"state":"success","sha":"c0ffee","total_count":1,"statuses":[{"state":"success","context":"ci"}]}`,
	"GET /v3/repos/{o}/{r}/branches":                `[{"name":"main","commit":{"sha":"c0ffee"},"protected":true},{"name":"mend","commit":{"sha":"7ee"}}]`,
	"GET /v3/repos/{o}/{r}/tags":                    `[{"name":"v1.0.0","commit":{"sha":"c0ffee"}}]`,
	"GET /v3/repos/{o}/{r}/releases":                "[" + standInRelease + "]",
	"GET /v3/repos/{o}/{r}/releases/latest":         standInRelease,
	"GET /v3/repos/{o}/{r}/releases/tags/{tag}":     standInRelease,
	"GET /v3/repos/{o}/{r}/git/ref/{ref...}":        standInRef,
	"GET /v3/repos/{o}/{r}/git/tags/{sha}":          `{"tag":"v1.0.0","sha":"7a9","message":"One","object":{"type":"commit","sha":"c0ffee"}}`,
	"GET /v3/repos/{o}/{r}/git/commits/{sha}":       standInGitCommit,
	"GET /v3/repos/{o}/{r}/contents/{path...}":      standInFile,
	"GET /v3/repos/{o}/{r}/issues/{n}":              standInIssue,
	"GET /v3/repos/{o}/{r}/issues/{n}/comments":     "[" + standInComment + "]",
	"GET /v3/repos/{o}/{r}/pulls":                   "[" + standInPull + "]",
	"GET /v3/repos/{o}/{r}/pulls/{n}":               standInPull,
	"GET /v3/repos/{o}/{r}/pulls/{n}/files":         `[{"filename":"README.md","status":"modified","additions":1,"deletions":0,"changes":1,"patch":"@@"}]`,
	"GET /v3/search/code":                           `{"total_count":1,"items":[{"name":"README.md","path":"README.md","sha":"b10b","repository":` + standInRepo + `}]}`,
	"GET /v3/search/issues":                         `{"total_count":1,"items":[` + standInIssue + `]}`,
	"GET /v3/search/repositories":                   `{"total_count":1,"items":[` + standInRepo + `]}`,
	"GET /v3/search/users":                          `{"total_count":1,"items":[{"login":"octo","id":1,"html_url":"https://github.com/octo"}]}`,
	"POST /v3/repos/{o}/{r}/git/refs":               `{"ref":"refs/heads/next","object":{"type":"commit","sha":"c0ffee"}}`,
	"POST /v3/repos/{o}/{r}/git/trees":              `{"sha":"7ee2"}`,
	"POST /v3/repos/{o}/{r}/git/commits":            `{"sha":"c0ffee2","message":"second","html_url":"https://github.com/octo/hello/commit/c0ffee2"}`,
	"PATCH /v3/repos/{o}/{r}/git/refs/{ref...}":     standInRef,
	"PUT /v3/repos/{o}/{r}/contents/{path...}":      `{"content":` + standInFile + `,"commit":{"sha":"c0ffee2","message":"add","html_url":"https://github.com/octo/hello/commit/c0ffee2"}}`,
	"POST /v3/repos/{o}/{r}/issues":                 standInIssue,
	"PATCH /v3/repos/{o}/{r}/issues/{n}":            standInIssue,
	"POST /v3/repos/{o}/{r}/issues/{n}/comments":    standInComment,
	"POST /v3/repos/{o}/{r}/issues/{n}/sub_issues":  standInIssue,
	"POST /v3/repos/{o}/{r}/pulls":                  standInPull,
	"PATCH /v3/repos/{o}/{r}/pulls/{n}":             standInPull,
	"PUT /v3/repos/{o}/{r}/pulls/{n}/merge":         `{"sha":"c0ffee3","merged":true,"message":"merged"}`,
	"POST /v3/repos/{o}/{r}/pulls/{n}/comments":     standInComment,
	"PUT /v3/repos/{o}/{r}/pulls/{n}/update-branch": `{"message":"Updating","url":"https://github.com/octo/hello/pull/8"}`,
	"POST /graphql":                                 `{"data":{"addPullRequestReview":{"pullRequestReview":{"id":"PRR_1"}}}}`,
}

// githubCall is a call of a tool of GitHub's server.
type githubCall struct {
	tool string
	args map[string]any // besides owner and repo
}

// githubReads and githubWrites are calls for the repository octo/hello.
var githubReads = []githubCall{
	{"get_me", nil},
	{"get_commit", map[string]any{"sha": "c0ffee"}},
	{"list_commits", map[string]any{"sha": "main", "author": "octo", "perPage": 5}},
	{"list_branches", nil},
	{"get_file_contents", map[string]any{"path": "README.md", "ref": "main"}},
	{"list_tags", nil},
	{"get_tag", map[string]any{"tag": "v1.0.0"}},
	{"list_releases", nil},
	{"get_latest_release", nil},
	{"get_release_by_tag", map[string]any{"tag": "v1.0.0"}},
	{"issue_read", map[string]any{"method": "get", "issue_number": 7}},
	{"issue_read", map[string]any{"method": "get_comments", "issue_number": 7}},
	{"issue_read", map[string]any{"method": "get_sub_issues", "issue_number": 7}}, // the stand-in has none
	{"list_pull_requests", map[string]any{"state": "open"}},
	{"pull_request_read", map[string]any{"method": "get", "pullNumber": 8}},
	{"pull_request_read", map[string]any{"method": "get_diff", "pullNumber": 8}},
	{"pull_request_read", map[string]any{"method": "get_files", "pullNumber": 8}},
	{"pull_request_read", map[string]any{"method": "get_status", "pullNumber": 8}},
	{"search_code", map[string]any{"query": "größe repo:octo/hello"}},
	{"search_issues", map[string]any{"query": "is:open"}},
	{"search_repositories", map[string]any{"query": "hello & more"}},
	{"search_users", map[string]any{"query": "octo"}},
}

var githubWrites = []githubCall{
	{"create_or_update_file", map[string]any{"path": "new.txt", "content": "größe", "message": "add", "branch": "main"}},
	{"delete_file", map[string]any{"path": "README.md", "message": "remove", "branch": "main"}},
	{"create_branch", map[string]any{"branch": "next"}},
	{"push_files", map[string]any{"branch": "main", "message": "second", "files": []any{map[string]any{"path": "a", "content": "b"}}}},
	{"issue_write", map[string]any{"method": "create", "title": "It breaks", "body": "Größe", "labels": []any{"bug"}}},
	{"issue_write", map[string]any{"method": "update", "issue_number": 7, "title": "It broke"}},
	{"add_issue_comment", map[string]any{"issue_number": 7, "body": "Me too"}},
	{"sub_issue_write", map[string]any{"method": "add", "issue_number": 7, "sub_issue_id": 9}},
	{"create_pull_request", map[string]any{"title": "Mend it", "head": "mend", "base": "main"}},
	{"update_pull_request", map[string]any{"pullNumber": 8, "title": "Mend all of it"}},
	{"add_reply_to_pull_request_comment", map[string]any{"pullNumber": 8, "commentId": 71, "body": "done"}},
	{"update_pull_request_branch", map[string]any{"pullNumber": 8}},
	{"merge_pull_request", map[string]any{"pullNumber": 8}},
	{"pull_request_review_write", map[string]any{"method": "create", "pullNumber": 8, "event": "COMMENT", "body": "well"}},
}

// arguments returns the arguments of the call.
func (c githubCall) arguments() map[string]any {
	args := maps.Clone(c.args)
	if args == nil {
		args = map[string]any{}
	}
	if c.tool != "get_me" && !strings.HasPrefix(c.tool, "search_") || c.tool == "search_issues" {
		args["owner"], args["repo"] = "octo", "hello"
	}
	return args
}
