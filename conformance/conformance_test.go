package conformance

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	engineNames = flag.String("engines", "", "the engines to replay on, with commas between (default: all)")
	nodeCount   = flag.Int("nodes", 1, "how many servers requests go to in turn, on an engine that several can share")
	runWaiting  = flag.Bool(
		"waiting",
		false,
		"replay also the scenarios that wait for a feature, and say which of them could be switched on",
	)
)

// parallelScenarios is how many scenarios run at the same time; many of them only wait for a feed.
const parallelScenarios = "12"

var report Report

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallelScenarios); err != nil {
		panic(err)
	}
	code := m.Run()
	stopShared()
	RemoveBinary()
	if err := writeReport(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// writeReport writes the counts to the file that SETTEE_CONFORMANCE_REPORT names. It is no flag, so
// that a run of all packages can have it.
func writeReport() error {
	if testing.Verbose() {
		report.Write(os.Stdout)
	}
	path := os.Getenv("SETTEE_CONFORMANCE_REPORT")
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	report.Write(f)
	return f.Close()
}

// target is where scenarios are replayed; nodes are the servers behind addr if they are several.
type target struct {
	addr  string
	nodes []string
}

// TestConformance replays every scenario that does not wait for a feature on every engine
// (replayedOn). With COUCHDB_URL set it replays on that server instead, which must be one that
// nobody else uses.
func TestConformance(t *testing.T) {
	files := loadFiles(t)
	known := loadKnown(t)
	if server := os.Getenv("COUCHDB_URL"); server != "" {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		replayFiles(t, u.Host, files, known, func(*testing.T, *File) target { return target{addr: u.Host} })
		return
	}
	for _, engine := range chosenEngines(t) {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			shared := startNodes(t, engine, quickPasswords)
			replayFiles(t, engine.Name, replayedOn(engine, files), known, func(t *testing.T, f *File) target {
				if !Isolated(f.Area) {
					return shared
				}
				return startNodes(t, engine, settingsFor(t, f))
			})
		})
	}
}

// replayedOn leaves out, unless -engines asks for the engine, what has little to do with engines:
// settings, users, logins, and what CouchDB 3.6 answers otherwise than 3.5. On an engine that
// several servers share it leaves out [disk_monitor], which knows the disk of this machine only.
func replayedOn(engine Engine, files []*File) []*File {
	if engine.env != nil {
		files = slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return f.Area == "next-disk" })
	}
	if *engineNames != "" || engine.Name == Engines[0].Name {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return Isolated(f.Area) })
}

// quickPasswords is a configuration in which new passwords get few iterations. With CouchDB's
// 600,000 the replay of users and logins was two thirds of the work of all replays.
const quickPasswords = "[chttpd_auth]\niterations = 1000\n"

// settings36 is the configuration for the answers of CouchDB 3.6, which were recorded on a server
// that locks nobody out and has this secret: scenarios that change the secret set it back.
const settings36 = "[settee]\ncompatibility = 3.6\n[chttpd_auth_lockout]\nmode = off\n" +
	"[chttpd_auth]\nsecret = 97d45a4c11fc4f3442e78b8a690f9edc\n"

// settingsFor is the configuration that the server of an isolated file starts with. It is another
// one than CouchDB's for the answers of 3.6, and for files about logins that do not show how
// passwords are stored.
func settingsFor(t *testing.T, f *File) string {
	if Of36(f.Area) {
		return settings36
	}
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(f.Area, "auth-") && !strings.Contains(string(text), "iterations") {
		return quickPasswords
	}
	return ""
}

// replayFiles replays each file on the server that start gives for it.
func replayFiles(t *testing.T, name string, files []*File, known *Known, start func(*testing.T, *File) target) {
	for _, f := range files {
		active := slices.DeleteFunc(slices.Clone(f.Scenarios), func(sc *Scenario) bool {
			return known.Waiting(f.Area, sc.Name) != "" && !*runWaiting
		})
		report.Add(name, f.Area, Count{Waiting: len(f.Scenarios) - len(active)})
		if len(active) == 0 {
			continue
		}
		t.Run(f.Area, func(t *testing.T) {
			if os.Getenv("COUCHDB_URL") == "" {
				t.Parallel()
			}
			at := start(t, f)
			for _, sc := range active {
				t.Run(sc.Name, func(t *testing.T) {
					if !Isolated(f.Area) {
						t.Parallel()
					}
					replayScenario(t, name, at, f.Area, sc, known)
				})
			}
		})
	}
}

func replayScenario(t *testing.T, name string, at target, area string, sc *Scenario, known *Known) {
	results, err := Replay(t.Context(), at.addr, sc, at.nodes...)
	if err != nil {
		t.Error(err)
	}
	waiting := known.Waiting(area, sc.Name)
	var count Count
	agrees := true
	for _, r := range results {
		agrees = agrees && r.Agrees()
		reason := known.Differs(area, sc.Name, r.Step)
		count.Add(r.Verdict, reason != "")
		switch {
		case waiting != "":
		case !r.Agrees() && reason == "":
			t.Errorf("%s/%s%s", area, sc.Name, r.Diff())
		case r.Agrees() && reason != "":
			t.Errorf("%s/%s#%d agrees now: remove it from known/differs.txt", area, sc.Name, r.Step)
		}
	}
	if waiting != "" && agrees {
		t.Logf("%s/%s agrees: it need not wait for %s", area, sc.Name, waiting)
	}
	report.Add(name, area, count)
}

// TestKnownListsNameSomething fails on entries of the known lists that name no scenario or step.
func TestKnownListsNameSomething(t *testing.T) {
	for _, err := range loadKnown(t).Check(loadFiles(t)) {
		t.Error(err)
	}
}

// TestFilesRoundTrip holds the recorder to changing nothing but recorded answers: reading and
// writing a file gives the same bytes.
func TestFilesRoundTrip(t *testing.T) {
	for _, path := range transcriptPaths(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(src)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if f.Area+".json" != filepath.Base(path) {
			t.Errorf("%s is of area %q", path, f.Area)
		}
		for _, sc := range f.Scenarios {
			for _, st := range sc.Steps {
				if st.Judged() {
					st.SetExpect(st.Expect)
				}
			}
		}
		text, err := f.Text()
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(src) {
			t.Errorf("%s changes when it is read and written", path)
		}
	}
}

func transcriptPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return paths
}

func loadFiles(t *testing.T) []*File {
	t.Helper()
	var files []*File
	for _, path := range transcriptPaths(t) {
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("COUCHDB_URL") == "" {
			skipRestarts(f)
		}
		files = append(files, f)
	}
	return files
}

// skipRestarts takes out the waits for the original's HTTP server, which restarts to read some
// settings; here they work at once.
func skipRestarts(f *File) {
	for _, sc := range f.Scenarios {
		for _, st := range sc.Steps {
			if st.Ignore && st.Do == "GET /_up" && st.Until != "" {
				st.Sleep = 0
			}
		}
	}
}

func loadKnown(t *testing.T) *Known {
	t.Helper()
	known, err := LoadKnown("known", *nodeCount > 1)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func chosenEngines(t *testing.T) []Engine {
	t.Helper()
	if *engineNames == "" {
		return Engines
	}
	var chosen []Engine
	for name := range strings.SplitSeq(*engineNames, ",") {
		i := slices.IndexFunc(Engines, func(e Engine) bool { return e.Name == name })
		if i < 0 {
			t.Fatalf("there is no engine %q", name)
		}
		chosen = append(chosen, Engines[i])
	}
	return chosen
}

// startNodes is startServer with as many servers on one store as -nodes says, behind an address of
// their own.
func startNodes(t *testing.T, engine Engine, settings string) (at target) {
	t.Helper()
	servers := []*Server{startServer(t, engine, settings)}
	for len(servers) < *nodeCount {
		if engine.env == nil {
			t.Fatalf("a store of the engine %s has one server", engine.Name)
		}
		servers = append(servers, startServer(t, engine, settings, engine.env(servers[0].dir)))
	}
	if at.addr = balancer(t, servers...); len(servers) > 1 {
		for _, s := range servers {
			at.nodes = append(at.nodes, s.Addr)
		}
	}
	return at
}

// startServer runs a fresh server for the test and stops it at the test's end. settings are an ini
// file that it begins with, env further settings, as "NAME=value".
func startServer(t *testing.T, engine Engine, settings string, env ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	if settings != "" {
		if err := os.WriteFile(filepath.Join(dir, "local.ini"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := engine.Start(t.Context(), dir, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
