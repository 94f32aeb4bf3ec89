// Package settee holds the rules of the tree's architecture as tests: arrows point down, engines
// stay behind the store contract, every package says what it is, files stay small enough to read.
package settee

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/settee-db/settee/"

// maxLines is the length from which on a file surely has a second subject.
const maxLines = 600

// rooms are the layers of the tree with the rooms each may import besides itself. A package belongs
// to the room with the longest matching path.
var rooms = map[string][]string{
	"compat": {},
	"js":     {"compat", "js/confine", "js/inspect", "js/locale", "js/script", "js/stringify", "storage", "storage/kv", "tracing"}, // the two of storage for tests, see forbidden
	// What takes privileges from a process knows not what it runs.
	"js/confine": {},
	// What is made of the source of a function knows nobody who runs it.
	"js/script": {},
	"js/locale": {"compat"},
	// What JSON.stringify prints needs no realm to be told.
	"js/stringify": {"compat", "js/script"},
	// The debugger of a program knows goja and nobody who runs it.
	"js/inspect": {"js/script"},
	"storage/kv": {"tracing"},
	// Spans know nothing of what they are of, and who sends them nothing but them.
	"tracing":      {},
	"tracing/otlp": {"tracing"},
	// Settings and the budget of memory know nobody who uses them.
	"config": {},
	"memory": {"compat"},
	// What the processes on one store know of each other is below the databases in it.
	"cluster":          {"storage/kv"},
	"cluster/settings": {"storage/kv", "cluster", "config"},
	// The floors of storage, each on those above it in this list; see withStorage.
	keyspace:             {"compat", "storage/kv"},
	"storage/revtree":    {"compat", "storage/kv"}, // storage/kv for its tests
	"storage/formats":    {"compat", "storage/kv", keyspace, "storage/revtree"},
	"storage/rank":       {"storage/kv"},
	"storage/timeseq":    {"compat", "storage/kv"},
	"storage/room":       {"compat"},
	"storage/counts":     {"compat", "storage/kv", keyspace, "storage/rank", "storage/timeseq"},
	"storage/listeners":  {"compat", "storage/kv"},
	"storage/tombstones": {"compat", "storage/kv", keyspace, "storage/formats", "storage/revtree"},
	"storage/replaced":   {"storage/kv", keyspace, "storage/formats"},
	"storage/access":     {"compat", "storage/revtree"},
	"storage/audience":   {"compat", "storage/kv", keyspace, "storage/revtree", "storage/formats", "storage/access"},
	"storage/groups":     {"compat", "storage/kv", keyspace, "storage/access", "storage/revtree"},
	docread: {"compat", "storage/kv", keyspace, "storage/revtree", "storage/formats",
		"storage/counts", "storage/access",
		"storage/audience"},
	"storage/chunks": {},
	"storage/blobs": {"compat", "storage/kv", keyspace, "storage/revtree",
		"storage/formats", "storage/counts", docread,
		"storage/chunks"},
	verify: {"compat", "storage/kv", keyspace, "storage/formats", "storage/counts", "storage/rank",
		"storage/replaced", "storage/tombstones", "storage/audience", "storage/groups", docread},
	"storage": {"tracing", "compat", "storage/kv", "cluster", keyspace,
		"storage/listeners", "storage/revtree", "storage/formats", "storage/counts", "storage/rank",
		"storage/replaced", "storage/timeseq", "storage/tombstones", "storage/room",
		"storage/blobs", "storage/chunks", "storage/access", "storage/audience",
		"storage/groups", docread, verify}, // the last one for tests
	salvage: {"compat", "storage/kv", keyspace, "storage/formats", "storage/counts",
		"storage/audience", "storage/groups", docread, "storage"},
	"views": {"compat", "storage/rank", "js", "memory", "cluster", "storage", "storage/kv", viewQuery, "tracing"},
	// What a view is asked, without who answers it.
	viewQuery: {"compat"},
	// Selectors know no indexes, and the patterns of $regex no documents.
	selectors:    {"compat", "mango/pcre"},
	"mango/pcre": {"compat"},
	"mango": {"compat", selectors, "mango/pcre", "storage", "storage/kv", "storage/access", "views", viewQuery,
		"search", "search/index", "search/segment", "search/query"},
	"search": {"compat", "js", "storage",
		"storage/kv", "search/analysis", "search/index", "search/segment", "search/query"},
	// What search is made of knows no store.
	"search/analysis": {"compat"},
	"search/query":    {"compat"},
	"search/segment":  {"compat", "storage/kv"},
	"search/index":    {"compat", "storage/kv", "search/segment", "search/query"},
	// Who asks, and how that is proved; what comes in headers is read in server/auth.
	"principal": {"compat"},
	// Documents as one principal sees them have no requests.
	"documents": {"compat", "js", "storage", "storage/kv", "config", "principal"},
	"eventing": {"compat", "js", "memory", "cluster", "storage", "storage/kv", "principal", "documents", "views",
		"mango", selectors,
		"config", "eventing/n1ql", "replication/site", "tracing"},
	"replication": {"compat", "storage", "storage/kv", "replication/site", "tracing"},
	// What follows a redirection is the same for all who send credentials.
	"replication/site": {"compat", "tracing"},
	"server": {
		"compat", "js",
		"storage",
		"storage/kv",
		"views",
		"mango",
		"search",
		"eventing",
		"replication",
		"documents",
		"server/localpeer",
		"config",
		"server/auth", "principal",
		"server/logging",
		"cluster",
		"server/stats",
		"server/users",
		"server/call",
		"memory",
		"server/params",
		"server/wire",
		"server/rewrite",
		"server/warm",
		"server/admin",
		"server/session",
		"server/replicator",
		"server/forward",
		"server/databases",
		"server/documents",
		"server/lists",
		"server/changes",
		"server/queries",
		"server/designs",
		"server/find",
		"server/fulltext",
		"server/functions",
		"server/console",
		"server/shadow",
		"tracing",
	},
	// What passes between clients and handlers, whoever they are.
	"server/shadow": {"compat"},
	// Handlers are packages by resource: each names what it has of others.
	"server/admin": handlers("js", "cluster", "replication", "search", "server/auth", "principal", "config",
		"server/console", "server/forward", "memory", "server/stats"),
	"server/session": handlers("server/auth", "principal", "server/users"),
	"server/replicator": handlers(
		"js", "principal",
		"cluster",
		selectors,
		"replication",
		"config",
		"server/databases",
		"server/forward",
		"server/localpeer",
		"memory",
		"server/stats",
	),
	// Other nodes are asked as a client has asked this one.
	"server/forward":   handlers("cluster"),
	"server/databases": handlers("replication", "server/find"),
	"server/documents": handlers("js"),
	"server/lists":     handlers("js"),
	"server/changes":   handlers("js", selectors),
	"server/queries":   handlers(viewQuery, "tracing"),
	"server/designs": handlers("memory", "js", "server/documents", "server/lists", "server/queries", "server/rewrite",
		"principal", "views/reduce"),
	"server/find": handlers("mango", selectors, "search", "config", "tracing"),
	"server/fulltext": handlers("js", "search", "search/analysis", "search/index", "search/segment",
		"search/query"),
	"server/functions": handlers("js", "eventing", "cluster", "server/forward"),
	// The console asks everything of the API, from the browser.
	"server/console":  {"compat", "server/call", "server/webfiles"},
	"server/webfiles": {"compat", "server/call", "server/params", "config", "server/stats"}, // the last two for tests
	"server/warm":     {"compat", "js", "storage", "views", "search", "search/segment", "config"},
	// Handlers stand on call; nothing that call stands on knows of requests but wire.
	"server/call": {"compat", "storage", "storage/kv", "documents", "config", "server/auth", "principal",
		"server/logging", "server/stats", "memory", "server/wire", "server/rewrite", "server/params", "tracing"},
	// What options mean is told by the questions that they become, and knows no request.
	"server/params":  {"compat", "storage", viewQuery, selectors, "documents"},
	"server/wire":    {"compat"},
	"server/rewrite": {"compat"},
	// What is below the handlers knows nothing of requests.
	"server/localpeer": {"compat", "storage", "replication", "principal", "documents", "server/params"},
	"server/auth":      {"compat", "config", "principal"},
	"server/logging":   {"config"},
	"server/stats":     {"compat", "js", "views"},
	"server/users":     {"compat", "storage", "storage/kv", "server/auth", "principal", "documents", "server/stats"},
	// servertest starts whole servers for tests of the packages below server.
	serverTest: {"compat", "js", "storage", "storage/kv", "views", "mango", "search", "server", "server/auth",
		"principal", "config",
		"documents"},
	// Statements in handlers know documents by an interface only; tests compare with what Mango's
	// selectors find.
	"eventing/n1ql": {"compat", selectors},
	"cmd": {
		"compat", "memory", "js", "js/confine",
		"storage", "storage/room",
		"storage/kv",
		"views",
		"mango",
		"search",
		"eventing",
		"replication",
		"replication/site",
		"server",
		"documents",
		"config",
		"cluster/settings",
		"server/auth", "principal",
		"server/logging",
		"cluster",
		"server/admin",
		"server/console",
		"server/shadow",
		"server/warm",
		"tracing", "tracing/otlp",
		salvage,
	},
	"conformance": {}, // talks to the running server only
	"cmd/bench":   {}, // so does the benchmark, a module of its own
	// a module of its own, which measures the engine of search without a server
	"cmd/searchpeers": {"compat", "js", "storage", "storage/kv", "views", "search", "search/index", "search/segment",
		"search/query"},
}

// keyspace is where the keys of a store are named. Who may use databases may name what it keeps in
// them.
const keyspace = "storage/keyspace"

// docread is how documents are read in one snapshot, verify what checks all that is stored; salvage
// stands on storage.
const (
	docread = "storage/docread"
	verify  = "storage/verify"
	salvage = "storage/salvage"
)

// selectors is the part of Mango that knows no indexes: whoever filters documents may use it.
const selectors = "mango/selector"

// viewQuery is what a view is asked.
const viewQuery = "views/viewquery"

// withStorage are the floors of storage that those may name who stand on it.
var withStorage = []string{
	keyspace, "storage/access", "storage/groups", "storage/listeners", docread, verify,
}

// handlers are the rooms that the handlers of any resource may import, and some more.
func handlers(more ...string) []string {
	all := []string{"compat", "storage", "storage/kv", "views", "server/call", "documents", "server/params"}
	return append(all, more...)
}

// engines are the packages that only cmd may name, and tests.
var engines = []string{"storage/kv/pebblekv", "storage/kv/fdbkv", "storage/kv/memkv", "storage/kv/faultkv",
	"storage/kv/latencykv"}

// testKits are for tests only, and name engines as they do.
var testKits = []string{"storage/storagetest", "storage/jobs/jobstest", "storage/kv/kvtest", serverTest}

// serverTest stands above server, and tests of server and of the packages below it use it all the
// same: what a handler answers shows only behind the chain that server puts together. They are
// external tests (package x_test), which no package imports, so that no circle closes.
const serverTest = "server/servertest"

// wholeServer is what those tests may import besides: servers, and the contract of the engines
// below them.
var wholeServer = []string{serverTest, "server", "storage/kv"}

// engineLibraries are the foreign modules behind the engines, with the rooms that may import them.
// The benchmark holds the server against Pebble alone.
var engineLibraries = map[string][]string{
	"github.com/cockroachdb/pebble":  {"storage/kv/pebblekv", "cmd/bench/barepebble"},
	"github.com/apple/foundationdb/": {"storage/kv/fdbkv"},
}

// forbidden are imports that a room must not have outside tests.
var forbidden = map[string][]string{
	"compat":     {"net", "net/http", "os", "os/exec"},
	"storage/kv": {"net/http", "encoding/json"},
	"storage":    {"net/http", modulePath + verify},
	"js":         {"net/http", modulePath + "storage", modulePath + "storage/kv"},
	"js/confine": {"net", "net/http"},
	"tracing":    {"net", "net/http"},
	"js/script":  {"net", "net/http", "os", "os/exec"},
	"js/locale":  {"net", "net/http", "os", "os/exec"},
	"views":      {"net/http"},
	"mango":      {"net/http"},
	"search":     {"net/http"},
	// Documents as one principal sees them have no requests, nor have principals.
	"documents":        {"net", "net/http"},
	"principal":        {"net", "net/http"},
	"server/localpeer": {"net", "net/http"},
	"server/params":    {"net", "net/http"},
}

// noEncodingJSON are the rooms that work on documents: there encoding/json would lose member order
// and number forms. jsonAllowed are the files that use it on structures of our own, with the
// reason.
var noEncodingJSON = []string{"compat", "js", "js/script", "js/locale", "storage", "views", "mango", "search",
	"eventing/n1ql"}

var jsonAllowed = map[string]string{
	"cluster/nodes/members.go":          "what a process tells of itself is no document",
	"storage/storagetest/recordings.go": "only tests read recordings",
}

// source is one Go file of the tree.
type source struct {
	path    string // with slashes, from the root
	dir     string
	test    bool
	imports []string
	fset    *token.FileSet
	file    *ast.File
	lines   int
}

// external reports whether the file is a test outside of the package that it tests.
func (s *source) external() bool { return s.test && strings.HasSuffix(s.file.Name.Name, "_test") }

func (s *source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

// at is a position as messages have it.
func (s *source) at(pos token.Pos) string { return fmt.Sprintf("%s:%d", s.path, s.line(pos)) }

func TestImportsPointDown(t *testing.T) {
	for _, src := range sources(t) {
		from := roomOf(src.dir)
		if from == "" {
			continue
		}
		for _, imp := range src.imports {
			local, ok := strings.CutPrefix(imp, modulePath)
			if !ok {
				continue
			}
			to := roomOf(local)
			engine := isEngine(local) && (src.test || from == serverTest)
			whole := slices.Contains(wholeServer, to) && src.external() && strings.HasPrefix(from+"/", "server/")
			floor := slices.Contains(withStorage, to) && slices.Contains(rooms[from], "storage")
			down := to == from || slices.Contains(rooms[from], to) || engine || whole || floor
			if to == "" {
				t.Errorf("%s imports %s, which is in no room of the architecture", src.path, local)
			} else if !down {
				t.Errorf("%s imports %s: an arrow from %s to %s points up", src.path, local, from, to)
			}
		}
	}
}

func TestOnlyCmdNamesAnEngine(t *testing.T) {
	for _, src := range sources(t) {
		room := roomOf(src.dir)
		for _, imp := range src.imports {
			local, _ := strings.CutPrefix(imp, modulePath)
			mayName := src.test || room == "cmd" || room == "cmd/searchpeers" || room == "storage/kv" ||
				slices.Contains(testKits, src.dir)
			if isEngine(local) && !mayName {
				t.Errorf("%s names the engine %s", src.path, local)
			}
			if slices.Contains(testKits, local) && !src.test {
				t.Errorf("%s imports %s, which is for tests", src.path, local)
			}
			for library, homes := range engineLibraries {
				at := func(home string) bool { return strings.HasPrefix(src.dir+"/", home+"/") }
				if strings.HasPrefix(imp, library) && !slices.ContainsFunc(homes, at) {
					t.Errorf("%s imports %s, which belongs to %s", src.path, imp, homes)
				}
			}
		}
	}
}

// TestModulesAgree: what a program with a module of its own needs and the server, too, has the same
// version in both, so that the benchmark compares with the Pebble that the server has. A module
// that says less no longer builds.
func TestModulesAgree(t *testing.T) {
	server := requirements(t, "go.mod")
	modules, err := filepath.Glob("c*/*/go.mod")
	if err != nil || len(modules) < 3 {
		t.Fatalf("no modules: %v", err)
	}
	for _, file := range modules {
		for module, version := range requirements(t, file) {
			if want := server[module]; want != "" && version != want {
				t.Errorf("%s has %s %s, the server %s", file, module, version, want)
			}
		}
	}
}

// requirements are the modules that a go.mod names, with their versions; of the server's those that
// it imports itself.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`).FindAllSubmatch(text, -1) {
		if file != "go.mod" || len(line[3]) == 0 {
			versions[string(line[1])] = string(line[2])
		}
	}
	return versions
}

func TestForbiddenImports(t *testing.T) {
	for _, src := range sources(t) {
		if src.test {
			continue
		}
		room := roomOf(src.dir)
		for _, imp := range src.imports {
			if slices.Contains(forbidden[room], imp) {
				t.Errorf("%s imports %s, which has no place in %s", src.path, imp, room)
			}
			if imp == "encoding/json" && slices.Contains(noEncodingJSON, room) && jsonAllowed[src.path] == "" {
				t.Errorf("%s uses encoding/json: documents go through compat/ejson", src.path)
			}
		}
	}
	for file := range jsonAllowed {
		if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
			t.Errorf("jsonAllowed names %s: %v", file, err)
		}
	}
}

func TestCompatStartsNoGoroutine(t *testing.T) {
	for _, src := range sources(t) {
		if roomOf(src.dir) != "compat" || src.test {
			continue
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", src.path)
			}
			return true
		})
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	for _, src := range sources(t) {
		if path.Base(src.path) == "doc.go" && src.file.Doc != nil {
			documented[src.dir] = true
		}
	}
	for _, src := range sources(t) {
		if !src.test && !documented[src.dir] {
			t.Errorf("%s has no doc.go with a package comment", src.dir)
			documented[src.dir] = true
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	for _, src := range sources(t) {
		if src.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", src.path, src.lines, maxLines)
		}
	}
}

// sources is every Go file of the tree, whatever its build tags. Tests do not change them.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsed = sync.OnceValues(func() ([]source, error) {
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "node_modules" || base == "data" ||
				len(base) > 1 && base[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		src := source{path: filepath.ToSlash(name), fset: fset, file: file, test: strings.HasSuffix(name, "_test.go")}
		src.dir = path.Dir(src.path)
		src.lines = fset.File(file.Package).LineCount()
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			src.imports = append(src.imports, imp)
		}
		all = append(all, src)
		return nil
	})
	return all, err
})

// roomOf returns the room that a package belongs to, "" if none.
func roomOf(dir string) string {
	best := ""
	for room := range rooms {
		if (dir == room || strings.HasPrefix(dir, room+"/")) && len(room) > len(best) {
			best = room
		}
	}
	return best
}

func isEngine(dir string) bool { return slices.Contains(engines, dir) }
