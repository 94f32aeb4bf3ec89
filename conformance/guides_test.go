package conformance

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// guidePages are the pages whose command lines are run as they are written.
var guidePages = []string{"start.md", "parts.md", "migrating.md", "raspberry.md", "guides/*.md"}

// TestGuides follows each guide from its first line to its last on servers of its own. What a guide
// is written like is said at guide.follow.
func TestGuides(t *testing.T) {
	for _, pattern := range guidePages {
		pages, err := filepath.Glob(filepath.Join("..", "docs", filepath.FromSlash(pattern)))
		if err != nil || len(pages) == 0 {
			t.Fatalf("no pages are %s: %v", pattern, err)
		}
		for _, page := range pages {
			name, _ := filepath.Rel(filepath.Join("..", "docs"), page)
			t.Run(filepath.ToSlash(name), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				newGuide(t).follow(string(text))
			})
		}
	}
}

// guide is a page that is being followed.
type guide struct {
	t        *testing.T
	dir      string             // where commands run; bin/settee is there
	settings string             // the ini blocks so far: what servers that start from now on begin with
	servers  map[string]string  // address in the page -> address here
	running  map[string]*Server // by the data directory in the page
	sets     []string           // the lines that set variables, for the commands behind them
	revs     map[string]string  // 1-REV and so on -> the last revision of that number
	ran      int                // commands with an answer, and files replayed
}

// newGuide makes the directory of a reader who has just built the program.
func newGuide(t *testing.T) *guide {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{
		t: t, dir: t.TempDir(), servers: map[string]string{}, running: map[string]*Server{},
		revs: map[string]string{},
	}
	if err := os.Mkdir(filepath.Join(g.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(g.dir, "bin", "settee")); err != nil {
		t.Fatal(err)
	}
	return g
}

var (
	guideFence   = regexp.MustCompile("^```(\\S*) ?(.*)$")
	guideCommand = regexp.MustCompile(`^(curl |bin/settee |[A-Z][A-Z_0-9]*=|make build$)`)
	guideSets    = regexp.MustCompile(`^[A-Z][A-Z_0-9]*=\S*$`)
	guideServe   = regexp.MustCompile(`^((?:[A-Z_]+=\S+ )*)bin/settee serve((?: \S+)*)$`)
	guideReplay  = regexp.MustCompile(`\]\((?:\.\./)+conformance/testdata/([a-z0-9-]+)\.json\)`)
)

// follow does what the page says, from the top:
//
//   - an indented line that begins with curl, bin/settee or NAME= is a command, given to a shell as
//     it is; the indented lines below it are its whole output, in which … is for what is left out
//     and 1-REV for a revision whose hash the page does not show. A curl has to show its answer;
//   - bin/settee serve starts a server and goes on when it answers. On a data directory that one has
//     already, it is stopped first;
//   - a block of the language ini is what the servers below it have in local.ini;
//   - a block with the name of a file is saved under it. What is in html is run by
//     test-clients/test/guide.test.js;
//   - a block marked app is for the application that the guide is about, and is not run here;
//   - a link to a file of conformance/testdata stands for the application: its requests are sent,
//     and their recorded answers expected.
func (g *guide) follow(page string) {
	g.t.Helper()
	var block []string // the commands and answers since the last line that is not indented
	var fence []string // the line that begins the block which this line is in: all, language, mark
	text := ""         // what is in that block
	for line := range strings.Lines(page + "\n") {
		line = strings.TrimRight(line, "\n")
		if mark := guideFence.FindStringSubmatch(line); mark != nil && fence == nil {
			fence, text = mark, ""
			continue
		} else if mark != nil {
			g.endBlock(fence[1], fence[2], text)
			fence = nil
			continue
		}
		if fence != nil {
			text += line + "\n"
			continue
		}
		if code, indented := strings.CutPrefix(line, "    "); indented {
			block = append(block, code)
			continue
		}
		g.runBlock(block)
		block = nil
		for _, link := range guideReplay.FindAllStringSubmatch(line, -1) {
			g.replay(link[1])
		}
	}
	if fence != nil || g.ran == 0 {
		g.t.Errorf("%d commands and files were run; the block that does not end is %q", g.ran, fence)
	}
}

// endBlock takes a block that stands between lines of ```: settings, a file, or what is not run.
func (g *guide) endBlock(language, mark, text string) {
	g.t.Helper()
	switch {
	case mark == "app":
	case mark != "":
		if err := os.WriteFile(filepath.Join(g.dir, mark), []byte(text), 0o600); err != nil {
			g.t.Error(err)
		}
	case language == "ini":
		g.settings += text
	default:
		g.t.Errorf("a block of %q is neither run, nor a file, nor marked as another program's", language)
	}
}

// runBlock runs the commands of one indented block and compares what stands below each.
func (g *guide) runBlock(lines []string) {
	g.t.Helper()
	for len(lines) > 0 {
		command := lines[0]
		if !guideCommand.MatchString(command) {
			g.t.Errorf("no command, and no answer of one: %s", command)
			return
		}
		end := 1
		for end < len(lines) && !guideCommand.MatchString(lines[end]) {
			end++
		}
		answer := strings.Join(lines[1:end], "\n")
		lines = lines[end:]
		switch serve := guideServe.FindStringSubmatch(command); {
		case command == "make build": // done by newGuide
		case serve != nil:
			g.serve(strings.Fields(serve[1]), strings.Fields(serve[2]))
		case guideSets.MatchString(command):
			g.sets = append(g.sets, command)
		default:
			g.ran++
			g.run(command, answer)
		}
	}
}

// serve starts a server as the line says, but for its address. What stands in the ini blocks is in a
// data directory that is new.
func (g *guide) serve(env, args []string) {
	g.t.Helper()
	port, data := "5984", "./data"
	var rest []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--port":
			i++
			port = args[i]
		case "--data":
			i++
			data = args[i]
		default:
			rest = append(rest, g.addresses(args[i]))
		}
	}
	if earlier := g.running[data]; earlier != nil {
		if err := earlier.Stop(); err != nil {
			g.t.Fatal(err)
		}
	}
	dir := filepath.Join(g.dir, data)
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(dir, "local.ini"), []byte(quickPasswords+g.settings), 0o600)
		if err != nil {
			g.t.Fatal(err)
		}
	}
	s, err := Engine{Name: "guide", args: rest}.Start(g.t.Context(), dir, env...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := s.Stop(); err != nil { // once more for one that was stopped above
			g.t.Error(err)
		}
	})
	g.servers["127.0.0.1:"+port], g.running[data] = s.Addr, s
}

// addresses has the address of each server here in the place of the one that the page shows.
func (g *guide) addresses(line string) string {
	for shown, addr := range g.servers {
		line = strings.ReplaceAll(line, shown, addr)
	}
	return line
}

// here is a line of the page with the addresses and revisions that are meant.
func (g *guide) here(line string) string {
	if len(g.servers) == 0 { // the page leaves starting one to the reader
		g.serve(nil, nil)
	}
	line = g.addresses(line)
	for name, rev := range g.revs {
		line = strings.ReplaceAll(line, name, rev)
	}
	return line
}

var (
	guideRevision = regexp.MustCompile(`\b(\d+)-[0-9a-f]{32}\b`)
	guideShown    = regexp.MustCompile(`\b\d+-REV\b`)
)

// run gives one command to a shell and compares its output.
func (g *guide) run(command, want string) {
	g.t.Helper()
	if strings.HasPrefix(command, "curl ") && want == "" {
		g.t.Errorf("no answer is shown of %s", command)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	script := []string{"set -euo pipefail", "S=http://admin:password@127.0.0.1:5984"}
	script = append(append(script, g.sets...), command)
	shell := exec.CommandContext(ctx, "bash", "-c", g.here(strings.Join(script, "\n")))
	shell.Dir = g.dir
	var out, errs bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &errs
	if err := shell.Run(); err != nil {
		g.t.Fatalf("%s\n%v\n%s%s", command, err, &out, &errs)
	}
	// a terminal shows no carriage returns, and views have some
	got := strings.TrimRight(strings.ReplaceAll(out.String(), "\r", ""), "\n")
	for shown, addr := range g.servers {
		got = strings.ReplaceAll(got, addr, shown)
	}
	for _, rev := range guideRevision.FindAllStringSubmatch(got, -1) {
		g.revs[rev[1]+"-REV"] = rev[0]
	}
	if want == "" {
		return
	}
	if guideShown.MatchString(want) {
		got = guideRevision.ReplaceAllString(got, "$1-REV")
	}
	parts := strings.Split(want, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	if !regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(got) {
		g.t.Errorf("%s\ngives\n%s\nbut the page shows\n%s", command, got, want)
	}
}

// replay sends what the application of a transcript file sends to the page's first server.
func (g *guide) replay(area string) {
	g.t.Helper()
	g.ran++
	f, err := Load(filepath.Join("testdata", area+".json"))
	if err != nil {
		g.t.Fatal(err)
	}
	skipRestarts(f)
	if len(g.servers) == 0 {
		g.serve(nil, nil)
	}
	addr := g.servers[slices.Min(slices.Collect(maps.Keys(g.servers)))]
	known := loadKnown(g.t)
	for _, sc := range f.Scenarios {
		results, err := Replay(g.t.Context(), addr, sc)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, r := range results {
			if !r.Agrees() && known.Differs(area, sc.Name, r.Step) == "" {
				g.t.Error(fmt.Errorf("%s/%s%s", area, sc.Name, r.Diff()))
			}
		}
	}
}
